"""Checks the secret that holds the API keys, without showing them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SUBJECT = "secret"
_REQUIRED = ("openai", "pinecone")
_OPTIONAL = "perplexity"
FIELDS = (*_REQUIRED, _OPTIONAL)


def read_keys(client: Any, arn: str) -> dict[str, str]:
    """The API keys by field; empty when the secret is not a JSON object. Errors of the client pass through."""
    value = client.get_secret_value(SecretId=arn).get("SecretString", "")
    try:
        fields = json.loads(value)
    except ValueError:
        return {}
    if not isinstance(fields, dict):
        return {}
    return {name: key for name, key in fields.items() if isinstance(key, str) and key.strip()}


def check_keys(keys: Mapping[str, str], arn: str) -> Finding:
    """Check that the required keys are filled in."""
    missing = [name for name in _REQUIRED if name not in keys]
    if missing:
        fields = ", ".join(f'"{name}": "KEY"' for name in FIELDS)
        return problem(
            SUBJECT,
            f"It holds no key in {', '.join(missing)}.",
            f"Write {{{fields}}} to keys.json, then run: aws secretsmanager put-secret-value --secret-id {arn} "
            "--secret-string file://keys.json",
        )
    if _OPTIONAL not in keys:
        return note(SUBJECT, f"It holds the keys {', '.join(_REQUIRED)}; without {_OPTIONAL} the web is not searched.")
    return ok(SUBJECT, f"It holds the keys {', '.join(FIELDS)}.")
