"""Routes with which editors upload documents, and remove them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gleaner.api.documents import INDEX_FAILURES, DocumentId, KbParameter, viewer_of
from gleaner.api.request import Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import MEDIA_TYPE_PATTERN, KbId
from gleaner.document_files import MAX_FILE_BYTES, document_id, media_type_of, uploaded_path
from gleaner.errors import (
    InvalidInput,
    NotAllowed,
    ObjectStoreUnavailable,
    PayloadTooLarge,
    StoreUnavailable,
    UnknownDocument,
    UploadsUnavailable,
)
from gleaner.groups import Groups, InvalidGroups, check_groups
from gleaner.knowledge.document_removal import DocumentRemoval
from gleaner.knowledge.known_documents import KnownDocuments
from gleaner.model import new_id, utc_now
from gleaner.passage_ids import decode_document, encode_document
from gleaner.runtime.document_storage import DocumentStorage
from gleaner.stores.documents import DocumentStore
from gleaner.stores.items import to_timestamp
from gleaner.upload_metadata import UploadMetadata, mark_groups

if TYPE_CHECKING:  # the description of S3 is loaded when it is used
    from gleaner.clients.object_store import ObjectStore

_FORM_SECONDS = 15 * 60  # from the form to the end of a large file on a slow line
_MAX_NAME_CHARS = 1_000  # longer ones are refused unread
_MAX_GROUPS = 100

MediaType = Annotated[str, StringConstraints(pattern=MEDIA_TYPE_PATTERN, max_length=255)]


class NewUpload(BaseModel):
    """A file that is to be uploaded."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, max_length=_MAX_NAME_CHARS)] = Field(
        description="The name of the file, without a directory. A file of the same name replaces the document."
    )
    kb_id: KbId | None = None
    content_type: MediaType | None = Field(None, description="If left out, that of the file's ending.")
    groups: Annotated[list[str], Field(max_length=_MAX_GROUPS)] | Literal["all"] | None = Field(
        None,
        description="Whose members may find it. null: those of the document that it replaces, or all callers if there "
        'is none. "all": all callers. A sidecar, and with null or "all" the document itself, may say otherwise.',
    )
    size: Annotated[int, Field(ge=1)] | None = Field(
        None, description="In bytes, if it is known: too large a file is then refused before it is sent."
    )


class UploadFormItem(BaseModel):
    """A form that uploads this file and no other.

    Send `fields` in their order as `multipart/form-data` to `url`, and last the file as the field `file`.
    """

    document_id: str
    kb_id: str
    source_file_path: str
    url: str
    fields: dict[str, str]
    expires_at: str = Field(description="Until when the upload must be complete.")


class RemovedDocument(BaseModel):
    """A document that was removed."""

    document_id: str
    kb_id: str
    finished: bool = Field(description="If false, its passages are removed soon: it is listed until then.")


