"""The web search client against good and bad responses of the Agent API."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients import perplexity
from gleaner.clients._circuit_breaker import CircuitBreaker
from gleaner.clients.perplexity import WebSearch, connect
from gleaner.errors import WebSearchUnavailable
from gleaner.guards.blocked_hosts import BlockedHosts
from tests.clients.test_chat_completions import ANY_JSON, Path, changed, paths
from tests.doubles.stalling import stalling

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


def test_equal_searches_have_one_identity_that_tells_nothing() -> None:
    web = search_with(lambda _: httpx.Response(500))
    same = {web.identify(query, None, scope="kb") for query in ("What is 5 MW?", " What  is\n5 MW? ")}
    others = [
        web.identify(query, context, scope=scope)
        for query, context, scope in (
            ("What is 5 mW?", None, "kb"),
            ("What is 5 MW?", "power", "kb"),
            ("What is 5 MW?", None, "kb2"),
            ("10²", None, "kb"),
            ("102", None, "kb"),
        )
    ]
    assert len(same) == 1
    assert len({*same, *others}) == 1 + len(others)
    assert search_with_key(KEY).identify("What is 5 MW?", None, scope="kb") in same
    assert search_with_key("another key").identify("What is 5 MW?", None, scope="kb") not in same
    assert re.fullmatch("[0-9a-f]{32}", *same)


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
    found = web.search("q", context=None, timeout=20)
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


def search_with_key(key: str) -> WebSearch:
    """The same search for another customer of the service."""
    return WebSearch(
        httpx.Client(base_url="https://web.example"),
        lambda: key,
        model="perplexity/sonar",
        instructions="Be brief.",
        circuit=CircuitBreaker("web search", failures=3, cool_down=60),
    )


def search_answered(body: Any, status: int = 200) -> WebSearch:
    return search_with(lambda _: httpx.Response(status, json=body))


def test_the_request_demands_a_search_and_contains_only_known_fields() -> None:
    requests: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, json=answer())

    search_with(handler).search("What is it?", context=None, timeout=20)
    assert requests[0].url == "https://web.example/v1/agent"
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"
    body = json.loads(requests[0].content)
    assert body.pop("max_output_tokens") > 0
    label, query = body.pop("input")
    assert label["role"] == "user" and "It is data" in label["content"]
    assert query == {"type": "message", "role": "user", "content": "What is it?"}
    assert body == {
        "model": "perplexity/sonar",
        "instructions": "Be brief.",
        "tools": [{"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
    }


def test_context_is_sent_as_a_separate_item_before_the_question() -> None:
    inputs: list[Any] = []

    def handler(request: httpx.Request) -> httpx.Response:
        inputs.append(json.loads(request.content)["input"])
        return httpx.Response(200, json=answer())

    search_with(handler).search("And when?", context="We spoke of the moon landing.", timeout=20)
    first, last = inputs[0]
    assert "moon landing" in first["content"]
    assert last == {"type": "message", "role": "user", "content": "And when?"}


def test_usage_and_cost_are_parsed() -> None:
    response = search_answered(answer()).search("q", context=None, timeout=20)
    assert (response.model, response.input_tokens, response.output_tokens, response.cost_usd) == (
        "perplexity/sonar",
        11,
        7,
        0.0061,
    )


@pytest.mark.parametrize("usage", [None, {"input_tokens": 1, "output_tokens": 2}])
def test_the_cost_is_none_when_the_service_states_none(usage: Any) -> None:
    assert search_answered(answer(usage=usage)).search("q", context=None, timeout=20).cost_usd is None


def test_citations_are_ordered_by_first_mention_and_unmentioned_ones_come_last() -> None:
    text = "First [3]. Second [1][3]. Third [2, 3]."
    response = search_answered(answer(text, [result(n) for n in (1, 2, 3, 4)])).search("q", context=None, timeout=20)
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
        "q", context=None, timeout=20
    )
    assert response.answer == "A [1] b c d."
    assert [citation.url for citation in response.citations] == ["https://site1.example/page"]


def test_duplicate_pages_become_one_citation() -> None:
    sources = [result(1), result(2, url="https://site1.example/page")]
    response = search_answered(answer("A [2]. B [1].", sources)).search("q", context=None, timeout=20)
    assert response.answer == "A [1]. B [1]."
    assert len(response.citations) == 1


def test_marks_in_code_are_kept_and_linked_marks_are_parsed() -> None:
    text = "Use `items[0]` [1](https://site1.example/page).\n```\nrow[7] = 1\n```\nDone [web:1]."
    response = search_answered(answer(text)).search("q", context=None, timeout=20)
    assert response.answer == "Use `items[0]` [1].\n```\nrow[7] = 1\n```\nDone [1]."


def test_citations_are_capped_and_marks_beyond_the_cap_are_removed() -> None:
    text = " ".join(f"s{n} [{n}]" for n in range(1, 31))
    response = search_answered(answer(text, [result(n) for n in range(1, 31)])).search("q", context=None, timeout=20)
    assert len(response.citations) == 10
    assert "[10]" in response.answer and "[11]" not in response.answer


@given(
    ids=st.lists(st.integers(1, 15), max_size=12, unique=True),
    marks=st.lists(st.integers(0, 20), max_size=20),
)
def test_every_mark_still_points_to_its_source(ids: list[int], marks: list[int]) -> None:
    text = "word " + " ".join(f"w{n}[{n}]" for n in marks)
    sources = [result(99), *(result(n) for n in ids)]
    response = search_answered(answer(text, sources)).search("q", context=None, timeout=20)
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
        search_answered(body).search("q", context=None, timeout=20)
    assert "secret" not in str(caught.value)


A_TEXT = {"type": "output_text", "text": "Yes [1]."}
A_PAGE = {"url": "https://site1.example/page", "title": "T1", "snippet": "S1", "date": None}


def message(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(parts)} | fields


def pages(*results: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "search_results", "results": list(results)} | fields


@pytest.mark.parametrize(
    ("changes", "left_out"),
    [
        ({"usage": None}, 0),
        ({"usage": {}}, 0),
        ({"usage": {"input_tokens": 1}}, 0),
        ({"usage": {"input_tokens": None, "output_tokens": None, "cost": None}}, 0),
        ({"usage": {"input_tokens": "many", "output_tokens": -7}}, 2),
        ({"usage": {"input_tokens": 10**40, "output_tokens": 1.5}}, 2),
        ({"usage": {"cost": {"total_cost": "0.006", "currency": "USD"}}}, 1),
        ({"usage": {"cost": {"total_cost": -1.0, "currency": "USD"}}}, 1),
        ({"usage": {"cost": {"total_cost": 10**40, "currency": "USD"}}}, 1),
        ({"usage": {"cost": {"total_cost": float("nan")}}}, 1),
        ({"usage": {"cost": {"total_cost": float("inf")}}}, 1),
        ({"usage": {"cost": 0.006}}, 1),
        ({"usage": [7]}, 1),
        ({"model": None}, 0),
        ({"model": {"name": "sonar"}}, 0),
        ({"status": None}, 0),
        ({"status": 7}, 0),
        ({"status": "done"}, 0),
        ({"error": {}}, 0),
        ({"error": {"code": None, "message": None}}, 0),
        ({"error": ""}, 0),
        ({"incomplete_details": "none"}, 0),
        ({"output": [None, pages(A_PAGE | {"id": 1}), message(A_TEXT)]}, 1),
        ({"output": ["text", 7, pages(A_PAGE | {"id": 1}), message(A_TEXT)]}, 2),
        ({"output": [pages(None, A_PAGE | {"id": 1}), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}, "https://x.example"), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}, {"id": 2, "url": None}), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}, {"id": 2, "url": ["x"]}), message(A_TEXT)]}, 1),
        (
            {
                "output": [
                    pages(A_PAGE | {"id": 1}, {"id": 2, "url": f"https://x/{'y' * 9_000}"}),
                    message(A_TEXT),
                ]
            },
            1,
        ),
        ({"output": [pages(A_PAGE | {"id": 1, "title": 7, "snippet": ["x"]}), message(A_TEXT)]}, 2),
        ({"output": [pages(A_PAGE | {"id": 1, "title": "\ud800", "date": 20260101}), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1, "date": "long ago " * 99}), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1.0}), message(A_TEXT)]}, 0),
        ({"output": [pages(A_PAGE | {"id": "web:1"}), message(A_TEXT)]}, 0),
        ({"output": [pages(A_PAGE | {"id": None}), message(A_TEXT)]}, 0),
        ({"output": [pages(A_PAGE), message(A_TEXT)]}, 0),
        ({"output": [pages(A_PAGE | {"id": [1]}), message(A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}, type=None), message(A_TEXT, type=None)]}, 0),
        ({"output": [pages(A_PAGE | {"id": 1}), message(None, A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}), message({"type": "output_text", "text": None}, A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}), message({"type": "output_text", "text": 7}, A_TEXT)]}, 1),
        ({"output": [pages(A_PAGE | {"id": 1}), message({"type": "reasoning", "text": "Hm."}, A_TEXT)]}, 0),
        ({"output": [pages(A_PAGE | {"id": 1}), message(content="Yes [1].")]}, 0),
        ({"output": [pages(A_PAGE | {"id": 1}), message({"text": "Yes [1]."})]}, 0),
        ({"output": [pages(A_PAGE | {"id": 1}), {"type": "message"}, message(A_TEXT)]}, 0),
        ({"output": [pages(results=None), pages(A_PAGE | {"id": 1}), message(A_TEXT)]}, 0),
        ({"output": [pages(results="none"), pages(A_PAGE | {"id": 1}), message(A_TEXT)]}, 1),
    ],
)
def test_what_is_bad_is_left_out_and_counted(changes: dict[str, Any], left_out: int) -> None:
    body = json.dumps(answer(**changes))  # with NaN and lone surrogates, as some services send them
    web = search_with(lambda _: httpx.Response(200, content=body.encode()))
    for _ in range(4):  # the breaker stays closed
        found = web.search("q", context=None, timeout=20)
    assert (found.answer.strip(), found.left_out) == ("Yes [1].", left_out)
    assert [citation.url for citation in found.citations] == ["https://site1.example/page"]
    assert found.cost_usd is None or 0 <= found.cost_usd < 1
    assert found.input_tokens >= 0 and found.output_tokens >= 0


def annotation(number: int, start: int = 0, end: int = 0, **fields: Any) -> dict[str, Any]:
    place = {"type": "citation", "start_index": start, "end_index": end}
    return place | {"url": f"https://site{number}.example/page", "title": f"T{number}"} | fields


@pytest.mark.parametrize(
    ("text", "annotations", "expected", "titles"),
    [
        ("One [1]. Two [2].", [annotation(1), annotation(2)], "One [1]. Two [2].", ["T1", "T2"]),
        ("Two [2]. One [1].", [annotation(2, 4, 7), annotation(1, 13, 16)], "Two [1]. One [2].", ["T2", "T1"]),
        ("One.", [annotation(1, 0, 4)], "One.", ["T1"]),
        ("One [1][1].", [annotation(1), annotation(1)], "One [1][1].", ["T1"]),
        ("One [1].", [{"type": "url_citation", "url_citation": annotation(1)}], "One [1].", ["T1"]),
        ("One [1].", [None, "x", annotation(9, url="javascript:x"), annotation(1)], "One [1].", ["T1"]),
        ("One [1].", [annotation(1, start_index="x", end_index=-1)], "One [1].", ["T1"]),
        ("One [1].", [annotation(1, title=None)], "One [1].", ["https://site1.example/page"]),
        ("One [web:1].", [annotation(1, 4, 11)], "One [1].", ["T1"]),
        ("One [7].", [annotation(1, 0, 10**40)], "One.", ["T1"]),
    ],
)
def test_citations_may_come_as_annotations_only(
    text: str, annotations: list[Any], expected: str, titles: list[str]
) -> None:
    part = {"type": "output_text", "text": text, "annotations": annotations}
    found = search_answered(answer(output=[message(part)])).search("q", context=None, timeout=20)
    assert found.answer == expected
    assert [citation.title for citation in found.citations] == titles


WHOLE = answer(
    output=[pages(A_PAGE | {"id": 1}), message(A_TEXT | {"annotations": [annotation(1, 4, 7)]})],
    incomplete_details=None,
    error=None,
)


@given(path=st.sampled_from(list(paths(WHOLE))), value=ANY_JSON, removed=st.booleans())
def test_any_part_may_be_missing_or_anything(path: Path, value: Any, removed: bool) -> None:
    body = changed(WHOLE, path, value, removed)
    try:
        found = search_with(lambda _: httpx.Response(200, content=body)).search("q", context=None, timeout=20)
    except WebSearchUnavailable:
        assert path[0] in ("output", "status", "error")
        return
    assert found.answer and found.citations and found.left_out >= 0
    texts = (found.answer, found.model, *(text for page in found.citations for text in (page.title, page.snippet)))
    json.dumps(texts, ensure_ascii=False).encode()
    assert found.cost_usd is None or 0 <= found.cost_usd <= 100


def test_search_results_are_preferred_to_annotations() -> None:
    part = {"type": "output_text", "text": "One [1].", "annotations": [annotation(2, 4, 7)]}
    found = search_answered(answer(output=[pages(result(1)), message(part)])).search("q", context=None, timeout=20)
    assert [citation.title for citation in found.citations] == ["T1"]


@pytest.mark.parametrize(
    "text", ["word " * 9_000, "w" * 40_000, "word [1] " * 5_000, "[1,1,1]" * 9_000, "\U0001f600" * 30_000]
)
def test_a_long_answer_is_cut(text: str) -> None:
    found = search_answered(answer(f"Yes [1]. {text}")).search("q", context=None, timeout=20)
    assert len(found.answer) <= 20_000
    assert found.answer.startswith("Yes [1].")
    assert not found.answer.endswith(("[", "[1", "wor"))


@pytest.mark.parametrize("space", [" ", "\n", "\u2003"])
def test_space_before_a_long_answer_does_not_count(space: str) -> None:
    found = search_answered(answer(f"{space * 30_000}Yes [1].")).search("q", context=None, timeout=20)
    assert found.answer == "Yes [1]."


@pytest.mark.parametrize("text", [" " * 30_000, "\n" * 20_000])
def test_an_answer_of_space_alone_is_unusable(text: str) -> None:
    with pytest.raises(WebSearchUnavailable, match="without text"):
        search_answered(answer(text)).search("q", context=None, timeout=20)


def test_the_name_of_the_model_is_cut() -> None:
    found = search_answered(answer(model="sonar\n" * 9_000)).search("q", context=None, timeout=20)
    assert found.model.startswith("sonar sonar") and len(found.model) <= 100


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf%s", b"%s\n"], ids=["a byte order mark", "a line end"])
def test_bytes_around_or_within_the_answer_cost_nothing(content: bytes) -> None:
    body = content % json.dumps(answer("Yes? [1].")).encode().replace(b"?", b"\xff")
    found = search_with(lambda _: httpx.Response(200, content=body)).search("q", context=None, timeout=20)
    assert found.answer == "Yes\ufffd [1]."


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
        assert web.search("q", context=None, timeout=20).answer
    assert ["tool_choice" in body for body in bodies] == [True, False, False]


def test_a_request_that_is_refused_for_another_reason_keeps_tool_choice() -> None:
    bodies: list[dict[str, Any]] = []

    def handler(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": {"message": "no"}})

    web = search_with(handler)
    for _ in range(2):
        with pytest.raises(WebSearchUnavailable, match="did not accept"):
            web.search("q", context=None, timeout=20)
    assert ["tool_choice" in body for body in bodies] == [True, False, True, False]


@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500, 502, 503, 529])
def test_an_error_status_raises_without_quoting_body_or_key(status: int) -> None:
    body = {"error": {"message": f"secret {KEY}", "type": "t", "code": 1}}
    with pytest.raises(WebSearchUnavailable) as caught:
        search_answered(body, status).search("q", context=None, timeout=20)
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_malformed_json_raises() -> None:
    with pytest.raises(WebSearchUnavailable, match="cannot be read"):
        search_with(lambda _: httpx.Response(200, content=b'{"status": "comp')).search("q", context=None, timeout=20)


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
        search_with(handler).search("q", context=None, timeout=20)
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
    response = search_with(fail_first(failure, calls)).search("q", context=None, timeout=20)
    assert response.answer == "Yes [1]."
    assert len(calls) == 2


@pytest.mark.parametrize("failure", [httpx.Response(429, headers={"Retry-After": "30"}), httpx.ReadError("reset")])
def test_there_is_no_retry_when_the_budget_is_too_short(
    failure: httpx.Response | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[float] = []
    if isinstance(failure, Exception):  # after which nothing is waited for
        monkeypatch.setattr(perplexity, "MIN_RETRY_SECONDS", 21.0)
    with pytest.raises(WebSearchUnavailable):
        search_with(fail_first(failure, calls)).search("q", context=None, timeout=20)
    assert len(calls) == 1
    assert calls[0] < 20


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
            web.search("q", context=None, timeout=20)
    else:
        assert web.search("q", context=None, timeout=20).answer == "Yes [1]."
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
                self.web.search("q", context=None, timeout=20)
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
        service.web.search("q", context=None, timeout=20)
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


def test_a_service_that_drips_bytes_cannot_exceed_the_budget() -> None:
    with stalling(drips=True) as url, pytest.raises(WebSearchUnavailable, match="in time"):
        web = connect(base_url=url, api_key=lambda: KEY, model="perplexity/sonar", instructions="Be brief.")
        web.search("q", context=None, timeout=0.4)


def test_a_refused_connection_raises() -> None:
    web = connect(
        base_url="http://127.0.0.1:9", api_key=lambda: KEY, model="perplexity/sonar", instructions="Be brief."
    )
    with pytest.raises(WebSearchUnavailable, match="could not be reached"):
        web.search("q", context=None, timeout=20)
