"""Looks at a document's object under a lease, and has the index hold what the object holds."""

from __future__ import annotations

from functools import partial

from gleaner.addresses import is_page_address
from gleaner.clients.document_chunks import remove_document
from gleaner.clients.object_store import ObjectArchived, ObjectFacts, ObjectStore, StoredObject
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.document_files import MAX_FILE_BYTES
from gleaner.groups import Groups
from gleaner.model import DocumentState, Record, chunk_id
from gleaner.stores.document_leases import Outcome
from gleaner.upload_metadata import UPLOAD, UploadMetadata, mark_groups
from gleaner_documents.chunking import ChunkSettings
from gleaner_documents.groups import MAX_SIDECAR_BYTES, read_sidecar, read_upload, sidecar_of
from gleaner_documents.loading.holding import Holding
from gleaner_documents.loading.object_names import SOURCE_URL, ObjectName
from gleaner_documents.loading.records import ReadDocument, make_records
from gleaner_documents.loading.writing import UNFINISHED, IngestProgress, Version, Writer
from gleaner_documents.model import FileNotReadable, FileTooLarge, StaleUpload, UnclearRights, UnreadableDocument
from gleaner_documents.plan import content_hash
from gleaner_documents.reading_process import MAX_SECONDS as READING_SECONDS

REQUEST_SECONDS = 60.0  # for one request to the index
# No object is looked at with less time left: to read it, and for two requests to the index.
MIN_SECONDS = READING_SECONDS + 2 * REQUEST_SECONDS


