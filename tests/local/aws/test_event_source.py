"""Messages reach a function as SQS and Lambda hand them on: one at a time, again after a failure, and not for ever."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gleaner_local.aws import ministack
from gleaner_local.aws.document_queue import MAX_RECEIVES, DocumentQueue, Message
from gleaner_local.aws.event_source import EventSource
from gleaner_local.aws.execution_environment import ExecutionEnvironments
from gleaner_local.aws.object_events import object_event

_PATIENCE_SECONDS = 60.0


def load(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """A handler that notes what it gets, and does what the key says; a file that exists ends a key's failures."""
    log = Path(os.environ["SEEN"])
    failed = []
    for record in event["Records"]:
        key: str = json.loads(record["body"])["detail"]["object"]["key"]
        with log.open("a") as seen:
            seen.write(f"{key} {record['attributes']['ApproximateReceiveCount']}\n")
        is_first = record["attributes"]["ApproximateReceiveCount"] == "1"
        if key.startswith("slow"):
            time.sleep(600)
        if key.startswith("crash") and is_first:
            os._exit(1)
        if key.startswith("fail") or (key.startswith("once") and is_first):
            failed.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failed}


class Source:
    """An event source whose outbox holds keys, and what became of their messages."""

    def __init__(self, url: str, path: Path) -> None:
        self.waiting: list[str] = []  # all that are not done
        self.sent = 0
        self.done: list[str] = []
        self.dead: list[str] = []
        self.seen = path / "seen"
        self.seen.touch()
        self.queue = DocumentQueue(url, visibility_seconds=600)
        env = {"PYTHONPATH": os.environ.get("PYTHONPATH", ""), "SEEN": str(self.seen)}
        self.environments = ExecutionEnvironments(
            f"{__name__}.load", env, log_path=path / "log", timeout_seconds=600, concurrency=1
        )
        self.source = EventSource(
            self.queue,
            self.environments,
            outbox=self.take,
            on_done=lambda messages: self.done.extend(map(key_of, messages)),
            on_dead=lambda messages: self.dead.extend(map(key_of, messages)),
            retry_seconds=0,
            cut_off_seconds=0,
        )
        self.source.start()

    def take(self, again: bool) -> Sequence[str]:
        keys = [key for key in (self.waiting if again else self.waiting[self.sent :]) if key not in self.done]
        self.sent = len(self.waiting)
        return [json.dumps(object_event("b", key, reason="PutObject", size=1, etag="e")) for key in keys]

    def put(self, *keys: str) -> None:
        self.waiting += keys
        self.source.wake()

    def lines(self) -> list[str]:
        return self.seen.read_text().splitlines()


def key_of(message: Message) -> str:
    key: str = json.loads(message["Body"])["detail"]["object"]["key"]
    return key


def wait_until(condition: Callable[[], object]) -> None:
    ends_at = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "it did not happen"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ministack.Ministack]:
    path = tmp_path_factory.mktemp("ministack")
    server = ministack.Ministack(path / "state", path / "log", services="dynamodb,sqs")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def source(emulator: ministack.Ministack, tmp_path: Path) -> Iterator[Source]:
    created = Source(emulator.url, tmp_path)
    yield created
    created.source.stop()


def test_only_what_failed_comes_again_and_after_five_times_it_is_given_up(source: Source) -> None:
    source.put(*(f"good-{number}" for number in range(12)), "fail", "once")
    wait_until(lambda: source.dead)
    wait_until(source.queue.is_empty)
    assert source.dead == ["fail"]
    assert sorted(source.done) == sorted([f"good-{number}" for number in range(12)] + ["once"])
    counts = {key: [line for line in source.lines() if line.split()[0] == key] for key in ("fail", "once", "good-1")}
    assert [len(counts[key]) for key in ("fail", "once", "good-1")] == [MAX_RECEIVES, 2, 1]


@pytest.mark.slow
def test_a_function_that_died_gets_its_messages_again(source: Source) -> None:
    source.put("crash")
    wait_until(lambda: source.done == ["crash"])
    assert source.lines() == ["crash 1", "crash 2"]


def test_a_stop_cuts_off_what_runs_and_starts_nothing_new(source: Source) -> None:
    source.put("good", "slow", "better")
    wait_until(lambda: source.done)  # which does not wait for those behind it
    wait_until(lambda: source.lines() == ["good 1", "slow 1"])
    stopping = threading.Thread(target=source.source.stop)
    stopping.start()
    stopping.join(_PATIENCE_SECONDS)
    assert not stopping.is_alive()
    assert source.done == ["good"] and source.dead == []
    assert source.lines() == ["good 1", "slow 1"]


@pytest.mark.slow
def test_what_was_queued_is_sent_again_when_the_queue_was_lost(source: Source, emulator: ministack.Ministack) -> None:
    source.put("once-more")
    wait_until(lambda: source.done)
    assert emulator.pid is not None
    os.kill(emulator.pid, 9)
    source.put("after")
    wait_until(lambda: "after" in source.done)


def test_an_idle_source_starts_no_process_and_asks_no_queue(tmp_path: Path) -> None:
    source = Source("http://127.0.0.1:9", tmp_path)  # nobody listens there
    source.source.wake()
    source.source.stop()
    assert not (tmp_path / "log").exists()
