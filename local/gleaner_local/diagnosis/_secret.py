"""Checks the secret with the API keys, without showing them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SUBJECT = "secret"
_NEEDED = ("openai", "pinecone")
_OPTIONAL = "perplexity"
FIELDS = (*_NEEDED, _OPTIONAL)


def read_keys(client: Any, arn: str) -> dict[str, str]:
    """The API keys by field; empty when the secret is no JSON object. Raises what the client raises."""
    value = client.get_secret_value(SecretId=arn).get("SecretString", "")
    try:
        found = json.loads(value)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: key for name, key in found.items() if isinstance(key, str) and key.strip()}


def check_keys(keys: Mapping[str, str], arn: str) -> Finding:
    """Whether the keys that are needed are filled in."""
    missing = [name for name in _NEEDED if name not in keys]
    if missing:
        fields = ", ".join(f'"{name}": "KEY"' for name in FIELDS)
        return problem(
            SUBJECT,
            f"It holds no key in {', '.join(missing)}.",
            f"Write {{{fields}}} to keys.json, then run: aws secretsmanager put-secret-value --secret-id {arn} "
            "--secret-string file://keys.json",
        )
    if _OPTIONAL not in keys:
        return note(SUBJECT, f"It holds the keys {', '.join(_NEEDED)}; without {_OPTIONAL} the web is not searched.")
    return ok(SUBJECT, f"It holds the keys {', '.join(FIELDS)}.")
