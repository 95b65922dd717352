"""Reads which groups a document is for: from the file beside it, from what came with its upload, from itself.

The first of these that names groups counts: the sidecar, whoever keeps the documents writes it; then the upload's
metadata; then the document's own front matter; then the version that an upload replaces. So a restriction can be
changed without changing the document. What cannot be read is never passed over, whichever of them it is: somebody meant
to restrict the document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from gleaner.groups import Groups, InvalidGroups, check_groups
from gleaner.upload_metadata import UploadMetadata, read_upload_metadata
from gleaner_documents.model import UnclearRights

SIDECAR_ENDING = ".gleaner.json"  # after the whole name of the document: report.pdf.gleaner.json
MAX_SIDECAR_BYTES = 65_536
_FIELD = "groups"
_FORM = f'{{"{_FIELD}": ["hr", "board"]}}'


def sidecar_of(source_file_path: str) -> str:
    """The name of the sidecar of a document."""
    return source_file_path + SIDECAR_ENDING


def document_beside(name: str) -> str | None:
    """The name of the document that a sidecar of this name is about; None for any other file.

    A sidecar with another ending than `sidecar_of` gives, in upper case, is not read, but nor is it a document.
    """
    document = name[: -len(SIDECAR_ENDING)]
    return document if name.lower().endswith(SIDECAR_ENDING) and document and not document.endswith("/") else None


def read_sidecar(source_file_path: str, data: bytes) -> Groups:
    """The groups that the sidecar of a document names, never none. Raises UnclearRights."""
    name = sidecar_of(source_file_path)
    if len(data) > MAX_SIDECAR_BYTES:
        raise UnclearRights(source_file_path, f"{name} is larger than {MAX_SIDECAR_BYTES // 1024} KB")
    try:
        fields = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnclearRights(source_file_path, f"{name} is not JSON in UTF-8; it must look like {_FORM}") from error
    if not isinstance(fields, dict) or fields.keys() != {_FIELD}:
        raise UnclearRights(source_file_path, f"{name} must have the field {_FIELD!r} alone: {_FORM}")
    try:
        return check_groups(fields[_FIELD])
    except InvalidGroups as error:
        raise UnclearRights(source_file_path, f"{name} {error}") from error


def read_upload(source_file_path: str, metadata: Mapping[str, str]) -> UploadMetadata:
    """What the metadata of an object says of its upload. Raises UnclearRights."""
    try:
        return read_upload_metadata(metadata)
    except InvalidGroups as error:
        raise UnclearRights(source_file_path, f"its metadata {error}") from error


def combine_groups(*, sidecar: Groups, upload: Groups, front_matter: Groups, kept: Groups) -> Groups:
    """Whom a document is for: the first that names groups. None at all: all callers of the knowledge base."""
    return sidecar or upload or front_matter or kept
