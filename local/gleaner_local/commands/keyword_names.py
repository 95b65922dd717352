"""Resolves keywords that people give by id or by text."""

from __future__ import annotations

import re

from gleaner import text
from gleaner.stores import schema

_ID = re.compile(r"[0-9a-f]{32}")


def resolve_keyword_id(id_or_text: str) -> str:
    """The id of the keyword that is given by its id, or by its text in any case and spacing."""
    return id_or_text if _ID.fullmatch(id_or_text) else schema.keyword_id(text.fold(id_or_text))
