"""The secret of a deployed environment that holds the API keys of the remote services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

REQUIRED = ("openai", "pinecone")
OPTIONAL = "perplexity"
FIELDS = (*REQUIRED, OPTIONAL)


def read_fields(client: Any, arn: str) -> dict[str, Any] | None:
    """The fields of the secret, also unknown ones; empty if it is no JSON object, and None if it has no value yet.

    A secret without a version is created by CloudFormation where the template has no value for it, and Secrets Manager
    then reports ResourceNotFoundException for the value, as for a secret that does not exist. Raises BotoCoreError and
    ClientError.
    """
    try:
        value = client.get_secret_value(SecretId=arn).get("SecretString", "")
    except client.exceptions.ResourceNotFoundException:
        client.describe_secret(SecretId=arn)  # raises the same if there is no such secret
        return None
    try:
        fields = json.loads(value)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def write_fields(client: Any, arn: str, fields: Mapping[str, Any]) -> None:
    """Make these fields the secret's value; the one before stays readable as AWSPREVIOUS."""
    client.put_secret_value(SecretId=arn, SecretString=json.dumps(fields))


def keys_of(fields: Mapping[str, Any] | None) -> dict[str, str]:
    """The API keys among the fields: what is neither empty nor of another type."""
    return {name: key for name, key in (fields or {}).items() if isinstance(key, str) and key.strip()}
