"""Files uploaded by the command come into the index of the deployed environment exactly as a fresh load brings them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import MAX_FILE_BYTES, document_id
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.stores.document_items import DocumentEntry
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import ministack
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.ingestion.run import ingest
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from tests.documents.small_files import make_docx, make_epub, make_pptx, make_xlsx, paragraph
from tests.documents.small_pdf import make_pdf
from tests.e2e.commands import ENVIRONMENT, GLEANER
from tests.e2e_cloud.conftest import Cloud
from tests.e2e_cloud.deployment import REGION

pytestmark = pytest.mark.slow

KB = "uploaded"
SECONDS = 600.0  # for what takes some on a machine that does nothing else
LONG = "# Long\n\n" + "\n\n".join(f"## Part {n}\n\n" + f"Paragraph {n} tells of the moor. " * 40 for n in range(120))
NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}


def make_files() -> dict[str, bytes]:
    """Thirty files, with every format among them, one of them broken and one long."""
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": ["# Notes\n", "Peat burns."]}
    page = "<html><head><title>Moor</title></head><body><h1>Moor</h1><p>Peat burns slowly.</p></body></html>"
    files: dict[str, str | bytes] = {
        "guide.md": "# Guide\n\nWalk on the planks.",
        "guide.markdown": "# Other guide\n\nKeep to the path.",
        "guide.mdx": "# Third guide\n\nMind the bog.",
        "note.txt": "Peat is old.",
        "note.text": "Peat is brown.",
        "page.html": page,
        "page.htm": page,
        "page.xhtml": page,
        "paper.pdf": make_pdf("The moor is wet."),
        "letter.docx": make_docx(paragraph("The fee is 12 euros.")),
        "slides.pptx": make_pptx("Peat in numbers"),
        "table.xlsx": make_xlsx([("Berth", "Fee"), ("A1", 12)]),
        "table.csv": "Berth,Fee\nA1,12\n",
        "table.tsv": "Berth\tFee\nA1\t12\n",
        "book.epub": make_epub({"one.xhtml": "<h1>One</h1><p>It rained.</p>"}),
        "notes.ipynb": json.dumps(NOTEBOOK | {"cells": [cell]}),
        "manual.rst": "Manual\n======\n\nTurn the key.\n",
        "mail.eml": "From: a@example.org\nTo: b@example.org\nSubject: Moor\n\nSee you at the planks.\n",
        "secret.md": "# Secret\n\nThe key is under the mat.",
        "broken.pdf": b"%PDF-1.7 and then nothing of it",
        "long.md": LONG,
        "gone.md": "# Gone\n\nSoon.",
        "über straße/ä+b %41.md": "# Umlauts\n\nNames are kept.",
    }
    files |= {f"more/{n}.md": f"# More {n}\n\nText {n}." for n in range(30 - len(files))}
    return {name: content.encode() if isinstance(content, str) else content for name, content in files.items()}


class Uploads:
    """The documents of the deployed environment, and a directory that is uploaded."""

    def __init__(self, cloud: Cloud, directory: Path) -> None:
        self.cloud, self.directory = cloud, directory
        self.sqs: Any = cloud.deployment.client("sqs")
        self.objects = ObjectStore(cloud.deployment.client("s3"), cloud.outputs["DocumentsBucket"])
        table = Table(cloud.deployment.client("dynamodb"), cloud.outputs["DocumentsTable"])
        self.states = DocumentStore(table)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Run `gleaner ingest` in the account."""
        emulator = {
            "AWS_ENDPOINT_URL": self.cloud.deployment.endpoint_url,
            "AWS_REGION": REGION,
        } | ministack.CREDENTIALS
        command = [GLEANER, "ingest", self.directory, "--env", "dev", "--kb-id", KB, *options]
        return subprocess.Popen(
            [*command, "--data-dir", self.directory.parent / "data"],
            env=ENVIRONMENT | emulator,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def send(self, body: str) -> None:
        """Put a message into the queue."""
        self.sqs.send_message(QueueUrl=self.cloud.outputs["DocumentsQueueUrl"], MessageBody=body)

    def entry(self, name: str) -> DocumentEntry | None:
        """What the table knows of a document."""
        return self.states.find(KB, document_id(name), deadline=Deadline.after(30))

    def wait_until_quiet(self) -> None:
        """Wait until no message is in the queue or taken from it."""
        wait_for(lambda: not self.count("DocumentsQueueUrl"), "messages that are done")

    def count(self, queue: str) -> int:
        """How many messages the queue of an output has, the ones that are taken included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.cloud.outputs[queue], AttributeNames=names)
        return sum(int(attributes["Attributes"][name]) for name in names)


@pytest.fixture
def uploads(cloud: Cloud, tmp_path: Path) -> Uploads:
    directory = tmp_path / "docs"
    for name, content in make_files().items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (directory / "secret.md.gleaner.json").write_text('{"groups": ["hr"]}')
    return Uploads(cloud, directory)


def wait_for(happened: Callable[[], bool], what: str) -> None:
    ends = time.monotonic() + SECONDS
    while not happened():
        assert time.monotonic() < ends, f"There are no {what} after {SECONDS:.0f} s."
        time.sleep(0.2)


def fresh_load(directory: Path, place: Path) -> dict[str, Mapping[str, Any]]:
    """The records that an empty index gets from the files."""
    index = EmbeddedIndex(place, None)
    server = AsgiServer(pinecone_server.create_app(index))
    server.start()
    knowledge_base = pinecone.connect(host=server.url, api_key=lambda: "local")
    ingest([directory], kb_id=KB, knowledge_base=knowledge_base, prune=False, progress=lambda _progress: None)
    records = read_records(knowledge_base)
    server.stop()
    index.close()
    return records


def read_records(knowledge_base: pinecone.KnowledgeBase) -> dict[str, Mapping[str, Any]]:
    """All records of the knowledge base, without the time at which each was loaded."""
    records = knowledge_base.fetch(KB, list(knowledge_base.list_ids(KB, timeout=30)), timeout=30)
    return {
        record_id: {name: getattr(record, name) for name in record.__dataclass_fields__ if name != "loaded_at"}
        for record_id, record in records.items()
    }


def event(bucket: str, key: str) -> str:
    """An event of S3 by EventBridge (docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html)."""
    detail = {"version": "0", "bucket": {"name": bucket}, "object": {"key": key}, "reason": "PutObject"}
    return json.dumps({"version": "0", "detail-type": "Object Created", "source": "aws.s3", "detail": detail})


def test_thirty_files_are_loaded_exactly(uploads: Uploads, tmp_path: Path) -> None:
    command = uploads.start()
    wait_for(
        lambda: (entry := uploads.entry("docs/long.md")) is not None and entry.state is DocumentState.LOADING,
        "long documents that are being loaded",
    )
    replaced = LONG.replace("moor", "heath").encode()
    uploads.objects.put(f"{KB}/docs/long.md", replaced)
    (uploads.directory / "long.md").write_bytes(replaced)
    for facts in list(uploads.objects.list(f"{KB}/")):
        uploads.send(event(uploads.objects.bucket, facts.key))
    uploads.send("no event")
    output, _ = command.communicate(timeout=SECONDS)
    assert command.returncode == 1, output
    assert "Skipped docs/broken.pdf: " in output
    assert "1 skipped" in output.splitlines()[-1]
    uploads.wait_until_quiet()
    check_states(uploads)

    (uploads.directory / "gone.md").unlink()
    again = uploads.start("--prune")
    output, _ = again.communicate(timeout=SECONDS)
    assert "Removed docs/gone.md" in output, output
    assert uploads.entry("docs/gone.md") is None
    uploads.wait_until_quiet()
    loaded = pinecone.connect(host=uploads.cloud.index_host, api_key=lambda: "local")
    assert read_records(loaded) == fresh_load(uploads.directory, tmp_path / "fresh")
    assert uploads.count("DocumentDeadLettersUrl") == 0  # what is no event is logged and done with


def check_states(uploads: Uploads) -> None:
    for name in make_files():
        entry = uploads.entry(f"docs/{name}")
        assert entry is not None, name
        expected = DocumentState.SKIPPED if name == "broken.pdf" else DocumentState.LOADED
        assert entry.state is expected, (name, entry)
        assert (entry.chunk_count > 0) == (expected is DocumentState.LOADED)
        facts = uploads.objects.head(f"{KB}/docs/{name}")
        assert facts is not None
        assert entry.version == facts.version
        assert entry.groups == (frozenset({"hr"}) if name == "secret.md" else None)


def test_what_cannot_be_a_document_is_named_and_does_not_come_again(uploads: Uploads) -> None:
    uploads.objects.put(f"{KB}/docs/huge.txt", b"x" * (MAX_FILE_BYTES + 1))
    uploads.objects.put("Not A Knowledge Base/docs/a.md", b"# A\n\nText.")
    bucket = uploads.objects.bucket
    uploads.send(event(bucket, f"{KB}/docs/../../climbs.md"))
    uploads.send(json.dumps({"bucket": bucket, "key": f"{KB}/docs/\ud800.md"}))  # half of a pair: no UTF-8
    uploads.send(event(bucket, "no-slash.md"))
    uploads.send('{"bucket": "another", "key": "uploaded/docs/a.md"}')
    wait_for(lambda: uploads.entry("docs/huge.txt") is not None, "states of the huge file")
    uploads.wait_until_quiet()
    huge = uploads.entry("docs/huge.txt")
    assert huge is not None
    assert (huge.state, huge.reason) == (DocumentState.SKIPPED, "is larger than 50 MB; split it into parts")
    assert uploads.count("DocumentDeadLettersUrl") == 0
    listed = uploads.states.list("Not A Knowledge Base", limit=10, deadline=Deadline.after(30))
    assert listed == ()
