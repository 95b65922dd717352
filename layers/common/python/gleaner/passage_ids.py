"""Ids of passages and documents in paths: they name the record, and the text that was cited."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass

from gleaner.errors import UnknownDocument, UnknownPassage
from gleaner.model import ANSWERS_SUFFIX, KB_ID_PATTERN, Passage, Place

_FINGERPRINT_CHARS = 10
_PAGE = re.compile(r"(.+)/([0-9]{1,3})")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_ENCODED = "~"  # before an id in base64
# Ids of the index are of ASCII without NUL, and have up to 512 characters (`require_valid_vector_id` in the SDK's
# validation.py). Its client refuses to ask for others.
_RECORD_KEY = re.compile(r"[\x01-\x7f]{1,512}")
_DOCUMENT_KEY = re.compile(r"[\x01-\x7f]{1,510}")  # a separator and the index of a chunk follow


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageId:
    """A place, and the fingerprint of the text that stood there when it was cited."""

    place: Place
    fingerprint: str


def fingerprint(content: str) -> str:
    """A short hash of a text, which tells whether it has changed."""
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:_FINGERPRINT_CHARS]


def encode_passage(place: Place, content: str) -> str:
    """The id of a passage: knowledge base, key and fingerprint. Keys may hold any characters, so they are in base64."""
    namespace = place.kb_id + (ANSWERS_SUFFIX if place.is_learned else "")
    key = place.key if place.page is None else f"{place.key}/{place.page}"
    return f"{namespace}.{_to_base64(key)}.{fingerprint(content)}"


def address_of(passage_id: str) -> str:
    """The path at which a passage is read, relative to the address of the API."""
    return f"/api/passages/{passage_id}"


def passage_address(passage: Passage) -> str | None:
    """The address of a passage; None if it is not stored."""
    return None if passage.place is None else address_of(encode_passage(passage.place, passage.content))


def decode_passage(passage_id: str) -> PassageId:
    """Raises UnknownPassage unless `encode_passage` may have returned this id."""
    namespace, _, rest = passage_id.rpartition(".")[0].rpartition(".")
    mark = passage_id.rpartition(".")[2]
    kb_id = namespace.removesuffix(ANSWERS_SUFFIX)
    key = _from_base64(rest)
    if (
        key is None
        or not _RECORD_KEY.fullmatch(key)
        or not re.fullmatch(KB_ID_PATTERN, kb_id)
        or len(mark) != _FINGERPRINT_CHARS
    ):
        raise UnknownPassage("This is no id of a passage. Take it from a source of an answer.")
    page = _PAGE.fullmatch(key) if kb_id != namespace else None
    place = Place(
        kb_id=kb_id,
        key=page[1] if page else key,
        is_learned=kb_id != namespace,
        page=int(page[2]) if page else None,
    )
    return PassageId(place=place, fingerprint=mark)


def encode_document(document_id: str) -> str:
    """The id of a document in a path: itself, or in base64 where other programs chose unsafe characters."""
    return document_id if _PLAIN.fullmatch(document_id) else _ENCODED + _to_base64(document_id)


def decode_document(document_id: str) -> str:
    """Raises UnknownDocument unless `encode_document` may have returned this id."""
    decoded = _from_base64(document_id[1:]) if document_id.startswith(_ENCODED) else document_id
    if decoded is None or not _DOCUMENT_KEY.fullmatch(decoded) or encode_document(decoded) != document_id:
        raise UnknownDocument("This is no id of a document. Take it from the list of documents.")
    return decoded


def _to_base64(value: str) -> str:
    return base64.urlsafe_b64encode(value.encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _from_base64(value: str) -> str | None:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return None
