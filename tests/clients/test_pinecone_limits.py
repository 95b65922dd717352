"""The Pinecone client at the limits of the service: refused for now, for the month, or for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gleaner.clients import pinecone
from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseQuotaUsed, KnowledgeBaseUnavailable, LeaseLost
from gleaner.model import Record
from gleaner.runtime import retries
from gleaner_local.servers.asgi import AsgiServer
from tests.doubles import pinecone_limits as limits
from tests.doubles.scripted_index import hit, hits


class Index:
    """Answers every request with the next reply, and repeats the last one."""

    def __init__(self) -> None:
        self.replies: list[Response] = []
        self.requests: list[bytes] = []
        self.app = Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST"])])

    async def _answer(self, request: Request) -> Response:
        self.requests.append(await request.body())
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Index, KnowledgeBase]]:
    index = Index()
    server = AsgiServer(index.app)
    server.start()
    yield index, connect(host=server.url, api_key=lambda: "any")
    server.stop()


@pytest.fixture
def index(served: tuple[Index, KnowledgeBase]) -> Index:
    served[0].requests.clear()
    return served[0]


@pytest.fixture
def kb(index: Index, served: tuple[Index, KnowledgeBase], monkeypatch: pytest.MonkeyPatch) -> KnowledgeBase:
    monkeypatch.setattr(pinecone, "_MIN_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(pinecone, "_MAX_PAUSE_SECONDS", 0.01)
    return served[1]


def found() -> Response:
    return JSONResponse(hits(hit("a#0", text="Merged.")))


RECORD = Record(id="a#0", text="x", title="T", source_file_path="a.md", chunk_index=0, content_hash="h")
FORMS = [limits.as_grpc, limits.as_inference]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("message", "allowance"),
    [
        (limits.TOKENS_A_MONTH, "embedding tokens"),
        (limits.TOKENS_A_MONTH_OF_ORGANIZATION, "embedding tokens"),
        (limits.READS_A_MONTH, "read units"),
        (limits.WRITES_A_MONTH, "write units"),
    ],
)
def test_a_used_up_month_is_told_at_once(
    kb: KnowledgeBase, index: Index, form: Callable[[str], Response], message: str, allowance: str
) -> None:
    index.replies = [form(message)]
    with pytest.raises(KnowledgeBaseQuotaUsed, match=f"allowance of {allowance} for this month is used up"):
        kb.search("kb", "q", top_k=3, timeout=20)
    assert len(index.requests) == 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "message",
    [
        limits.TOKENS_A_MINUTE,
        limits.TOKENS_A_MINUTE_BEFORE,
        limits.QUERIES_A_SECOND.format(namespace_name="monthly-reports"),
        "",
        "Too Many Requests",
    ],
)
def test_a_rate_that_is_reached_is_tried_once_more(
    kb: KnowledgeBase, index: Index, form: Callable[[str], Response], message: str
) -> None:
    index.replies = [form(message), found()]
    assert [hit.record.text for hit in kb.search("kb", "q", top_k=3, timeout=20)] == ["Merged."]
    assert len(index.requests) == 2
    index.replies = [form(message)]
    with pytest.raises(KnowledgeBaseBusy, match="429"):
        kb.search("kb", "q", top_k=3, timeout=20)
    assert len(index.requests) == 4


def test_a_wait_that_exceeds_the_time_limit_is_not_begun(
    kb: KnowledgeBase, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.replies = [limits.as_grpc(limits.QUERIES_A_SECOND)]
    index.replies[0].headers["retry-after"] = "30"
    waits: list[float] = []
    monkeypatch.setattr(retries, "time", SimpleNamespace(sleep=waits.append))
    with pytest.raises(KnowledgeBaseBusy) as raised:
        kb.search("kb", "q", top_k=3, timeout=20)
    assert raised.value.retry_after == 30
    assert (len(index.requests), waits) == (1, [])


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (limits.as_grpc(limits.STORAGE, status=403, code=7), "full"),
        (limits.as_inference("No room.", status=403, code="QUOTA_EXCEEDED"), "full"),
        (limits.as_grpc(limits.NO_PERMISSION, status=403, code=7), "API key"),
    ],
)
def test_a_full_plan_is_not_taken_for_a_wrong_key(kb: KnowledgeBase, index: Index, reply: Response, says: str) -> None:
    index.replies = [reply]
    with pytest.raises(KnowledgeBaseUnavailable, match=says):
        kb.upsert("kb", [RECORD], timeout=20)


def test_a_patient_index_sends_the_same_request_again(kb: KnowledgeBase, index: Index) -> None:
    busy = limits.as_grpc(limits.TOKENS_A_MINUTE)
    index.replies = [busy, busy, busy, Response(status_code=201)]
    waits: list[int] = []
    kb.patient(lambda _error, waited: waits.append(waited)).upsert("kb", [RECORD], timeout=20)
    assert waits == [0, 1, 2]
    assert len(set(index.requests)) == 1 and len(index.requests) == 4


def test_other_failures_do_not_wait(kb: KnowledgeBase, index: Index) -> None:
    index.replies = [limits.as_grpc(limits.TOKENS_A_MONTH)]

    def wait(error: KnowledgeBaseBusy, _waited: int) -> None:
        raise AssertionError(error)

    with pytest.raises(KnowledgeBaseQuotaUsed):
        kb.patient(wait).upsert("kb", [RECORD], timeout=20)


@pytest.fixture
def strict(index: Index) -> Iterator[KnowledgeBase]:
    """A client whose SDK sends nothing again by itself."""
    server = AsgiServer(index.app)
    server.start()
    yield connect(host=server.url, api_key=lambda: "any", repeats=False)
    server.stop()


def test_each_request_needs_a_permit_and_none_is_repeated_behind_it(strict: KnowledgeBase, index: Index) -> None:
    failure = Response(status_code=503)
    index.replies = [failure, limits.as_grpc(limits.TOKENS_A_MINUTE), Response(status_code=201)]
    permits: list[int] = []
    kb = strict.patient(lambda _error, _waited: None, lambda _seconds: permits.append(len(index.requests)))
    kb.upsert("kb", [RECORD], timeout=20)
    assert permits == [0, 1, 2]
    assert len(index.requests) == 3


def test_without_a_permit_nothing_is_sent(strict: KnowledgeBase, index: Index) -> None:
    index.replies = [Response(status_code=201)]

    def refuse(_seconds: float) -> None:
        raise LeaseLost("Another process has it.")

    with pytest.raises(LeaseLost):
        strict.patient(lambda _error, _waited: None, refuse).upsert("kb", [RECORD], timeout=20)
    assert index.requests == []
