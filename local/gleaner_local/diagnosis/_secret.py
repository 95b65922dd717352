"""Checks the secret that holds the API keys, without showing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gleaner_local.clients.keys_secret import FIELDS, OPTIONAL, REQUIRED, keys_of
from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SUBJECT = "secret"


def check_fields(fields: Mapping[str, Any] | None, environment: str) -> Finding:
    """Check that the required keys are filled in; `fields` is None if the secret has no value yet."""
    keys = keys_of(fields)
    missing = [name for name in REQUIRED if name not in keys]
    if missing:
        seen = "It has no value yet." if fields is None else f"It holds no key in {', '.join(missing)}."
        return problem(SUBJECT, seen, f"Write the keys: gleaner keys put --env {environment}")
    if OPTIONAL not in keys:
        return note(SUBJECT, f"It holds the keys {', '.join(REQUIRED)}; without {OPTIONAL} the web is not searched.")
    return ok(SUBJECT, f"It holds the keys {', '.join(FIELDS)}.")
