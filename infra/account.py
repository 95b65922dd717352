"""The AWS account and region of this process."""

from __future__ import annotations

import os

import boto3


def open_session() -> boto3.Session:
    """A session for them, resolved as the AWS CLI and the CDK do: unlike them, boto3 does not read AWS_REGION."""
    return boto3.Session(region_name=os.environ.get("AWS_REGION") or None)
