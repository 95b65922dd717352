"""The web search client against good and bad responses of the Agent API."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients._circuit_breaker import CircuitBreaker
from gleaner.clients.perplexity import WebSearch, connect
from gleaner.errors import WebSearchUnavailable
from gleaner.guards.blocked_hosts import BlockedHosts

Handler = Callable[[httpx.Request], httpx.Response]
KEY = "pplx-a-key-that-must-not-leak"


def result(n: int, **changes: Any) -> dict[str, Any]:
    return {"id": n, "url": f"https://site{n}.example/page", "title": f"T{n}", "snippet": f"S{n}", **changes}


def answer(text: str = "Yes [1].", results: list[dict[str, Any]] | None = None, **changes: Any) -> dict[str, Any]:
    message = {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    search_results = {
        "type": "search_results",
        "queries": ["q"],
        "results": [result(1)] if results is None else results,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "perplexity/sonar",
        "output": [search_results, message],
        "usage": {
            "input_tokens": 11,
            "output_tokens": 7,
            "total_tokens": 18,
            "cost": {"currency": "USD", "total_cost": 0.0061},
        },
        **changes,
    }


def test_pages_of_blocked_hosts_are_left_out_and_the_marks_follow() -> None:
    body = answer("A [1], b [2], c [3].", [result(1), result(2), result(3)])
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, json=body))
    web = WebSearch(
        httpx.Client(base_url="https://web.example", transport=transport),
        lambda: KEY,
        model="m",
        instructions="i",
        circuit=CircuitBreaker("web search", failures=3, cool_down=60),
        blocked_hosts=BlockedHosts(frozenset({"site2.example"})),
    )
    found = web.search("q", context=None, timeout=5)
    assert (found.answer, found.used_blocked_host) == ("A [1], b, c [2].", True)
    assert [citation.url for citation in found.citations] == [
        "https://site1.example/page",
        "https://site3.example/page",
    ]


def search_with(handler: Handler, *, clock: Callable[[], float] = time.time) -> WebSearch:
    http = httpx.Client(base_url="https://web.example", transport=httpx.MockTransport(handler))
    return WebSearch(
        http,
        lambda: KEY,
        model="perplexity/sonar",
        instructions="Be brief.",
        circuit=CircuitBreaker("web search", failures=3, cool_down=60, clock=clock),
        retry_wait_seconds=0.0,
    )


def search_answered(body: Any, status: int = 200) -> WebSearch:
    return search_with(lambda _: httpx.Response(status, json=body))


def test_the_request_demands_a_search_and_contains_only_known_fields() -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json=answer())

    search_with(handler).search("What is it?", context=None, timeout=5)
    assert requests[0].url == "https://web.example/v1/agent"
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    body = json.loads(requests[0].content)
    assert body.pop("max_output_tokens") > 0
    assert body == {
        "model": "perplexity/sonar",
        "input": "What is it?",
        "instructions": "Be brief.",
        "tools": [{"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
    }


def test_context_is_sent_as_a_separate_item_before_the_question() -> None:
    inputs: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        inputs.append(json.loads(request.content)["input"])
        return httpx.Response(200, json=answer())

    search_with(handler).search("And when?", context="We spoke of the moon landing.", timeout=5)
    first, last = inputs[0]
    assert "moon landing" in first["content"]
    assert last == {"type": "message", "role": "user", "content": "And when?"}


def test_usage_and_cost_are_parsed() -> None:
    response = search_answered(answer()).search("q", context=None, timeout=5)
    assert (response.model, response.input_tokens, response.output_tokens, response.cost_usd) == (
        "perplexity/sonar",
        11,
        7,
        0.0061,
    )


@pytest.mark.parametrize("usage", [None, {"input_tokens": 1, "output_tokens": 2}])
def test_the_cost_is_none_when_the_service_states_none(usage: Any) -> None:
    assert search_answered(answer(usage=usage)).search("q", context=None, timeout=5).cost_usd is None


def test_citations_are_ordered_by_first_mention_and_unmentioned_ones_come_last() -> None:
    text = "First [3]. Second [1][3]. Third [2, 3]."
    response = search_answered(answer(text, [result(n) for n in (1, 2, 3, 4)])).search("q", context=None, timeout=5)
    assert response.answer == "First [1]. Second [2][1]. Third [3][1]."
    assert [citation.title for citation in response.citations] == ["T3", "T1", "T2", "T4"]


def test_marks_of_unknown_and_unusable_sources_are_removed() -> None:
    sources = [
        result(1),
        result(2, url="javascript:alert(1)"),
        result(3, url="ftp://x.example/"),
        result(4, url=""),
        result(5, url=None),
        {"id": 6, "title": "Without an address"},
    ]
    response = search_answered(answer("A [1] b [2] c [3][9] d [4][5][6].", sources)).search(
        "q", context=None, timeout=5
    )
    assert response.answer == "A [1] b c d."
    assert [citation.url for citation in response.citations] == ["https://site1.example/page"]


def test_duplicate_pages_become_one_citation() -> None:
    sources = [result(1), result(2, url="https://site1.example/page")]
    response = search_answered(answer("A [2]. B [1].", sources)).search("q", context=None, timeout=5)
    assert response.answer == "A [1]. B [1]."
    assert len(response.citations) == 1


def test_marks_in_code_are_kept_and_linked_marks_are_parsed() -> None:
    text = "Use `items[0]` [1](https://site1.example/page).\n```\nrow[7] = 1\n```\nDone [web:1]."
    response = search_answered(answer(text)).search("q", context=None, timeout=5)
    assert response.answer == "Use `items[0]` [1].\n```\nrow[7] = 1\n```\nDone [1]."


def test_citations_are_capped_and_marks_beyond_the_cap_are_removed() -> None:
    text = " ".join(f"s{n} [{n}]" for n in range(1, 31))
    response = search_answered(answer(text, [result(n) for n in range(1, 31)])).search("q", context=None, timeout=5)
    assert len(response.citations) == 10
    assert "[10]" in response.answer and "[11]" not in response.answer


@given(
    ids=st.lists(st.integers(1, 15), max_size=12, unique=True),
    marks=st.lists(st.integers(0, 20), max_size=20),
)
def test_every_mark_still_points_to_its_source(ids: list[int], marks: list[int]) -> None:
    text = "word " + " ".join(f"w{n}[{n}]" for n in marks)
    sources = [result(99), *(result(n) for n in ids)]
    response = search_answered(answer(text, sources)).search("q", context=None, timeout=5)
    for word in response.answer.split()[1:]:
        name, _, mark = word.partition("[")
        if mark:
            assert response.citations[int(mark.rstrip("]")) - 1].title == f"T{name[1:]}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (answer(status="failed", error={"message": "secret inner text", "type": "server_error"}), "failed"),
        (answer(status="cancelled"), "cancelled"),
        (
            answer(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "max_output_tokens",
        ),
        (answer(status="incomplete", incomplete_details={"reason": "secret inner text"}), "complete"),
        (answer(status="in_progress"), "failed"),
        (answer(error={"message": "secret inner text"}), "failed"),
        ({"error": {"message": "secret inner text"}}, "cannot be read"),
        (answer(""), "without text"),
        (answer(" [8] "), "without text"),
        (answer(results=[]), "no sources"),
        (answer(results=[result(1, url="data:text/html,x")]), "no sources"),
        (answer(output=[]), "no sources"),
        (answer(output=None), "no sources"),
        (["secret inner text"], "cannot be read"),
        ({"status": "completed", "output": "secret inner text"}, "cannot be read"),
    ],
)
def test_an_unusable_answer_raises_with_a_safe_reason(body: Any, reason: str) -> None:
    with pytest.raises(WebSearchUnavailable, match=reason) as caught:
        search_answered(body).search("q", context=None, timeout=5)
    assert "secret" not in str(caught.value)


def test_a_service_that_refuses_tool_choice_is_asked_without_it_from_then_on() -> None:
    bodies: list[dict[str, Any]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        if "tool_choice" in bodies[-1]:  # as reported in anomalyco/opencode#32108 of other unknown fields
            message = 'invalid request body: json: unknown field "tool_choice"'
            return httpx.Response(400, json={"error": {"message": message, "type": "invalid_request_error"}})
        return httpx.Response(200, json=answer())

    web = search_with(handler)
    for _ in range(2):
        assert web.search("q", context=None, timeout=5).answer
    assert ["tool_choice" in body for body in bodies] == [True, False, False]


def test_a_request_that_is_refused_for_another_reason_keeps_tool_choice() -> None:
    bodies: list[dict[str, Any]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": {"message": "no"}})

    web = search_with(handler)
    for _ in range(2):
        with pytest.raises(WebSearchUnavailable, match="did not accept"):
            web.search("q", context=None, timeout=5)
    assert ["tool_choice" in body for body in bodies] == [True, False, True, False]


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500, 502, 503, 529])
def test_an_error_status_raises_without_quoting_body_or_key(status: int) -> None:
    body = {"error": {"message": f"secret {KEY}", "type": "t", "code": 1}}
    with pytest.raises(WebSearchUnavailable) as caught:
        search_answered(body, status).search("q", context=None, timeout=5)
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_malformed_json_raises() -> None:
    with pytest.raises(WebSearchUnavailable, match="cannot be read"):
        search_with(lambda _: httpx.Response(200, content=b'{"status": "comp')).search("q", context=None, timeout=5)


def test_an_oversized_answer_raises() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 1_000_000

    with pytest.raises(WebSearchUnavailable, match="too large"):
        search_with(lambda _: httpx.Response(200, content=endless())).search("q", context=None, timeout=60)


@pytest.mark.parametrize("error", [httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout])
def test_a_timeout_is_not_retried(error: type[httpx.TimeoutException]) -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        raise error("secret", request=request)

    with pytest.raises(WebSearchUnavailable, match="in time"):
        search_with(handler).search("q", context=None, timeout=9)
    assert len(calls) == 1


def fail_first(failure: httpx.Response | Exception, calls: list[float]) -> Handler:
    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(request.extensions["timeout"]["read"])
        if len(calls) > 1:
            return httpx.Response(200, json=answer())
        if isinstance(failure, Exception):
            raise failure
        return failure

    return handler


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ReadError("reset"),
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("slow"),
        httpx.RemoteProtocolError("closed"),
        httpx.Response(429),
        httpx.Response(503),
    ],
)
def test_a_transient_failure_is_retried_once(failure: httpx.Response | Exception) -> None:
    calls: list[float] = []
    response = search_with(fail_first(failure, calls)).search("q", context=None, timeout=9)
    assert response.answer == "Yes [1]."
    assert len(calls) == 2


@pytest.mark.parametrize("failure", [httpx.Response(429, headers={"Retry-After": "30"}), httpx.ReadError("reset")])
def test_there_is_no_retry_when_the_budget_is_too_short(failure: httpx.Response | Exception) -> None:
    calls: list[float] = []
    budget = 9.0 if isinstance(failure, httpx.Response) else 1.5
    with pytest.raises(WebSearchUnavailable):
        search_with(fail_first(failure, calls)).search("q", context=None, timeout=budget)
    assert len(calls) == 1
    assert calls[0] < budget


def test_a_persistent_failure_is_retried_only_once() -> None:
    calls: list[int] = []

    def handler(_: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(500)

    with pytest.raises(WebSearchUnavailable, match="HTTP status 500"):
        search_with(handler).search("q", context=None, timeout=60)
    assert len(calls) == 2


def test_nothing_is_sent_when_the_budget_is_used_up() -> None:
    with pytest.raises(WebSearchUnavailable, match="in time"):
        search_with(lambda _: pytest.fail("sent")).search("q", context=None, timeout=0)


@pytest.mark.parametrize(
    ("retry_after", "attempts"),
    [("0", 2), ("0.01", 2), ("Wed, 21 Oct 2015 07:28:00 GMT", 2), ("soon", 2), ("30", 1), ("inf", 2)],
)
def test_retry_after_is_obeyed_unless_it_exceeds_the_budget(retry_after: str, attempts: int) -> None:
    calls: list[float] = []
    web = search_with(fail_first(httpx.Response(429, headers={"Retry-After": retry_after}), calls))
    if attempts == 1:
        with pytest.raises(WebSearchUnavailable, match="rate limit"):
            web.search("q", context=None, timeout=9)
    else:
        assert web.search("q", context=None, timeout=9).answer == "Yes [1]."
    assert len(calls) == attempts


class Outages:
    """A service that always sends `reply`, and a clock that only moves when a test moves it."""

    def __init__(self, reply: Any, status: int = 200) -> None:
        self.reply, self.status = reply, status
        self.calls = 0
        self.now = 1000.0
        self.web = search_with(self._answer, clock=lambda: self.now)

    def _answer(self, _request: httpx.Request) -> httpx.Response:
        self.calls += 1
        if isinstance(self.reply, Exception):
            raise self.reply
        return httpx.Response(self.status, json=self.reply)

    def ask(self, times: int = 1) -> int:
        """Search `times` times and return how many requests were sent."""
        before = self.calls
        for _ in range(times):
            with contextlib.suppress(WebSearchUnavailable):
                self.web.search("q", context=None, timeout=9)
        return self.calls - before


@pytest.mark.parametrize(
    ("reply", "status", "searches"),
    [
        (httpx.ReadTimeout("late"), 200, 3),
        (answer(status="failed"), 200, 3),
        ({"error": {}}, 400, 3),
        ({"error": {}}, 500, 3),
        ({"error": {}}, 401, 1),  # the next question would use the same key
        ({"error": {}}, 403, 1),
    ],
)
def test_searches_pause_after_repeated_failures(reply: Any, status: int, searches: int) -> None:
    service = Outages(reply, status)
    assert service.ask(searches) > 0
    assert service.ask(5) == 0
    with pytest.raises(WebSearchUnavailable, match="paused"):
        service.web.search("q", context=None, timeout=9)
    service.now += 59
    assert service.ask() == 0


def test_one_search_probes_after_the_cool_down_and_a_success_closes_the_circuit() -> None:
    service = Outages({"error": {}}, 401)
    service.ask()
    service.now += 61
    assert service.ask(3) == 1  # the probe failed, so the cool-down starts again
    service.now += 61
    service.reply, service.status = answer(), 200
    assert service.ask(3) == 3


def test_an_answer_without_sources_does_not_count_as_a_failure() -> None:
    service = Outages({"error": {}}, 500)
    service.ask(2)
    service.reply, service.status = answer(results=[]), 200
    assert service.ask() == 1
    service.reply, service.status = {"error": {}}, 500
    assert service.ask(2) > 0
    service.reply, service.status = answer(), 200
    assert service.ask() == 1


def test_a_used_up_budget_does_not_count_as_a_failure() -> None:
    service = Outages(answer())
    for _ in range(5):
        with pytest.raises(WebSearchUnavailable):
            service.web.search("q", context=None, timeout=0)
    assert service.ask() == 1


@pytest.fixture
def dripping_url() -> Iterator[str]:
    """The URL of a server that sends an endless header, byte by byte."""
    stopped = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                while not stopped.wait(0.05):
                    connection.sendall(b"x")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        stopped.set()
        thread.join()


def test_a_service_that_drips_bytes_cannot_exceed_the_budget(dripping_url: str) -> None:
    web = connect(base_url=dripping_url, api_key=lambda: KEY, model="perplexity/sonar", instructions="Be brief.")
    with pytest.raises(WebSearchUnavailable, match="in time"):
        web.search("q", context=None, timeout=0.4)


def test_a_refused_connection_raises() -> None:
    web = connect(
        base_url="http://127.0.0.1:9", api_key=lambda: KEY, model="perplexity/sonar", instructions="Be brief."
    )
    with pytest.raises(WebSearchUnavailable, match="could not be reached"):
        web.search("q", context=None, timeout=1)