class UploadRoutes:
    """POST /api/documents and DELETE /api/documents/{document_id}."""

    def __init__(
        self,
        storage: DocumentStorage,
        connect: Callable[[], ObjectStore],
        known: KnownDocuments,
        store: DocumentStore,
        removal: DocumentRemoval,
        current: Current,
        *,
        default_kb_id: str,
    ) -> None:
        """`connect` is called once, by the first upload."""
        self._storage = storage
        self._objects = cache(connect)
        self._known = known
        self._store = store
        self._removal = removal
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, UploadsUnavailable, StoreUnavailable, ObjectStoreUnavailable, *INDEX_FAILURES)
        return [
            Route(
                Endpoint.UPLOAD_DOCUMENT,
                self._offer,
                status=HTTPStatus.CREATED,
                raises=(InvalidInput, PayloadTooLarge, *failures),
            ),
            Route(
                Endpoint.DELETE_DOCUMENT,
                self._delete,
                unfinished=HTTPStatus.ACCEPTED,
                raises=(UnknownDocument, *failures),
            ),
        ]

    def _offer(self, body: NewUpload) -> Response[UploadFormItem]:
        kb_id = self._edited(body.kb_id)
        source_file_path = uploaded_path(body.name)
        if body.size is not None and body.size > MAX_FILE_BYTES:
            raise PayloadTooLarge(f"The file is larger than {MAX_FILE_BYTES // 1024**2} MB. Split it into parts.")
        groups = _read_groups(body.groups)
        document, ends_at = document_id(source_file_path), utc_now() + timedelta(seconds=_FORM_SECONDS)
        while (metadata := self._request(kb_id, source_file_path, groups)) is None:
            continue  # what it replaces has just been given to other groups
        form = self._objects().presign_post(
            f"{kb_id}/{source_file_path}",
            content_type=body.content_type or media_type_of(source_file_path),
            metadata=metadata.write(),
            sizes=(1, MAX_FILE_BYTES),
            seconds=_FORM_SECONDS,
        )
        item = UploadFormItem(
            document_id=encode_document(document),
            kb_id=kb_id,
            source_file_path=source_file_path,
            url=self._form_url(form.url),
            fields=dict(form.fields),
            expires_at=to_timestamp(ends_at),
        )
        return ok(item, status=HTTPStatus.CREATED)

    def _request(self, kb_id: str, source_file_path: str, groups: Groups | None) -> UploadMetadata | None:
        """Note the upload, and return what its object is to say of it: None if the document changed meanwhile.

        `groups` None are those of the document that it replaces. Raises NotAllowed if the caller may not read that.
        """
        request, document = self._current(), document_id(source_file_path)
        known = self._known.find(kb_id, document, deadline=request.deadline)
        if known is not None and not viewer_of(request.caller, kb_id).may_replace(known):
            raise NotAllowed("You may not replace the document of this name. Give the file another name.")
        entry, upload_id = known.entry if known else None, new_id()
        if entry is not None and entry.offer_id and entry.belongs_to(request.caller.id):
            upload_id = entry.offer_id  # it stays the caller's own, whichever of its forms is used
        earlier = known.groups if known else ()
        metadata = UploadMetadata(
            groups=groups or (),
            kept=earlier if groups is None else (),
            replaces=mark_groups(earlier) if earlier else None,
            upload_id=upload_id,
        )
        is_noted = self._store.request_upload(
            kb_id,
            document,
            source_file_path=source_file_path,
            uploaded_by=request.caller.id,
            upload_id=upload_id,
            groups=frozenset(metadata.groups or metadata.kept) or None,
            known=entry,
            seconds=_FORM_SECONDS,
            deadline=request.deadline,
        )
        return metadata if is_noted else None

    def _delete(self, document_id: DocumentId, kb_id: KbParameter = None) -> Response[RemovedDocument]:
        kb_id, key = self._edited(kb_id), decode_document(document_id)
        request = self._current()
        viewer = viewer_of(request.caller, kb_id)
        finished = self._removal.remove(kb_id, key, viewer, self._objects(), deadline=request.deadline)
        body = RemovedDocument(document_id=document_id, kb_id=kb_id, finished=finished)
        return ok(body, status=HTTPStatus.OK if finished else HTTPStatus.ACCEPTED)

    def _edited(self, kb_id: str | None) -> str:
        chosen = kb_id or self._default_kb_id
        self._current().caller.require_editor(chosen)
        if not self._storage.bucket:
            raise UploadsUnavailable(
                "This service has no place for uploads. Whoever runs it loads documents by `gleaner ingest`."
            )
        return chosen

    def _form_url(self, signed: str) -> str:
        """Where the form is sent. A signature covers the bucket, but not the host that stands for it."""
        address = self._storage.form_address
        if address is None:
            return signed
        below = f"{address}/{self._storage.bucket}"
        return self._current().absolute(below) if below.startswith("/") else below


def _read_groups(named: list[str] | Literal["all"] | None) -> Groups | None:
    if named is None:
        return None
    try:
        return () if named == "all" else check_groups(named)
    except InvalidGroups as error:
        raise InvalidInput(f"The upload {error}.") from error
