"""The documents of a local service: a bucket, whose changes a queue hands to the ingest function."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import document_id
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner_documents.loading.object_names import NotADocument, ObjectName, read_key
from gleaner_local.aws import ministack
from gleaner_local.aws.document_queue import DocumentQueue, Message
from gleaner_local.aws.event_source import EventSource
from gleaner_local.aws.execution_environment import ExecutionEnvironments
from gleaner_local.aws.object_events import object_event
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.s3_objects import ObjectFiles
from gleaner_local.servers.s3_server import S3Server
from gleaner_local.service._dead_leases import release_dead

INGEST_HANDLER = "functions.ingest.handler.lambda_handler"
BUCKET = "gleaner-documents"
TIMEOUT_SECONDS = 900.0  # of the deployed function
LEASE_SECONDS = 300  # a function that was cut off holds its document so long
_RETRY_SECONDS = 15
_LOOKUP_SECONDS = 10.0

logger = logging.getLogger(__name__)

# A name in a knowledge base and what is known of the document now: nothing if it was removed.
Told = Callable[[str, str, DocumentEntry | None], None]


class LocalDocuments:
    """The bucket in one directory, and whoever loads what is put into it."""

    def __init__(self, directory: Path, logs: Path, env: Mapping[str, str]) -> None:
        """`env` holds the credentials that sign the forms of uploads. Raises OSError and sqlite3.Error."""
        self._logs = logs
        self._stack = ExitStack()
        self._objects = ObjectFiles(directory)
        self._stack.callback(self._objects.close)
        self._source: EventSource | None = None
        self._last_sent = 0
        self._finds_dead = False  # whether what is held now is held by nobody
        self._listeners: list[Told] = []
        self.s3 = S3Server(self._objects, bucket=BUCKET, secret_of=_secrets(env), notify=self._wake)
        self._server = AsgiServer(self.s3.app)
        self._server.start()
        self._stack.callback(self._server.stop)
        self.url = self._server.url

    def is_up(self) -> bool:
        """Whether the bucket answers."""
        return self._server.is_up()

    def connect(self) -> ObjectStore:
        """The bucket, for a program of this machine."""
        return connect_bucket(self.url)

    def listen(self, told: Told) -> None:
        """Call `told` in a thread of its own whenever a document was loaded, skipped, removed or given up."""
        self._listeners.append(told)

    def waiting(self) -> list[tuple[str, str]]:
        """The knowledge base and the name of each document that changed and is not done."""
        names = (_find_name(one.key) for one in self._objects.changes(after=0))
        return [(name.kb_id, name.source_file_path) for name in names if name is not None]

    def load(self, env: Mapping[str, str], table: Table, *, queue_endpoint: str, owns_table: bool) -> None:
        """Load what is in the bucket and not done, and from now on what is put into it.

        `env` are the variables of the ingest function but for the queue's. If this service alone uses the table
        (`owns_table`), whoever holds a document now died with the service before.
        """
        queue = DocumentQueue(queue_endpoint, visibility_seconds=int(TIMEOUT_SECONDS) + LEASE_SECONDS)
        environments = ExecutionEnvironments(
            INGEST_HANDLER,
            {**env, "DOCUMENTS_QUEUE_URL": queue.url, "AWS_ENDPOINT_URL_SQS": queue_endpoint},
            log_path=self._logs / "ingest.log",
            timeout_seconds=TIMEOUT_SECONDS,
            concurrency=1,
        )
        self._store, self._table = DocumentStore(table), table
        self._finds_dead = owns_table
        self._source = EventSource(
            queue,
            environments,
            outbox=self._take_changes,
            on_done=self._settle,
            on_dead=self._give_up,
            retry_seconds=_RETRY_SECONDS,
            cut_off_seconds=LEASE_SECONDS + _RETRY_SECONDS,
        )
        self._source.start()

    def stop_loading(self) -> None:
        """Stop loading and cut off what runs. What is not done is loaded after the next start."""
        if self._source is not None:
            self._source.stop()

    def stop(self) -> None:
        """Close the bucket."""
        self._stack.close()

    def _wake(self) -> None:
        if self._source is not None:
            self._source.wake()

    def _take_changes(self, again: bool) -> Sequence[str]:
        changes = self._objects.changes(after=0 if again else self._last_sent)
        if changes and self._finds_dead:
            release_dead(self._table, {one.key.partition("/")[0] for one in changes})
        self._finds_dead = False
        if changes:
            self._last_sent = changes[-1].number
        return [
            json.dumps(object_event(BUCKET, one.key, reason=one.reason, etag=one.etag, size=one.size))
            for one in changes
        ]

    def _settle(self, messages: Sequence[Message]) -> None:
        """Forget the changes whose documents are done, unless they changed again, and tell of each change once.

        An object that changes while a message about it waits has two messages for one change, that of its last state.
        """
        for key in dict.fromkeys(_key_of(message) for message in messages):
            number, entry = self._last_sent, self._find(key)
            goes_on = entry is not None and entry.state is DocumentState.LOADING  # with another message
            if not goes_on and self._objects.settle(key, number=number):
                self._tell(key, entry)

    def _give_up(self, messages: Sequence[Message]) -> None:
        """Write dead letters to a file, and say so."""
        path = self._logs / "documents-dead-letters.jsonl"
        for message in messages:
            key = _key_of(message)
            with path.open("a") as file:
                file.write(message["Body"] + "\n")
            logger.error("%s could not be loaded after several tries; see ingest.log and %s.", key, path)
            if self._objects.settle(key, number=self._last_sent):
                self._tell(key, self._find(key))

    def _find(self, key: str) -> DocumentEntry | None:
        """What is known of the document that an object is or that the sidecar in it is about."""
        name = _find_name(key)
        if name is None:
            return None
        deadline = Deadline.after(_LOOKUP_SECONDS)
        return self._store.find(name.kb_id, document_id(name.source_file_path), deadline=deadline)

    def _tell(self, key: str, entry: DocumentEntry | None) -> None:
        name = _find_name(key)
        if name is None:
            return
        for told in self._listeners:
            told(name.kb_id, name.source_file_path, entry)


def connect_bucket(url: str) -> ObjectStore:
    """The bucket that a service of this machine serves at `url`."""
    config = Config(s3={"addressing_style": "path"}, retries={"mode": "standard", "total_max_attempts": 2})
    return ObjectStore(ministack.session().client("s3", endpoint_url=url, config=config), BUCKET)


def _find_name(key: str) -> ObjectName | None:
    """The document that a key names; None for an object that is none, which the function leaves alone."""
    try:
        return read_key(key)
    except NotADocument:
        return None


def _key_of(message: Message) -> str:
    """The key in an event of S3, or in a message that the function sent itself."""
    body: dict[str, Any] = json.loads(message["Body"])
    key: str = body["detail"]["object"]["key"] if "detail" in body else body["key"]
    return key


def _secrets(env: Mapping[str, str]) -> Callable[[str], str | None]:
    """The secrets of the credentials in `env`, or else of those that boto3 finds: the functions sign with the same."""
    if env.get("AWS_ACCESS_KEY_ID"):
        return {env["AWS_ACCESS_KEY_ID"]: env.get("AWS_SECRET_ACCESS_KEY", "")}.get
    find_credentials = cache(boto3.Session().get_credentials)  # they may be asked for over the network

    def secret_of(access_key: str) -> str | None:
        credentials = find_credentials()
        frozen = credentials.get_frozen_credentials() if credentials else None
        return frozen.secret_key if frozen and frozen.access_key == access_key else None

    return secret_of
