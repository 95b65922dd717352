"""Unmodified clients of OpenAI's API, used as their documentation shows, against the running service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse

from tests.doubles.scripted_model import ScriptedModel, calls, search
from tests.real_clients.environment import run_node, run_python
from tests.real_clients.readme import read_blocks, run_block

pytestmark = pytest.mark.slow

MERGING = "Duplicate keywords are merged by a conditional write."
# Twelve words must follow a sentence before it is shown.
COUNTING = "The second keyword raises the usage count of the first one, and keeps the time of its last use."
PRUNING = "Keywords are pruned when nobody used them for ninety days."
DOCUMENT = f"# Keywords\n\n## Merging\n\n{MERGING} {COUNTING}\n\n## Pruning\n\n{PRUNING}\n"
QUESTION, ANSWER = "How are duplicate keywords merged?", f"{MERGING} [kb-1] {COUNTING} [kb-1]"
FOLLOW_UP, SECOND_ANSWER = "And when are they pruned?", f"{PRUNING} [kb-1]"
FAILING = "Why is there no answer?"
REASON = "The account is closed."
TOKENS = {"input": 200, "output": 20}  # of two calls of the scripted model


CASES = ("unknown_model", "empty", "failed", "failed_stream")


def name_errors(*names: str) -> dict[str, str]:
    """The errors of a client by case."""
    return dict(zip(CASES, names, strict=True))


@dataclass(frozen=True, slots=True)
class Client:
    """A client, and what it makes of the service's responses."""

    script: str
    options: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(
        default_factory=lambda: name_errors("NotFoundError", "BadRequestError", "InternalServerError", "APIError")
    )
    model: str = "gleaner"  # with footnotes, where the client shows no citations
    asks_for_usage: bool = True  # of a stream

    def visit(self, base_url: str) -> dict[str, Any]:
        """Let it ask, stream, follow up and fail; returns what its user sees."""
        texts = {"question": QUESTION, "follow_up": FOLLOW_UP, "failing": FAILING}
        task = {"base_url": base_url, "api_key": "reader", "model": self.model, **texts}
        run = run_node if self.script.endswith(".mjs") else run_python
        shown: dict[str, Any] = run(self.script, *self.options, json.dumps(task))
        return shown


CLIENTS = {
    "openai of PyPI": Client("ask_openai.py"),
    "openai of npm": Client("ask_openai.mjs"),
    "llm": Client("ask_llm.py", errors=dict.fromkeys(CASES, "Error"), model="gleaner:footnotes"),
    "langchain-openai": Client(
        "ask_langchain.py",
        errors=name_errors("OpenAIModelNotFoundError", "OpenAIInvalidRequestError", "OpenAIAPIError", "APIError"),
        model="gleaner:footnotes",
    ),
    "openai-agents": Client("ask_agents.py", asks_for_usage=False),
    "@ai-sdk/openai": Client("ask_ai_sdk.mjs", ("@ai-sdk/openai",), dict.fromkeys(CASES, "AI_APICallError")),
    "@ai-sdk/openai-compatible": Client(
        "ask_ai_sdk.mjs",
        ("@ai-sdk/openai-compatible",),
        name_errors(*("AI_APICallError",) * 3, "AI_StreamProviderError"),
        model="gleaner:footnotes",
    ),
}


@dataclass(frozen=True, slots=True)
class Visit:
    """What a client showed, and what the model was asked meanwhile."""

    client: Client
    shown: dict[str, Any]
    requests: list[str]  # JSON

    def attempts(self, question: str) -> int:
        """How often the service asked the model a question for the first time."""
        return sum(question in request and '"role": "tool"' not in request for request in self.requests)


def play_librarian(request: dict[str, Any]) -> Any:
    """Looks a question up, then answers it; fails one question as a provider without its customer does."""
    conversation = json.dumps(request["messages"])
    if FAILING in conversation:
        return JSONResponse({"error": {"message": REASON, "code": "account_deactivated"}}, 403)
    is_follow_up = FOLLOW_UP in conversation
    if request["messages"][-1]["role"] != "tool":
        return calls(search("pruned keywords" if is_follow_up else "merged keywords"))
    text = SECOND_ANSWER if is_follow_up else ANSWER
    facts = {"used_internal_kb": True, "used_external_kb": False}
    return calls(("generate_response", {"sources": ["kb-1"], "answer": text, **facts}))


@pytest.fixture(scope="module", params=CLIENTS)
def visit(request: pytest.FixtureRequest, url: str, scripted_model_server: tuple[ScriptedModel, str]) -> Visit:
    """One client's visit; each runs once for all tests."""
    model, client = scripted_model_server[0], CLIENTS[request.param]
    model.plays(play_librarian)
    model.piece_seconds = 0.02
    shown = client.visit(f"{url}/v1")
    return Visit(client, shown, [json.dumps(asked["messages"]) for asked in model.requests])


