"""Keywords as people name them: by id or by text."""

from __future__ import annotations

import re

from gleaner import text
from gleaner.stores import schema

_ID = re.compile(r"[0-9a-f]{32}")


def keyword_id(named: str) -> str:
    """The id of the keyword that is named by its id, or by its text in any case and spacing."""
    return named if _ID.fullmatch(named) else schema.keyword_id(text.fold(named))
