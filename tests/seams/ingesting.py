"""Runs the ingest function with documents that are loaded, skipped and given up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from gleaner_local.aws.execution_environment import ExecutionEnvironments
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service.documents import BUCKET, INGEST_HANDLER, LocalDocuments
from tests.doubles.pinecone_limits import READS_A_MONTH, as_grpc

FILES = {"a.md": b"# Keywords\n\nKeywords are merged when their stems are equal.", "a.pdf": b"no PDF"}
KB_ID = "seam"


def load_documents(path: Path, settings: Mapping[str, str], log: Path) -> None:
    """Load a readable document and a broken one; try it without the table, and with an index whose month is used up."""
    documents = LocalDocuments(path, path / "logs", settings)
    used_up = AsgiServer(as_grpc(READS_A_MONTH))
    used_up.start()
    try:
        objects = documents.connect()
        for name, content in FILES.items():
            objects.put(f"{KB_ID}/{name}", content)
        more = {
            "AWS_ENDPOINT_URL_S3": documents.url,
            "DOCUMENTS_BUCKET": BUCKET,
            "DOCUMENTS_QUEUE_URL": "http://127.0.0.1:9/queue",  # no document here outlasts its function
        }
        _invoke({**settings, **more}, [*(f"{KB_ID}/{name}" for name in FILES), "no key of a document"], log, failures=0)
        _invoke({**settings, **more, "DOCUMENTS_TABLE": "gone"}, [f"{KB_ID}/a.md"], log, failures=1)
        objects.put(f"{KB_ID}/b.md", FILES["a.md"])
        _invoke({**settings, **more, "PINECONE_INDEX_HOST": used_up.url}, [f"{KB_ID}/b.md"], log, failures=0)
    finally:
        used_up.stop()
        documents.stop()


def _invoke(variables: dict[str, str], keys: list[str], log: Path, *, failures: int) -> None:
    environments = ExecutionEnvironments(INGEST_HANDLER, variables, log_path=log, timeout_seconds=900, concurrency=1)
    try:
        response = environments.invoke({"Records": [_record(key) for key in keys]}, "request-i")
    finally:
        environments.stop()
    assert len(response["batchItemFailures"]) == failures, response


def _record(key: str) -> dict[str, object]:
    return {
        "messageId": key,
        "receiptHandle": "handle",
        "body": json.dumps({"bucket": BUCKET, "key": key}),
        "attributes": {},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-west-1:000000000000:documents",
        "awsRegion": "eu-west-1",
    }