def test_a_client_shows_the_answer_and_its_usage(visit: Visit) -> None:
    asked = visit.shown["asked"]
    assert asked["text"].startswith(ANSWER)
    assert read_usage(asked) == TOKENS
    assert asked.get("finish_reason", "stop") == "stop"


def test_a_client_shows_the_same_answer_while_it_comes(visit: Visit) -> None:
    asked, streamed = visit.shown["asked"], visit.shown["streamed"]
    assert streamed["text"] == asked["text"]
    assert streamed.get("sources") == asked.get("sources")
    assert streamed.get("finish_reason", "stop") == "stop"
    if "pieces" in streamed:  # llm shows them on a terminal only
        assert len(streamed["pieces"]) > 1 and "".join(streamed["pieces"]) == streamed["text"]
    if visit.client.asks_for_usage:
        assert read_usage(streamed) == TOKENS


def test_a_client_follows_up_with_its_own_messages(visit: Visit) -> None:
    assert visit.shown["followed_up"]["text"].startswith(SECOND_ANSWER)
    conversations = [messages for messages in visit.requests if FOLLOW_UP in messages]
    assert conversations and all(QUESTION in messages and MERGING in messages for messages in conversations)


def test_a_client_shows_the_sources_as_citations_or_as_footnotes(visit: Visit, url: str) -> None:
    asked = visit.shown["asked"]
    if visit.client.model.endswith(":footnotes"):
        _, _, notes = asked["text"].partition("\n\n---\n\n")
        [address] = re.findall(r"- \[kb-1\] \[Keywords › Merging\]\(<(.+)>\)", notes)
    else:
        marks = [asked["text"][item["start_index"] : item["end_index"]] for item in asked["sources"] if len(item) > 2]
        assert marks in ([], ["[kb-1]", "[kb-1]"])  # the AI SDK hands on no positions
        [(title, address)] = {(item["title"], item["url"]) for item in asked["sources"]}
        assert title == "Keywords › Merging"
    assert address.startswith(url)
    assert MERGING in httpx.get(address).json()["text"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("unknown_model", "The model `no-such-model` does not exist"),
        ("empty", "messages: must "),
        ("failed", "The language model refused the key."),
        ("failed_stream", "The language model refused the key."),
    ],
)
def test_a_client_raises_its_own_error_with_the_reason(visit: Visit, case: str, reason: str) -> None:
    error = visit.shown[case]
    assert (error["error"], reason in error["message"]) == (visit.client.errors[case], True)
    if "status" in error and not case.endswith("stream"):
        expected = {"unknown_model": (404, "model_not_found"), "failed": (503, "model-unavailable")}
        assert (error["status"], error["code"]) == expected.get(case, (400, "validation-failed"))


def test_a_client_asks_a_failed_question_once(visit: Visit) -> None:
    assert visit.attempts(FAILING) == 2  # buffered and streamed


@pytest.mark.parametrize("visit", ["openai of PyPI", "openai of npm"], indirect=True)
def test_a_client_of_openai_lists_the_models_and_reads_the_whole_answer(visit: Visit) -> None:
    shown = visit.shown
    assert shown["models"][0] == "gleaner" and {"gleaner:footnotes", "gleaner-plain"} <= set(shown["models"])
    assert shown["accumulated"]["text"] == ANSWER and len(shown["accumulated"]["pieces"]) > 1
    for way in ("asked", "streamed"):
        assert [source["id"] for source in shown[way]["gleaner"]["sources"]] == ["kb-1"]


@pytest.mark.parametrize("visit", ["openai-agents"], indirect=True)
def test_the_instructions_of_an_agent_reach_the_model(visit: Visit) -> None:
    assert all("Answer in one sentence." in messages for messages in visit.requests)


RUNNABLE = [(language, block) for language in ("python", "js") for block in read_blocks(language)]
RUNNABLE += [("sh", block) for block in read_blocks("sh") if block.startswith("llm ")]


@pytest.mark.parametrize(("language", "block"), RUNNABLE)
def test_a_block_of_the_readme_prints_the_answer(
    url: str, model: ScriptedModel, tmp_path: Path, language: str, block: str
) -> None:
    model.plays(play_librarian)
    ended = run_block(language, block, url, tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ANSWER in ended.stdout
    if re.search(r"footnotes|\.url\b", block):
        assert f"{url}/api/passages/" in ended.stdout


def test_the_readme_has_a_block_for_each_client() -> None:
    blocks = "".join(block for _, block in RUNNABLE)
    assert '"@ai-sdk/openai"' in blocks and '"@ai-sdk/openai-compatible"' in blocks
    for name in ("from openai import OpenAI", 'from "openai"', "llm -m", "langchain_openai", "from agents"):
        assert name in blocks


def read_usage(shown: dict[str, Any]) -> dict[str, int]:
    """The tokens that a client shows; langchain, agents and others name them as the Responses API does."""
    usage = shown["usage"]
    names = ("prompt_tokens", "completion_tokens") if "prompt_tokens" in usage else ("input_tokens", "output_tokens")
    return {"input": usage[names[0]], "output": usage[names[1]]}
