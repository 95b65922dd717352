"""The secret of a deployed environment that holds the API keys of the remote services."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

REQUIRED = ("openai", "pinecone")
OPTIONAL = "perplexity"
FIELDS = (*REQUIRED, OPTIONAL)


def read_value(client: Any, arn: str) -> str | None:
    """The secret's text, empty if it is binary, and None if it has no value yet.

    A secret without a version is created by CloudFormation where the template has no value for it, and Secrets Manager
    then reports ResourceNotFoundException for the value, as for a secret that does not exist. Raises BotoCoreError and
    ClientError.
    """
    try:
        value: str = client.get_secret_value(SecretId=arn).get("SecretString", "")
    except client.exceptions.ResourceNotFoundException:
        client.describe_secret(SecretId=arn)  # raises the same if there is no such secret
        return None
    return value


def parse_fields(value: str) -> dict[str, Any] | None:
    """The fields of the secret's text, also unknown ones; None if it is no JSON object."""
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):  # the latter if it is nested too deeply
        return None
    return fields if isinstance(fields, dict) else None


def read_fields(client: Any, arn: str) -> dict[str, Any] | None:
    """The fields of the secret; empty if it is no JSON object, and None if it has no value yet.

    Raises what `read_value` raises.
    """
    value = read_value(client, arn)
    return None if value is None else parse_fields(value) or {}


def write_fields(client: Any, arn: str, fields: Mapping[str, Any]) -> None:
    """Make these fields the secret's value; the one before stays readable as AWSPREVIOUS."""
    client.put_secret_value(SecretId=arn, SecretString=json.dumps(fields))


def keys_of(fields: Mapping[str, Any] | None) -> dict[str, str]:
    """The API keys among the fields: what is neither empty nor of another type."""
    return {name: key for name, key in (fields or {}).items() if isinstance(key, str) and key.strip()}
