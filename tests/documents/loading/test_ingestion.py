"""The ingest function: its messages, its metrics, and what it leaves to later ones."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from aws_lambda_powertools import Metrics

from gleaner.clients.document_queue import DocumentQueue
from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseQuotaUsed
from gleaner.model import DocumentState
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.telemetry import make_metrics
from gleaner_documents.loading.ingestion import Ingestion
from gleaner_local.aws import ministack
from gleaner_local.aws.execution_environment import ExecutionEnvironments
from tests.documents.loading.bench import Bench, fresh, text

PATH = "docs/a.md"


class Queue:
    """A queue of one test."""

    def __init__(self, url: str) -> None:
        self.client = ministack.session().client("sqs", endpoint_url=url)
        self.url = self.client.create_queue(QueueName=f"q-{uuid4().hex[:12]}")["QueueUrl"]

    def receive(self) -> list[dict[str, Any]]:
        response = self.client.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in response.get("Messages", [])]

    def count_delayed(self) -> int:
        name = "ApproximateNumberOfMessagesDelayed"
        attributes = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])["Attributes"]
        return int(attributes[name])


@pytest.fixture
def queue(dynamodb_url: str) -> Queue:
    return Queue(dynamodb_url)


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Metrics:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Gleaner")
    made = make_metrics("ingest")
    made.clear_metrics()
    return made


@pytest.fixture
def ingestion(bench: Bench, queue: Queue, metrics: Metrics) -> Ingestion:
    return Ingestion(bench.loader(), DocumentQueue(queue.client, queue.url), bench.bucket, metrics)


def event(bench: Bench, path: str, *, bucket: str | None = None) -> str:
    detail = {"bucket": {"name": bucket or bench.bucket}, "object": {"key": f"{bench.kb_id}/{path}"}}
    return json.dumps({"source": "aws.s3", "detail-type": "Object Created", "detail": detail})


def take(ingestion: Ingestion, body: str, *, seconds: float = 900.0) -> None:
    ingestion.take(body, deadline=Deadline.after(seconds))


def counts(metrics: Metrics) -> dict[str, float]:
    return {name: sum(metric["Value"]) for name, metric in metrics.provider.metric_set.items()}


def test_documents_are_loaded_skipped_and_counted(
    bench: Bench, ingestion: Ingestion, metrics: Metrics, queue: Queue
) -> None:
    bench.put(PATH, text("one", 3))
    bench.put("docs/b.md", b"")
    for path in (PATH, "docs/b.md", "docs/gone.md", PATH):
        take(ingestion, event(bench, path))
    assert bench.fingerprint(PATH) == fresh(PATH, text("one", 3))
    assert counts(metrics) == {"DocumentsLoaded": 2, "ChunksWritten": 3, "DocumentsSkipped": 1}
    assert (queue.receive(), queue.count_delayed()) == ([], 0)


@pytest.mark.parametrize("body", ["no JSON", '{"bucket": "b", "key": "k"}', "{}"])
def test_messages_that_can_never_be_useful_are_ignored_and_named(
    ingestion: Ingestion, metrics: Metrics, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    with caplog.at_level(logging.WARNING, logger="gleaner_documents"):
        take(ingestion, body)
    [record] = caplog.records
    assert record.getMessage() == "a message was ignored"
    assert body[:10] in record.__dict__["body"]
    assert counts(metrics) == {}


def test_what_outlasts_the_function_goes_on_with_a_message_of_its_own(
    bench: Bench, ingestion: Ingestion, queue: Queue, metrics: Metrics
) -> None:
    bench.put(PATH, text("one", 3))
    take(ingestion, event(bench, PATH), seconds=1)
    [message] = queue.receive()
    assert message == {"bucket": bench.bucket, "key": f"{bench.kb_id}/{PATH}"}
    take(ingestion, json.dumps(message))
    assert bench.fingerprint(PATH) == fresh(PATH, text("one", 3))
    assert "DocumentsFailed" not in counts(metrics)


def test_limits_of_the_index_delay_the_message(
    bench: Bench, ingestion: Ingestion, queue: Queue, metrics: Metrics
) -> None:
    bench.put(PATH, text("one", 3))

    def refuse(operation: str) -> None:
        if operation == "index":
            raise KnowledgeBaseBusy("It takes no more for now.", retry_after=7_200.0)

    bench.before_request = refuse
    take(ingestion, event(bench, PATH))
    bench.before_request = lambda _operation: None
    assert (queue.receive(), queue.count_delayed()) == ([], 1)
    assert counts(metrics) == {}


def test_a_failure_that_no_message_leads_to_any_more_is_counted_by_itself(
    bench: Bench, ingestion: Ingestion, metrics: Metrics, queue: Queue
) -> None:
    bench.put(PATH, text("one", 3))

    def refuse(operation: str) -> None:
        if operation == "index":
            raise KnowledgeBaseQuotaUsed("The allowance of the month is used up.")

    bench.before_request = refuse
    take(ingestion, event(bench, PATH))
    bench.before_request = lambda _operation: None
    assert (queue.receive(), queue.count_delayed()) == ([], 0)
    assert counts(metrics) == {"DocumentsFailed": 1, "DocumentsNotRetried": 1}


def test_a_failure_is_counted_and_the_message_comes_again(
    bench: Bench, ingestion: Ingestion, metrics: Metrics, queue: Queue
) -> None:
    bench.put(PATH, text("one", 3))

    def fail(operation: str) -> None:
        if operation == "index":
            raise RuntimeError("text of the document")

    bench.before_request = fail
    with pytest.raises(RuntimeError):
        take(ingestion, event(bench, PATH))
    bench.before_request = lambda _operation: None
    assert counts(metrics) == {"DocumentsFailed": 1}
    assert queue.receive() == []
    take(ingestion, event(bench, PATH))
    entry = bench.entry(PATH)
    assert entry is not None
    assert entry.state is DocumentState.LOADED


@pytest.fixture
def function(
    dynamodb_url: str, loading_index_url: str, documents_table: str, queue: Queue, bench: Bench, tmp_path: Path
) -> Iterator[Callable[[list[str]], list[str]]]:
    """The function in an environment of its own: takes the bodies of messages and returns those that come again."""
    env = ministack.CREDENTIALS | {
        "DOCUMENTS_TABLE": documents_table,
        "DOCUMENTS_BUCKET": bench.bucket,
        "DOCUMENTS_QUEUE_URL": queue.url,
        "PINECONE_INDEX_HOST": loading_index_url,
        "PINECONE_API_KEY": "secret-pinecone-key",  # pragma: allowlist secret
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_url,
        "AWS_ENDPOINT_URL_S3": dynamodb_url,
        "AWS_ENDPOINT_URL_SQS": dynamodb_url,
        "POWERTOOLS_METRICS_NAMESPACE": "Gleaner",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "PATH": "/usr/bin:/bin",
    }
    environments = ExecutionEnvironments(
        "functions.ingest.handler.lambda_handler", env, log_path=tmp_path / "log", timeout_seconds=900, concurrency=1
    )

    def invoke(bodies: list[str]) -> list[str]:
        records = [{"messageId": str(n), "body": body, "eventSource": "aws:sqs"} for n, body in enumerate(bodies)]
        response = environments.invoke({"Records": records}, f"r-{time.monotonic()}")
        return [bodies[int(failure["itemIdentifier"])] for failure in response["batchItemFailures"]]

    yield invoke
    environments.stop()


def test_the_function_reads_in_a_process_of_its_own_and_names_what_is_to_come_again(
    bench: Bench, function: Callable[[list[str]], list[str]], tmp_path: Path
) -> None:
    bench.put(PATH, b"# Lamps\n\nLamps are trimmed at dusk.")
    bench.put("docs/b.html", b"<title>B</title><p>Wicks are cut.</p>")
    messages = [event(bench, PATH), "no JSON", event(bench, "docs/b.html"), event(bench, "docs/gone.md")]
    assert function(messages) == []
    assert [len(bench.stored(path)) for path in (PATH, "docs/b.html")] == [1, 1]
    log = (tmp_path / "log").read_text()
    assert '"DocumentsLoaded"' in log
    assert "Lamps are trimmed" not in log
    bench.delete(PATH)
    bench.delete("docs/b.html")
    bench.remove_bucket()
    assert function([messages[0], "no JSON"]) == [messages[0]]
    entry = bench.entry(PATH)
    assert entry is not None
    assert (entry.state, entry.reason) == (DocumentState.FAILED, "The object store failed (NoSuchBucket).")


# What only reading needs is loaded by the process that reads; the rest is what answers questions.
_LATER = ("bs4", "docutils", "lxml", "mammoth", "markdown_it", "openpyxl", "pptx", "pypdfium2", "yaml")
_NEVER = ("openai", "pydantic", "numpy", "gleaner.api", "gleaner.answering", "gleaner.application", "gleaner_local")


@pytest.mark.slow
def test_the_function_is_ready_without_the_readers() -> None:
    code = "import functions.ingest.handler, json, sys; print(json.dumps(list(sys.modules)))"
    env = ministack.CREDENTIALS | {
        "DOCUMENTS_TABLE": "documents",
        "DOCUMENTS_BUCKET": "bucket",
        "DOCUMENTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/000000000000/q",
        "PINECONE_INDEX_HOST": "https://index.example",
        "API_KEYS_SECRET_ARN": "arn:aws:secretsmanager:us-east-1:000000000000:secret:keys",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    loaded = json.loads(run.stdout)
    assert [name for name in loaded for one in (*_LATER, *_NEVER) if f"{name}.".startswith(f"{one}.")] == []