class Look:
    """Looks at one document as often as somebody changes it meanwhile."""

    def __init__(
        self,
        objects: ObjectStore,
        knowledge_base: KnowledgeBase,
        holding: Holding,
        name: ObjectName,
        *,
        read: ReadDocument,
        chunking: ChunkSettings,
        batch_records: int,
    ) -> None:
        """`knowledge_base` asks `holding` before it sends a request."""
        self._objects = objects
        self._knowledge_base = knowledge_base
        self._holding = holding
        self._name = name
        self._id = holding.lease.document_id
        self._read = read
        self._chunking = chunking
        self._batch_records = batch_records
        entry = holding.lease.entry
        # What the index holds, and whether it may hold parts of another version besides. An index may still list and
        # show what it held a moment ago, so what is known of it counts as well.
        self._version = entry.content_hash if holding.lease.content_hash is None else None
        self._is_mixed = holding.lease.content_hash is not None
        # Of an interrupted version the batch after the checkpoint may have arrived.
        begun = holding.lease.next_chunk + batch_records if self._is_mixed else 0
        self._chunk_count = max(entry.chunk_count, begun)
        self._groups = entry.groups
        self._upload_id = entry.upload_id
        self.chunks_written = 0

    def load(self) -> Outcome | None:
        """What became of the object as it is now; None if it is gone. Raises what reading and writing raise."""
        self._holding.permit(MIN_SECONDS)
        stored, objection = self._read_object()
        if stored is None:
            self._remove_chunks()
            return None
        try:
            if objection is not None:
                raise FileNotReadable(self._name.source_file_path, objection)
            return self._load_version(stored)
        except UnreadableDocument as problem:
            # A version that was complete stays, unless it may be seen by people who should not.
            if self._is_mixed or isinstance(problem, UnclearRights):
                self._remove_chunks()
            if self._version is None:  # all that is known of the document is this object
                self._upload_id = stored.facts.metadata.get(UPLOAD)
            return self._tell(DocumentState.SKIPPED, stored.facts, reason=problem.reason)

    def _read_object(self) -> tuple[StoredObject | None, str | None]:
        """The object, and why it is not loaded, if that shows without its content."""
        objection = self._name.objection
        if objection is None:
            try:
                return self._objects.read(self._name.key, max_bytes=MAX_FILE_BYTES), None
            except ObjectArchived:
                objection = "is archived; restore the object, or copy it to another storage class"
        facts = self._objects.head(self._name.key)
        return StoredObject(facts=facts, body=None) if facts else None, objection

    def _load_version(self, stored: StoredObject) -> Outcome:
        path, body = self._name.source_file_path, stored.body
        if body is None:
            raise FileTooLarge(path, f"is larger than {MAX_FILE_BYTES // 1024**2} MB; split it into parts")
        sidecar = self._read_sidecar()
        if stored.facts.hidden_metadata and not sidecar:
            raise UnclearRights(path, "has metadata that S3 cannot show; it may name the groups that may read the file")
        upload = read_upload(path, stored.facts.metadata)
        url = stored.facts.metadata.get(SOURCE_URL)
        source_url = url if url and is_page_address(url) else None
        version = content_hash(
            body, self._chunking, source_url=source_url, groups=sidecar or upload.groups or upload.kept
        )
        mark = self._find_mark()
        if version != self._version or not (mark and mark.content_hash == version):
            self._check_upload(upload, version, mark)
            records = make_records(
                path,
                body,
                read=self._read,
                chunking=self._chunking,
                source_url=source_url,
                sidecar=sidecar,
                upload=upload.groups,
                kept=upload.kept,
            )
            self._write(records, version, mark)
        self._upload_id = upload.upload_id
        return self._tell(DocumentState.LOADED, stored.facts)

    def _read_sidecar(self) -> Groups:
        path = self._name.source_file_path
        found = (self._objects.read(key, max_bytes=MAX_SIDECAR_BYTES) for key in self._name.sidecar_keys)
        sidecar = next((one for one in found if one is not None), None)
        if sidecar is None:
            return ()
        if sidecar.body is None:
            raise UnclearRights(path, f"{sidecar_of(path)} is larger than {MAX_SIDECAR_BYTES // 1024} KB")
        return read_sidecar(path, sidecar.body)

    def _check_upload(self, upload: UploadMetadata, version: str, mark: Record | None) -> None:
        """Whether the version that the index holds is one that the form of the upload may replace.

        Raises StaleUpload if that is for other groups than when the form was signed: who asked for it may not be among
        them. Another upload by the same id is the same caller's.
        """
        entry, is_complete = self._holding.lease.entry, mark is not None and mark.content_hash != UNFINISHED
        if entry.content_hash is None and not is_complete:
            if upload.upload_id != entry.upload_id:
                self._holding.note_upload(upload.upload_id)
            return
        if upload.upload_id in (None, entry.upload_id) or (mark and mark.content_hash == version):
            return
        held = entry.groups if entry.content_hash else mark and mark.groups
        if held and mark_groups(held) != upload.replaces:
            raise StaleUpload(
                self._name.source_file_path,
                "was uploaded by a form that was signed before the document was given to its groups; upload it again",
            )

    def _find_mark(self) -> Record | None:
        first = chunk_id(self._id, 0)
        return self._knowledge_base.fetch(self._name.kb_id, [first], timeout=REQUEST_SECONDS).get(first)

    def _write(self, records: list[Record], version: str, mark: Record | None) -> None:
        """Replace what the index holds, from the checkpoint on if it is one of this version."""
        lease = self._holding.lease
        is_resumed = lease.content_hash == version and (mark is None or mark.content_hash == UNFINISHED)
        written = max(1, lease.next_chunk) if is_resumed else 1
        self._holding.note(version, written if is_resumed else 0)
        self._version, self._is_mixed = None, True
        self._chunk_count = max(self._chunk_count, len(records))
        writer = Writer(
            self._name.kb_id,
            self._knowledge_base,
            partial(self._note, version, written, len(records)),
            files_total=1,
            make_room=lambda: False,
            request_seconds=REQUEST_SECONDS,
            batch_records=self._batch_records,
        )
        try:
            writer.write(
                [
                    Version(
                        id=self._id,
                        records=records,
                        marked=mark is not None and not is_resumed,
                        written=written,
                        earlier_chunks=self._chunk_count,
                    )
                ]
            )
        finally:
            self.chunks_written += writer.chunks_written
        self._version, self._is_mixed = version, False
        self._chunk_count, self._groups = len(records), frozenset(records[0].groups) or None

    def _note(self, version: str, start: int, total: int, progress: IngestProgress) -> None:
        """Check each batch but the last, after which the outcome is noted."""
        if (next_chunk := start + progress.chunks_written) < total:
            self._holding.note(version, next_chunk)

    def _remove_chunks(self) -> None:
        self._holding.note(UNFINISHED, 0)  # a removal that is interrupted leaves parts of a version
        self._version, self._is_mixed = None, True
        remove_document(
            self._id,
            kb_id=self._name.kb_id,
            knowledge_base=self._knowledge_base,
            known_chunks=self._chunk_count,
            timeout=lambda: REQUEST_SECONDS,
        )
        self._is_mixed, self._chunk_count, self._groups = False, 0, None

    def _tell(self, state: DocumentState, facts: ObjectFacts, *, reason: str | None = None) -> Outcome:
        return Outcome(
            state=state,
            reason=reason,
            chunk_count=self._chunk_count,
            size_bytes=facts.size_bytes,
            content_hash=self._version,
            version=facts.version,
            groups=self._groups,
            upload_id=self._upload_id,
            modified_at=facts.modified_at,
        )
