"""Ids of documents for the tool `fetch`, which also takes those of passages, as in the paths of the API."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gleaner.errors import UnknownDocument
from gleaner.model import KB_ID_PATTERN
from gleaner.passage_ids import decode_document, encode_document

_PREFIX = "document"  # no passage's id has a slash
_FORM = re.compile(rf"{_PREFIX}/(?P<kb_id>[^/]+)/(?P<document>[^/]+)(?:/(?P<start>[0-9]{{1,9}}))?")


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document of a knowledge base from one of its chunks on."""

    kb_id: str
    document: str  # its key in the index
    start: int = 0


def is_document_id(fetch_id: str) -> bool:
    """Whether an id is of a document, not of a passage."""
    return fetch_id.startswith(f"{_PREFIX}/")


def encode_part(part: DocumentPart) -> str:
    """The id of a part of a document."""
    start = (str(part.start),) if part.start else ()
    return "/".join((_PREFIX, part.kb_id, encode_document(part.document), *start))


def decode_part(fetch_id: str) -> DocumentPart:
    """Raises UnknownDocument unless `encode_part` may have returned this id."""
    match = _FORM.fullmatch(fetch_id)
    if match is None or not re.fullmatch(KB_ID_PATTERN, match["kb_id"]):
        raise UnknownDocument("This is no id of a document. Take it from the metadata of what `fetch` returned.")
    return DocumentPart(match["kb_id"], decode_document(match["document"]), int(match["start"] or 0))
