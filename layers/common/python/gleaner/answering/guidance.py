"""What the client wishes of an answer's form: below the service's own rules, and text from outside."""

from __future__ import annotations

import json

from gleaner.errors import InvalidInput
from gleaner.guards.untrusted import defuse
from gleaner.prompts import read_prompt

MAX_CHARS = 8_000


def require_short(guidance: str | None) -> None:
    """Raises InvalidInput if the guidance is too long."""
    if guidance is not None and len(guidance) > MAX_CHARS:
        raise InvalidInput(
            f"The client's system message has {len(guidance):,} characters. At most {MAX_CHARS:,} are read: shorten it."
        )


def describe(guidance: str | None) -> str | None:
    """The part of the system prompt that holds the client's guidance; None if it says nothing.

    JSON keeps it apart from the rules: nothing in a string can end the string.
    """
    wishes = defuse(guidance or "").strip()
    if not wishes:
        return None
    return f"{read_prompt('system_guidance')}\n\n{json.dumps({'guidance': wishes}, ensure_ascii=False)}"
