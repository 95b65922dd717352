"""Every provider: a knowledge base question and a web question end in an answer, with one wasted call at most."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from typing import Any

import pytest

from gleaner.answering.exchange import Asker, QuestionRequest
from gleaner.answering.plain import complete_plainly
from gleaner.answering.question import answer_question
from gleaner.clients import chat_model
from gleaner.model import new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.wiring import build_services, build_stores
from gleaner_local.aws.ministack import TABLES
from tests.conftest import Client, make_api
from tests.doubles.providers import (
    anthropic,
    azure,
    bedrock,
    deepseek,
    gemini,
    litellm,
    llama_cpp,
    lm_studio,
    mistral,
    ollama,
    openai_chat,
    openai_responses,
    openrouter,
    vllm,
)
from tests.doubles.providers.brain import PLAIN_ANSWER
from tests.doubles.providers.front import Provider
from tests.doubles.scripted_web import ScriptedWeb, result

MERGING = "How are duplicates merged?"
RELEASE = "When was Starlette 1.0 released?"
KEYS = ("secret-openai-key", "secret-pinecone-key", "secret-perplexity-key")


@dataclass(frozen=True)
class Row:
    """A provider, how it is configured, and how many calls of the model its two questions waste."""

    provider: type[Provider]
    wasted: int = 0
    openai: bool = False  # the host counts as one of OpenAI or Azure
    calls: int = 5  # 2 and 3; with one call a turn, 2 and 4
    settings: dict[str, str] = field(default_factory=dict)


CHAT, OPENAI = {"OPENAI_API": "chat"}, {"openai": True}
ROWS = {
    "openai: gpt-6-luna": Row(openai_responses.OpenAIResponses, **OPENAI),
    "openai: gpt-5.4-mini": Row(openai_responses.Reasoning54, **OPENAI),
    "openai: gpt-5-pro": Row(openai_responses.AlwaysHigh, 1, **OPENAI),
    "openai: gpt-4.1-mini": Row(openai_responses.NotReasoning, **OPENAI),
    "openai: gpt-5.4 by chat": Row(openai_chat.OpenAIChat, settings=CHAT, **OPENAI),
    "openai: gpt-5.6 by chat": Row(openai_chat.WantsNoEffort, 1, settings=CHAT, **OPENAI),
    "gateway: gpt-5.4": Row(openai_chat.OpenAIChat),
    "gateway: gpt-5.5": Row(openai_chat.RefusesTools, 1),
    "gateway: gpt-5.6": Row(openai_chat.WantsNoEffort, 1),
    "gateway: gpt-6-astra": Row(openai_chat.TakesNoTools, 1),
    "gateway: only Responses": Row(openai_chat.OnlyResponses, 1),
    "gemini": Row(gemini.Gemini),
    "deepseek": Row(deepseek.DeepSeek, 1),
    "deepseek: another text": Row(deepseek.MissingField, 1),
    "openrouter": Row(openrouter.OpenRouter),
    "openrouter: error under 200": Row(openrouter.ErrorUnder200, 1),
    "openrouter: error in the choice": Row(openrouter.ErrorInChoice, 1),
    "openrouter: no forced calls": Row(openrouter.NoForcedCalls, 1),
    "openrouter: no tools": Row(openrouter.NoTools, 1, calls=6),
    "mistral": Row(mistral.Mistral),
    "mistral: plain detail": Row(mistral.PlainDetail),
    "llama.cpp": Row(llama_cpp.LlamaCpp),
    "llama.cpp: weak model": Row(llama_cpp.WeakModel, 1, calls=6),
    "llama.cpp: no grammar": Row(llama_cpp.NoGrammar, 1, calls=6),
    "lm studio": Row(lm_studio.LMStudio),
    "lm studio: plain text": Row(lm_studio.PlainText, 1, calls=6),
    "lm studio: no grammar": Row(lm_studio.NoGrammar, 1, calls=6),
    "ollama": Row(ollama.Ollama),
    "ollama: plain text": Row(ollama.PlainText, 1, calls=6),
    "ollama: no tools": Row(ollama.NoTools, 1, calls=6),
    "vllm": Row(vllm.VLLM),
    "vllm: no parser": Row(vllm.NoParser, 1, calls=6),
    "vllm: empty calls": Row(vllm.EmptyCalls, 1, calls=6),
    "vllm: small context": Row(vllm.SmallContext, 1),
    "vllm: old version": Row(vllm.OldVersion),
    "azure: gpt-5.4": Row(azure.OldResponses, 1, **OPENAI),
    "azure: gpt-4.1": Row(azure.NotReasoning, 1, **OPENAI),
    "azure": Row(azure.AzureResponses, **OPENAI),
    "azure: gpt-5.6 by chat": Row(azure.NewChat, 1, settings=CHAT, **OPENAI),
    "azure by chat": Row(azure.AzureChat, settings=CHAT, **OPENAI),
    "bedrock: mantle": Row(bedrock.Mantle, 1),
    "bedrock: runtime": Row(bedrock.Runtime, 1),
    "bedrock: open weights": Row(bedrock.OpenWeights),
    "litellm: openai": Row(litellm.InFrontOfOpenAI, 1),
    "litellm: effort": Row(litellm.RefusesEffort, 1, settings={"OPENAI_REASONING_EFFORT": "low"}),
    "anthropic": Row(anthropic.Anthropic),
}


@pytest.fixture
def web(scripted_web_server: tuple[ScriptedWeb, str]) -> ScriptedWeb:
    """A web that knows when Starlette was released."""
    scripted_web_server[0].finds(
        "Starlette 1.0, the ASGI framework, was released in 2026 [1].",
        result(1, "https://starlette.dev/release", "Starlette release notes"),
    )
    return scripted_web_server[0]


FIRST_OF_EACH = {name.partition(":")[0]: name for name in reversed(ROWS)}.values()


@pytest.mark.parametrize(
    "name", [name if name in FIRST_OF_EACH else pytest.param(name, marks=pytest.mark.slow) for name in ROWS]
)
def test_both_questions_end_in_an_answer(
    name: str,
    settings: dict[str, str],
    web: ScriptedWeb,
    items: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = ROWS[name]
    provider = row.provider()
    caplog.set_level(logging.INFO)
    with provider.serving() as base_url:
        client = _client(row, settings, base_url, monkeypatch)
        merging = client.ask(MERGING)
        first_wasted, first_calls = provider.wasted, len(provider.requests)
        release = client.ask(RELEASE)
    refused = [refusal.body for refusal in provider.refusals]
    assert (merging[0], merging[1].get("answer")) == (200, "Merged by a conditional write. [kb-1]"), refused
    assert (release[0], release[1].get("answer")) == (200, "Starlette 1.0 came out in 2026. [web-1]"), refused
    assert [body["status"] for _, body in (merging, release)] == ["success", "success"]
    assert release[1]["keyword_count"] == 2
    assert (first_calls - first_wasted, provider.useful) == (2, row.calls)
    assert (first_wasted, provider.wasted) == (row.wasted, row.wasted), refused
    assert provider.violations == []
    _assert_nothing_opaque(provider, [merging, release], [items(table) for table in TABLES], caplog)


@pytest.mark.parametrize(
    "name", [name if name in FIRST_OF_EACH else pytest.param(name, marks=pytest.mark.slow) for name in ROWS]
)
def test_a_title_is_written_before_and_after_a_question(
    name: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ROWS[name]
    provider = row.provider()
    messages = [("user", "A title for this conversation?")]
    with provider.serving() as base_url:
        configuration = Settings.from_env(_environment(row, settings, base_url, monkeypatch))
        services = build_services(configuration, build_stores(configuration))
        before = complete_plainly(messages, Asker(caller_id="key:ann", query_id=new_id()), services, Deadline.after(20))
        question = QuestionRequest(query=MERGING, caller_id="key:ann", is_kept=False)
        answer = answer_question(question, new_id(), services, Deadline.after(20))
        after = complete_plainly(messages, Asker(caller_id="key:ann", query_id=new_id()), services, Deadline.after(20))
    refused = [refusal.body for refusal in provider.refusals]
    assert (before.text, answer.text, after.text) == (
        PLAIN_ANSWER,
        "Merged by a conditional write. [kb-1]",
        PLAIN_ANSWER,
    )
    assert len(refused) <= row.wasted, refused
    assert not any("tools" in request for request in (provider.requests[0], provider.requests[-1]))
    assert provider.violations == []


@pytest.mark.parametrize(
    "name", ["openai: gpt-6-luna", "gemini", "deepseek", "openrouter", "mistral", "ollama: no tools"]
)
def test_a_session_goes_on(
    name: str, settings: dict[str, str], web: ScriptedWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ROWS[name]
    provider = row.provider()
    with provider.serving() as base_url:
        client = _client(row, settings, base_url, monkeypatch)
        _, first = client.ask(RELEASE)
        status, second = client.ask(MERGING, session_id=first["session_id"])
    assert (status, second["answer"]) == (200, "Merged by a conditional write. [kb-1]")
    assert first["answer"].removesuffix(" [web-1]") in json.dumps(provider.requests[-1])
    assert (provider.wasted, provider.violations) == (row.wasted, [])


def test_plain_text_of_a_model_with_signed_calls_is_an_exception(
    settings: dict[str, str], web: ScriptedWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = gemini.PlainTextOnce()
    with provider.serving() as base_url:
        client = _client(Row(gemini.Gemini), settings, base_url, monkeypatch)
        answers = [client.ask(question) for question in (MERGING, RELEASE, MERGING)]
    assert [(status, body["status"]) for status, body in answers] == [(200, "success")] * 3
    assert provider.wasted == 1
    assert ["tools" in request for request in provider.requests[-2:]] == [True, True]


@pytest.mark.parametrize("provider", [azure.AzureResponses(), azure.AzureChat()])
def test_a_filtered_question_is_refused_once(
    provider: Provider,
    settings: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    row = Row(type(provider), **OPENAI, settings={} if isinstance(provider, azure.AzureResponses) else CHAT)
    question = f"Tell me {azure.FORBIDDEN} somebody"
    with provider.serving() as base_url:
        status, body = _client(row, settings, base_url, monkeypatch).ask(question)
    assert (status, body["type"]) == (422, "urn:gleaner:problem:answer-refused")
    assert len(provider.requests) == 1
    record: Any = next(record for record in caplog.records if record.name == "gleaner.clients.chat_model")
    assert record.status == 400
    assert azure.FORBIDDEN not in caplog.text


def test_a_deployment_that_does_not_exist_is_named(settings: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_model, "_OPENAI_HOSTS", ("127.0.0.1",))
    provider = azure.AzureResponses()
    with provider.serving() as base_url:
        environment = settings | {"OPENAI_API": "auto", "OPENAI_BASE_URL": base_url, "OPENAI_MODEL": "no-deployment"}
        status, body = Client(make_api(environment)).ask(MERGING)
    assert (status, len(provider.requests)) == (503, 1)
    assert "DeploymentNotFound" in body["detail"]


def _client(row: Row, settings: dict[str, str], base_url: str, monkeypatch: pytest.MonkeyPatch) -> Client:
    return Client(make_api(_environment(row, settings, base_url, monkeypatch)))


def _environment(row: Row, settings: dict[str, str], base_url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    if row.openai:
        monkeypatch.setattr(chat_model, "_OPENAI_HOSTS", ("127.0.0.1",))
    model = azure.DEPLOYMENT if row.provider.__module__.endswith("azure") else getattr(row.provider, "model", "model")
    return settings | {"OPENAI_API": "auto"} | row.settings | {"OPENAI_BASE_URL": base_url, "OPENAI_MODEL": model}


def _assert_nothing_opaque(provider: Provider, answers: Any, stored: Any, caplog: pytest.LogCaptureFixture) -> None:
    """What the provider wants back is neither stored nor shown nor logged, and neither are keys."""
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    places = {"answers": json.dumps(answers), "tables": json.dumps(stored, default=str), "log": logged}
    for place, text in places.items():
        assert not [secret for secret in (*provider.opaque, *KEYS) if secret in text], place
    for refusal in provider.refusals:
        assert json.dumps(refusal.body) not in logged
