"""Unmodified clients of the AI SDK, as React, Vue, Svelte and Angular use them, against the running service."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, says, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.real_clients.environment import run_node

pytestmark = pytest.mark.slow

VERSIONS = ("ai", "ai-6", "ai-5")  # as tests/real_clients/package.json names them

DOCUMENT = "# Keywords\n\nDuplicate keywords are merged by a conditional write, which raises the usage count.\n"
BOTH = "Keywords are merged by a conditional write. [kb-1] Starlette was released in 2026. [web-1]"
SEARCHES = (calls(search()), calls(web_search()))


def chat(version: str, url: str, **body: Any) -> dict[str, Any]:
    """What a page would show after one question."""
    page: dict[str, Any] = run_node("use_chat.mjs", version, f"{url}/api/chat/stream", json.dumps(body))
    return page


def parts_of(kind: str, page: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in page["message"]["parts"] if part["type"] == kind]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_shows_the_text_the_tools_the_sources_and_the_answer(
    url: str, model: ScriptedModel, web: ScriptedWeb, version: str
) -> None:
    web.finds("It was released in 2026 [1].", result(1, "https://starlette.dev/release", "Starlette release notes"))
    model.plays(*SEARCHES, calls(index("Starlette release"), answer(BOTH, ("kb-1", "web-1"))))
    page = chat(version, url, query=f"Merging and releases for {version}?", fresh=True)
    assert (page["status"], page.get("error")) == ("ready", None)
    [told] = parts_of("data-gleaner-answer", page)
    assert told["data"]["answer"] == BOTH
    assert [(part["text"], part["state"]) for part in parts_of("text", page)] == [(BOTH, "done")]
    assert page["texts"][-1] == BOTH and all(BOTH.startswith(text) for text in page["texts"])
    tools = [(part["toolName"], part["state"]) for part in parts_of("dynamic-tool", page)]
    assert tools[:2] == [("knowledge_base_search", "output-available"), ("perplexity_search", "output-available")]
    assert page["toolCalls"] == []  # the client is not asked to run them
    [document], [web_page] = parts_of("source-document", page), parts_of("source-url", page)
    assert (document["sourceId"], document["mediaType"]) == ("kb-1", "text/markdown")
    assert (web_page["sourceId"], web_page["url"]) == ("web-1", "https://starlette.dev/release")
    assert page["message"]["metadata"]["session_id"] == told["data"]["session_id"]
    assert page["message"]["id"] == told["data"]["message_id"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_shows_a_withdrawn_answer_as_such_and_ends_with_the_accepted_one(
    url: str, model: ScriptedModel, version: str
) -> None:
    cut_off = '{"sources": ["kb-1"], "answer": "' + "Keywords are merged by a write. [kb-1] " * 12
    model.plays(SEARCHES[0], calls(("generate_response", cut_off), finish_reason="length"), calls(answer()))
    page = chat(version, url, query="How are duplicates merged?")
    *withdrawn, last = parts_of("text", page)
    assert withdrawn
    assert last["text"] == "Merged. [kb-1]" and "providerMetadata" not in last
    assert all(part["providerMetadata"] == {"gleaner": {"withdrawn": True}} for part in withdrawn)
    assert all(part["text"] and part["text"] in cut_off for part in withdrawn)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_shows_the_problem_of_a_question_that_failed(url: str, model: ScriptedModel, version: str) -> None:
    model.plays(SEARCHES[0], says("No tool."))
    page = chat(version, url, query="How are duplicates merged?")
    [problem] = parts_of("data-gleaner-problem", page)
    assert problem["data"]["type"] == "urn:gleaner:problem:mandatory-tool-missing"
    assert (page["status"], page["error"]) == ("error", problem["data"]["detail"])


@pytest.mark.parametrize("version", VERSIONS)
def test_a_page_gets_an_early_problem_as_the_error(url: str, version: str) -> None:
    page = chat(version, url, query="")
    assert page["status"] == "error" and "validation-failed" in page["error"]
    assert page.get("message") is None
