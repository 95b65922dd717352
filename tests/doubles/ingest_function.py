"""What the function of the documents stack does with a bucket and a queue, as far as a client of the table sees it.

It looks at every object whose version is new and at every key that a message names, and writes the state that the
content asks for by the very leases that the function uses. Nothing is read, cut or written into an index.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import document_id
from gleaner.groups import read_header
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_leases import DocumentLeases, Outcome
from gleaner_documents.groups import document_beside, read_sidecar, sidecar_of

BROKEN, FAILING = b"BROKEN", b"FAILING"


class IngestFunction:
    """Runs in a thread from `start` to `stop`. `before` is called with each key before it is looked at."""

    def __init__(self, objects: ObjectStore, leases: DocumentLeases, sqs: Any, queue_url: str) -> None:
        self.before: Callable[[str], None] = lambda _key: None
        self.hinted: list[str] = []
        self._objects, self._leases = objects, leases
        self._sqs, self._queue_url = sqs, queue_url
        self._seen: dict[str, str] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._held = 0

    def start(self) -> None:
        """Look until `stop`."""
        self._thread.start()

    def stop(self) -> None:
        """End; more than once is allowed."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.01):
            for key in [*self._changed(), *self._messages()]:
                kb_id, _, name = key.partition("/")
                document = document_beside(name) or name
                self.before(f"{kb_id}/{document}")
                self._load(kb_id, document)

    def _changed(self) -> list[str]:
        """Events of the bucket: keys that came, changed or went."""
        now = {facts.key: f"{facts.version}{facts.modified_at}" for facts in self._objects.list()}
        before, self._seen = self._seen, now
        return [*(key for key in now if now[key] != before.get(key)), *(key for key in before if key not in now)]

    def _messages(self) -> list[str]:
        messages = self._sqs.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=10).get("Messages", [])
        for message in messages:
            self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
        keys = [json.loads(message["Body"])["key"] for message in messages]
        self.hinted += keys
        return keys

    def _load(self, kb_id: str, name: str) -> None:
        deadline = Deadline.after(30)
        self._held += 1
        lease = self._leases.take(
            kb_id,
            document_id(name),
            source_file_path=name,
            holder=f"holder-{self._held}",
            seconds=60,
            deadline=deadline,
        )
        assert lease is not None
        stored = self._objects.read(f"{kb_id}/{name}", max_bytes=1_000)
        if stored is None:
            assert self._leases.remove(lease, deadline=deadline)
            return
        assert self._leases.finish(
            lease, self._outcome(kb_id, name, stored.body or b"", stored.facts), deadline=deadline
        )

    def _outcome(self, kb_id: str, name: str, body: bytes, facts: Any) -> Outcome:
        if body == BROKEN:
            return Outcome(state=DocumentState.SKIPPED, reason="is damaged", version=facts.version)
        if body == FAILING:
            return Outcome(state=DocumentState.FAILED, reason="the index is gone")
        sidecar = self._objects.read(f"{kb_id}/{sidecar_of(name)}", max_bytes=1_000)
        header = facts.metadata.get("groups")
        groups = read_sidecar(name, sidecar.body or b"") if sidecar else read_header(header) if header else ()
        return Outcome(
            state=DocumentState.LOADED, chunk_count=2, version=facts.version, groups=frozenset(groups) or None
        )
