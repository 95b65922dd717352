"""Resolves keywords that people give by id or by text."""

from __future__ import annotations

import re

from gleaner import text
from gleaner.stores import schema
from gleaner.stores.keyword_stems import merge_key
from gleaner_local.clients.http_api import ApiClient

_ID = re.compile(r"[0-9a-f]{32}")
_MAX_MATCHES = 20


def resolve_keyword_id(client: ApiClient, id_or_text: str) -> str:
    """The id of the keyword that is given by its id, or by a text that is merged into it."""
    if _ID.fullmatch(id_or_text):
        return id_or_text
    own_id = schema.keyword_id(text.fold(id_or_text))
    matches = client.call("GET", "/api/keywords", params={"q": id_or_text, "limit": _MAX_MATCHES})["keywords"]
    if any(keyword["keyword_id"] == own_id for keyword in matches):
        return own_id
    key = merge_key(id_or_text)
    return next((item["keyword_id"] for item in matches if merge_key(item["keyword_text"]) == key), own_id)
