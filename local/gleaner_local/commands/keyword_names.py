"""Resolves keywords that people give by id or by text."""

from __future__ import annotations

import re

from gleaner import text
from gleaner.stores import schema
from gleaner.stores.keyword_stems import merge_key
from gleaner_local.clients.http_api import ApiClient

_ID = re.compile(r"s?[0-9a-f]{32}")
_MAX_MATCHES = 20


def resolve_keyword_id(client: ApiClient, id_or_text: str) -> str:
    """The id of the keyword that is given by its id, or by a text that is merged into it."""
    if _ID.fullmatch(id_or_text):
        return id_or_text
    key = merge_key(id_or_text)
    own_id, former_id = schema.keyword_id(key), schema.former_keyword_id(text.fold(id_or_text))
    matches = client.call("GET", "/api/keywords", params={"q": id_or_text, "limit": _MAX_MATCHES})["keywords"]
    found = {str(item["keyword_id"]): item["keyword_text"] for item in matches}
    for keyword_id in (own_id, former_id, *found):
        if keyword_id in found and (keyword_id == former_id or merge_key(found[keyword_id]) == key):
            return keyword_id
    # No list has it if it is pruned.
    return former_id if client.send("GET", f"/api/keywords/{former_id}").is_success else own_id
