"""Ids of documents for the tool `fetch`, which also takes those of passages, as in the paths of the API."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gleaner.errors import UnknownDocument, UnknownPassage
from gleaner.model import KB_ID_PATTERN, Place
from gleaner.passage_ids import decode_document, decode_passage, encode_document

TAKE_IDS = "Take ids from `search` or from the sources of `ask`."
_PREFIX = "document"  # no passage's id has a slash
_NO_DOCUMENT = "This is no id of a document. Take it from the metadata of what `fetch` returned."
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
        raise UnknownDocument(_NO_DOCUMENT)
    try:
        document = decode_document(match["document"])
    except UnknownDocument as error:  # it names the list of documents, which tools do not have
        raise UnknownDocument(_NO_DOCUMENT) from error
    return DocumentPart(match["kb_id"], document, int(match["start"] or 0))


def place_of(passage_id: str) -> Place:
    """Where a passage is stored. Raises UnknownPassage, in the words of the tools."""
    try:
        return decode_passage(passage_id).place
    except UnknownPassage as error:
        raise UnknownPassage(f"This is no id of a passage. {TAKE_IDS}") from error
