"""When a document that was uploaded counts as done, what is sent to the queue, and what the simulation of it keeps."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ProfileNotFound
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients.object_store import ObjectFacts
from gleaner.errors import ObjectStoreUnavailable
from gleaner.model import DocumentState
from gleaner.stores.document_items import DocumentEntry
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands.deployed_documents import explain_aws_errors
from gleaner_local.ingestion.bucket_files import Awaited, Place
from gleaner_local.ingestion.bucket_run import BucketRun, Watcher
from gleaner_local.ingestion.hint_queue import HintQueue, QueueUnavailable
from gleaner_local.ingestion.resync import Backfill, resync

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from harness.ingestion_queue import Circumstances, Document, simulate

NAME = "docs/a.md"


def entry(state: DocumentState, **fields: Any) -> DocumentEntry:
    known = {"kb_id": "kb", "document_id": "a", "source_file_path": NAME, "queued_at": "1", "updated_at": "2"}
    return DocumentEntry(state=state, **(known | fields))


@pytest.mark.parametrize(
    ("known", "is_done"),
    [
        (None, False),
        (entry(DocumentState.LOADING, version="v2"), False),
        (entry(DocumentState.LOADED, version="v1"), False),  # the version before
        (entry(DocumentState.LOADED, version="v2"), True),
        (entry(DocumentState.LOADED, version="v2", updated_at="1"), False),  # read before the hint was sent
        (entry(DocumentState.SKIPPED, version="v2", reason="is damaged"), True),
        (entry(DocumentState.FAILED, version="v1", reason="no index"), True),  # that names what the index holds
        (entry(DocumentState.FAILED, version="v1", updated_at="1"), False),
    ],
)
def test_a_state_counts_if_it_is_of_the_version_that_was_sent(known: DocumentEntry | None, is_done: bool) -> None:
    assert Awaited(source_file_path=NAME, version="v2", outdated="1").is_settled(known) is is_done


def test_a_loaded_document_counts_once_it_has_the_groups_of_its_sidecar() -> None:
    awaited = Awaited(source_file_path=NAME, version="v2", groups=frozenset({"hr"}))
    assert not awaited.is_settled(entry(DocumentState.LOADED, version="v2"))
    assert awaited.is_settled(entry(DocumentState.LOADED, version="v2", groups=frozenset({"hr"})))


class Sqs:
    """Takes the messages of a batch but those at `refused`, whose times to be refused it counts down."""

    def __init__(self, refused: dict[int, int]) -> None:
        self.refused, self.taken = refused, list[str]()

    def send_message_batch(self, **request: Any) -> dict[str, Any]:
        failed = []
        for one in request["Entries"]:
            if self.refused.get(int(one["Id"]), 0):
                self.refused[int(one["Id"])] -= 1
                failed.append({"Id": one["Id"], "Code": "InternalError", "SenderFault": False})
            else:
                self.taken.append(json.loads(one["MessageBody"])["key"])
        return {"Failed": failed} if failed else {}


def test_refused_messages_are_sent_again_and_then_reported() -> None:
    sqs = Sqs({3: 2})
    assert HintQueue(sqs, "url", "bucket").send([f"kb/{n}" for n in range(7)]) == 7
    assert sorted(sqs.taken) == [f"kb/{n}" for n in range(7)]
    with pytest.raises(QueueUnavailable, match="InternalError"):
        HintQueue(Sqs({0: 9}), "url", "bucket").send(["kb/a"])


class Objects:
    """A bucket whose objects are the keys."""

    bucket = "bucket"

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys

    def list(self, _prefix: str) -> list[ObjectFacts]:
        return [ObjectFacts(key=key, size_bytes=1, version="v", modified_at=0.0, metadata={}) for key in self.keys]

    def head(self, _key: str) -> None:
        return None


class States:
    """A table that knows nothing."""

    def find_many(self, *_arguments: Any, **_options: Any) -> dict[str, DocumentEntry]:
        return {}


class Machine:
    """Step Functions, which notes what is started."""

    def __init__(self) -> None:
        self.started: list[dict[str, str]] = []

    def start_execution(self, **request: str) -> dict[str, str]:
        self.started.append(request)
        return {"executionArn": "arn:run"}


def make_place(objects: Objects, sqs: Sqs) -> Place:
    states: Any = States()
    bucket: Any = objects
    return Place(kb_id="kb", objects=bucket, states=states, queue=HintQueue(sqs, "url", "bucket"))


def test_a_state_machine_lists_more_objects_than_this_machine_should() -> None:
    sqs, machine = Sqs({}), Machine()
    place = make_place(Objects([f"kb/docs/{n}.md" for n in range(5)]), sqs)
    done = resync(place, Backfill(machine, "arn:machine"), max_keys=4)
    assert (done.documents, done.execution) == (None, "arn:run")
    assert machine.started == [{"stateMachineArn": "arn:machine", "input": '{"prefix": "kb/"}'}]
    assert sqs.taken == []


def test_a_document_that_somebody_deletes_before_it_is_loaded_is_not_waited_for() -> None:
    lines: list[str] = []
    run = BucketRun(
        make_place(Objects([]), Sqs({})),
        Watcher(show=lambda _progress: None, say=lines.append),
        pause_seconds=0.01,
        quiet_seconds=0.0,
    )
    run.awaited.append(Awaited(source_file_path=NAME, version="v1"))
    run.follow()
    assert run.report.removed == [NAME]
    assert f"Removed {NAME}" in lines


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (NoCredentialsError(), "There are no usable AWS credentials .* Sign in with"),
        (ProfileNotFound(profile="nope"), "There is no AWS profile 'nope' .* AWS_PROFILE"),
        (ClientError({"Error": {"Code": "ExpiredToken"}}, "PutObject"), "rejects the credentials .* Sign in with"),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "PutObject"), "may not call PutObject. docs/17"),
        (ClientError({"Error": {"Code": "403"}}, "HeadObject"), "may not call HeadObject. docs/17"),
    ],
)
def test_what_aws_refuses_is_explained(error: Exception, message: str) -> None:
    with pytest.raises(CallFailed, match=message), explain_aws_errors():
        raise error
    with pytest.raises(CallFailed, match=message), explain_aws_errors():
        raise ObjectStoreUnavailable("The object store failed.") from error


@given(
    documents=st.lists(
        st.builds(Document, chunks=st.integers(0, 300), tokens=st.integers(0, 60_000)), min_size=1, max_size=5
    ),
    concurrency=st.integers(2, 40),
    tokens=st.sampled_from([70_000, 250_000, 1_000_000]),
)
def test_a_simulated_load_keeps_the_limits_and_loads_every_document(
    documents: list[Document], concurrency: int, tokens: int
) -> None:
    run = simulate(documents, 40, Circumstances(concurrency=concurrency, tokens_a_minute=tokens))
    assert run.documents == 40
    assert run.most_tokens_in_a_minute <= tokens
    assert run.seconds >= (run.tokens - tokens) / tokens * 60
    assert run.busy_seconds <= run.seconds * concurrency * (1 + 1e-9) + 6.0 * concurrency
