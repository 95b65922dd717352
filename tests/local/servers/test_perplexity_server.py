"""The local outside world through the web search client of the deployed service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import metadata
from typing import Any

import httpx
import pytest

from gleaner.clients.perplexity import WebSearch, connect
from gleaner.errors import WebSearchUnavailable
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.perplexity_server import MODEL, create_app


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    asgi_server = AsgiServer(create_app())
    asgi_server.start()
    yield asgi_server.url
    asgi_server.stop()


@pytest.fixture(scope="module")
def web(server: str) -> WebSearch:
    return connect(base_url=server, api_key=lambda: "local", model="perplexity/sonar", instructions="Be brief.")


def post(server: str, **changes: Any) -> httpx.Response:
    body: dict[str, Any] = {
        "input": "What is the Hypothesis testing library for Python?",
        "model": "perplexity/sonar",
        "tools": [{"type": "web_search"}],
        **changes,
    }
    return httpx.post(f"{server}/v1/agent", json=body, headers={"Authorization": "Bearer local"})


@pytest.mark.slow
def test_a_question_about_an_installed_package_is_answered_from_its_description(web: WebSearch) -> None:
    result = web.search("What is the Hypothesis testing library for Python?", context=None, timeout=60)
    assert "property-based testing library" in result.answer
    assert result.citations[0].title.lower().startswith("hypothesis")
    assert result.citations[0].url in str(metadata("hypothesis").get_all("Project-URL"))
    assert result.citations[0].date is None
    assert result.model == MODEL and result.cost_usd == 0.0 and result.output_tokens > 0


@pytest.mark.parametrize("question", ["What is Starlette?", "How do I detect the encoding of a text file?"])
def test_every_mark_points_to_a_citation_and_no_markup_is_left(web: WebSearch, question: str) -> None:
    result = web.search(question, context=None, timeout=60)
    marks = [int(mark) for mark in re.findall(r"\[(\d+)\]", result.answer)]
    assert marks and set(marks) <= set(range(1, len(result.citations) + 1))
    assert not re.search(r"https?://|!\[|\]\(|<[a-z]+[ >]|\.\. |:target:", result.answer)


@pytest.mark.parametrize("question", ["Who wrote the novel Moby Dick?", "How do vaccines work?", "?!", "the of and"])
def test_an_unanswerable_question_finds_no_sources(web: WebSearch, question: str) -> None:
    with pytest.raises(WebSearchUnavailable, match="no sources"):
        web.search(question, context=None, timeout=60)


def test_context_does_not_change_what_is_searched(web: WebSearch) -> None:
    plain = web.search("What is Starlette?", context=None, timeout=60)
    assert web.search("What is Starlette?", context="We spoke of PDF files.", timeout=60).citations == plain.citations


def test_searches_can_run_concurrently(web: WebSearch) -> None:
    names = ["Starlette", "uvicorn", "pydantic", "httpx", "pypdf", "rich"] * 4
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda name: web.search(f"What is {name}?", context=None, timeout=60), names))
    assert all(name.lower() in answer.answer.lower() for name, answer in zip(names, answers, strict=True))


def test_without_an_offered_search_there_are_no_results(server: str) -> None:
    output = post(server, tools=[]).json()["output"]
    assert [item["type"] for item in output] == ["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"no_such_field": 1},
        {"search_context_size": "low"},
        {"input": ""},
        {"input": [{"role": "user", "content": "q"}]},
        {"input": [{"type": "message", "role": "user", "content": "q", "extra": 1}]},
        {"tools": [{"type": "web_search", "extra": 1}]},
        {"tools": [{"type": "browser"}]},
        {"tools": None, "tool_choice": {"type": "web_search"}},
        {"model": None},
        {"max_output_tokens": 0},
        {"stream": True},
    ],
)
def test_what_the_real_service_would_reject_is_a_bad_request(server: str, changes: dict[str, Any]) -> None:
    response = post(server, **changes)
    assert response.status_code == 400
    assert {"message", "type", "code"} <= response.json()["error"].keys()


def test_a_body_that_is_not_json_is_a_bad_request(server: str) -> None:
    response = httpx.post(f"{server}/v1/agent", content=b"{", headers={"Authorization": "Bearer local"})
    assert response.status_code == 400


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer"}, {"Authorization": "Basic eA=="}])
def test_a_missing_bearer_token_is_rejected(server: str, headers: dict[str, str]) -> None:
    assert httpx.post(f"{server}/v1/agent", json={"input": "q"}, headers=headers).status_code == 401


def test_an_unknown_route_gets_an_error_in_the_format_of_the_api(server: str) -> None:
    response = httpx.post(f"{server}/chat/completions", json={}, headers={"Authorization": "Bearer local"})
    assert response.status_code == 404 and response.json()["error"]["message"]
