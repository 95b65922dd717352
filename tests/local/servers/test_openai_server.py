"""The local model through the openai SDK: the protocol, and the calls that it makes at each step."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ExtractiveModel
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.openai_server import MODEL, create_app

SEARCH, WEB, INDEX, ANSWER = "knowledge_base_search", "perplexity_search", "index_keywords", "generate_response"
DECIDE = (SEARCH, WEB, ANSWER)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    asgi_server = AsgiServer(create_app())
    asgi_server.start()
    yield asgi_server.url
    asgi_server.stop()


@pytest.fixture(scope="module")
def client(server: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="local", base_url=f"{server}/v1", max_retries=0) as sdk:
        yield sdk


def tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "", "parameters": {"type": "object"}}}


def conversation(
    question: str, *results: tuple[str, Any], earlier: tuple[tuple[str, str], ...] = ()
) -> list[dict[str, Any]]:
    """The messages after `question` and one tool call for each of (name, result)."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You work through tools."}]
    messages += [{"role": role, "content": text} for role, text in earlier]
    messages.append({"role": "user", "content": question})
    for number, (name, result) in enumerate(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": json.dumps(result)})
    return messages


def complete(client: openai.OpenAI, messages: list[dict[str, Any]], *offered: str, **more: Any) -> Any:
    if offered:
        more = {"tools": [tool(name) for name in offered], "tool_choice": "required", **more}
    return client.chat.completions.create(model=MODEL, messages=messages, max_completion_tokens=500, **more)  # type: ignore[arg-type]


def calls(completion: Any) -> list[tuple[str, dict[str, Any]]]:
    tool_calls = completion.choices[0].message.tool_calls or []
    return [(call.function.name, json.loads(call.function.arguments)) for call in tool_calls]


def chunk(number: int, content: str, score: float, **more: Any) -> dict[str, Any]:
    return {
        "id": f"kb-{number}",
        "content": content,
        "score": score,
        "source_type": "knowledge_base",
        "title": "Handbook",
        "chapter": None,
        **more,
    }


COVERED = {
    "chunks": [
        chunk(
            1, "# Sessions\n\nSessions belong to a caller. A session expires after 90 days. It can be deleted.", 0.61
        ),
        chunk(2, "Keywords are pruned when nobody uses them. Pruning runs every night.", 0.22),
    ]
}
UNCOVERED = {"chunks": [chunk(1, "Keywords are pruned when nobody uses them.", 0.11)]}
WEB_RESULT = {
    "perplexity_result_id": "r1",
    "answer": "Hypothesis is a property-based testing library for Python. [web-2] It generates test inputs. [web-1]",
    "citations": [
        {"id": "web-1", "url": "https://h.example/", "title": "hypothesis", "snippet": "s", "date": None},
        {"id": "web-2", "url": "https://d.example/", "title": "hypothesis docs", "snippet": "s", "date": None},
    ],
    "metadata": {},
}


def test_the_search_step_searches_with_the_question(client: openai.OpenAI) -> None:
    forced = {"type": "function", "function": {"name": SEARCH}}
    completion = complete(client, conversation("When do sessions expire?"), SEARCH, tool_choice=forced)
    assert calls(completion) == [(SEARCH, {"query": "When do sessions expire?"})]
    assert completion.model == MODEL
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0


def test_a_follow_up_is_searched_with_the_topic_of_the_previous_turn(client: openai.OpenAI) -> None:
    earlier = (("user", "What does the pruning function do?"), ("assistant", "It removes unused keywords. [kb-1]"))
    [(_, arguments)] = calls(complete(client, conversation("And who may start it?", earlier=earlier), SEARCH))
    assert arguments["query"].startswith("And who may start it?")
    assert "pruning" in arguments["query"]


def test_a_covered_question_is_answered_with_quotes_and_without_the_web(client: openai.OpenAI) -> None:
    [(name, answer)] = calls(complete(client, conversation("When does a session expire?", (SEARCH, COVERED)), *DECIDE))
    assert name == ANSWER
    assert "A session expires after 90 days. [kb-1]" in answer["answer"]
    assert answer["sources"][0] == "kb-1"
    assert answer["used_internal_kb"] is True and answer["used_external_kb"] is False
    assert answer["confidence_score"] > 0.5


def test_an_uncovered_question_goes_to_the_web(client: openai.OpenAI) -> None:
    question = "What is the Hypothesis testing library for Python?"
    assert calls(complete(client, conversation(question, (SEARCH, UNCOVERED)), *DECIDE)) == [(WEB, {"query": question})]


def test_an_uncovered_question_without_the_web_is_not_answered(client: openai.OpenAI) -> None:
    messages = conversation("What is the Hypothesis testing library for Python?", (SEARCH, UNCOVERED))
    [(name, answer)] = calls(complete(client, messages, SEARCH, ANSWER))
    assert name == ANSWER
    assert "does not hold an answer" in answer["answer"]
    assert answer["sources"] == [] and answer["confidence_score"] < 0.2
    assert answer["used_internal_kb"] is False


def test_a_web_answer_is_learned_and_returned_in_one_turn(client: openai.OpenAI) -> None:
    messages = conversation(
        "What is the Hypothesis testing library for Python?", (SEARCH, UNCOVERED), (WEB, WEB_RESULT)
    )
    (index, keywords), (name, answer) = calls(complete(client, messages, INDEX, ANSWER, WEB))
    assert (index, name) == (INDEX, ANSWER)
    assert keywords["perplexity_result_id"] == "r1"
    assert 5 <= len(keywords["keywords"]) <= 8
    assert any("hypothesis" in keyword.lower() for keyword in keywords["keywords"])
    assert "Hypothesis is a property-based testing library for Python. [web-2]" in answer["answer"]
    assert answer["sources"] == ["web-2", "web-1"]
    assert answer["used_external_kb"] is True and answer["used_internal_kb"] is False


def test_without_parallel_calls_keywords_come_first_and_the_answer_next(client: openai.OpenAI) -> None:
    messages = conversation("What is Hypothesis?", (SEARCH, UNCOVERED), (WEB, WEB_RESULT))
    first = calls(complete(client, messages, INDEX, ANSWER, parallel_tool_calls=False))
    assert [name for name, _ in first] == [INDEX]
    messages = conversation("What is Hypothesis?", (SEARCH, UNCOVERED), (WEB, WEB_RESULT), (INDEX, {"indexed": []}))
    assert [name for name, _ in calls(complete(client, messages, INDEX, ANSWER))] == [ANSWER]


def test_a_failed_web_search_is_reported_and_not_retried(client: openai.OpenAI) -> None:
    failure = {"error": {"message": "down", "code": "unavailable"}}
    messages = conversation("What is the Hypothesis library?", (SEARCH, UNCOVERED), (WEB, failure))
    [(name, answer)] = calls(complete(client, messages, *DECIDE))
    assert name == ANSWER
    assert "web search gave no usable result" in answer["answer"] and answer["sources"] == []


def test_a_knowledge_base_that_cannot_be_searched_is_reported(client: openai.OpenAI) -> None:
    failure = {"error": {"message": "down", "code": "unavailable"}}
    [(_, answer)] = calls(complete(client, conversation("When do sessions expire?", (SEARCH, failure)), ANSWER))
    assert "could not be searched" in answer["answer"]


def test_a_stored_web_answer_counts_as_external_and_saves_the_web_search(client: openai.OpenAI) -> None:
    stored = chunk(
        1,
        "Hypothesis is a property-based testing library for Python.",
        0.9,
        id="web-1",
        source_type="external",
        keywords=["hypothesis", "property-based testing"],
        date="2026-11-01",
    )
    messages = conversation("What is the Hypothesis testing library?", (SEARCH, {"chunks": [stored]}))
    [(name, answer)] = calls(complete(client, messages, *DECIDE))
    assert name == ANSWER and answer["sources"] == ["web-1"]
    assert answer["used_external_kb"] is True and answer["used_internal_kb"] is False


STORED = {
    "id": "web-1",
    "content": "hypothesis: The property-based testing library for Python. With Hypothesis, you write tests which "
    "should pass for all inputs in whatever range you describe.",
    "score": 0.75,
    "source_type": "external",
    "title": "hypothesis",
    "keywords": ["testing library", "Python"],
    "date": "2026-11-01",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which testing library for Python is property-based?", ANSWER),
        ("What is the pytest testing library for Python?", WEB),
        ("How do I write a property-based test in Rust?", WEB),
    ],
)
def test_a_stored_answer_is_used_for_its_topic_but_not_for_questions_that_share_its_keywords(
    client: openai.OpenAI, question: str, expected: str
) -> None:
    messages = conversation(question, (SEARCH, {"chunks": [STORED]}))
    assert [name for name, _ in calls(complete(client, messages, *DECIDE))] == [expected]


def test_without_weights_a_stored_answer_must_contain_nearly_all_words_of_the_question() -> None:
    model = ExtractiveModel(Judge(None))
    same, other = (
        conversation(question, (SEARCH, {"chunks": [STORED]}))
        for question in ("What is the Hypothesis testing library for Python?", "What is the pytest library for Python?")
    )
    assert [call.name for call in model.next_calls(same, DECIDE)] == [ANSWER]
    assert [call.name for call in model.next_calls(other, DECIDE)] == [WEB]


def test_feedback_from_the_service_is_not_mistaken_for_the_question(client: openai.OpenAI) -> None:
    messages = conversation("When does a session expire?", (SEARCH, COVERED))
    messages.append({"role": "user", "content": "[gleaner] You did not call generate_response."})
    [(name, answer)] = calls(complete(client, messages, ANSWER))
    assert name == ANSWER and "90 days" in answer["answer"]


def test_a_question_without_a_topic_is_answered_with_the_opening_of_the_passage(client: openai.OpenAI) -> None:
    [(_, answer)] = calls(complete(client, conversation("Explain this.", (SEARCH, COVERED)), SEARCH, ANSWER))
    assert "Sessions belong to a caller. [kb-1]" in answer["answer"]


def test_every_quoted_sentence_is_in_the_passage_that_it_cites(client: openai.OpenAI) -> None:
    [(_, answer)] = calls(complete(client, conversation("When are keywords pruned?", (SEARCH, COVERED)), ANSWER))
    contents = {passage["id"]: passage["content"] for passage in COVERED["chunks"]}
    for quote in answer["answer"].split("\n\n"):
        sentence, _, mark = quote.rpartition(" [")
        assert sentence in contents[mark.rstrip("]")]


def test_the_same_request_gives_the_same_response(client: openai.OpenAI) -> None:
    messages = conversation("When does a session expire?", (SEARCH, COVERED))
    assert complete(client, messages, *DECIDE) == complete(client, messages, *DECIDE)


def test_without_tools_the_model_says_which_one_to_ask(client: openai.OpenAI) -> None:
    completion = complete(client, conversation("Hello?"))
    assert "the model gleaner" in completion.choices[0].message.content


def test_the_models_are_listed(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]


def test_a_missing_bearer_token_is_rejected(server: str) -> None:
    sdk = openai.OpenAI(api_key="local", base_url=f"{server}/v1", max_retries=0)
    with sdk, pytest.raises(openai.AuthenticationError):
        sdk.models.list(extra_headers={"Authorization": "Basic eA=="})


def test_an_unknown_model_is_not_found(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "q"}])
    assert caught.value.code == "model_not_found"


def broken_conversations() -> dict[str, list[dict[str, Any]]]:
    good = conversation("q", (SEARCH, COVERED))
    return {
        "a call without a result": good[:-1],
        "a result without a call": [*good[:2], good[3]],
        "a result given twice": [*good, good[3]],
        "a message between call and result": [*good[:3], {"role": "user", "content": "?"}, good[3]],
        "a result of another call": [*good[:3], {**good[3], "tool_call_id": "other"}],
        "an unknown role": [{"role": "wizard", "content": "q"}],
        "no messages": [],
        "an assistant that says nothing": [{"role": "user", "content": "q"}, {"role": "assistant", "content": None}],
    }


@pytest.mark.parametrize("case", broken_conversations())
def test_a_broken_conversation_is_a_bad_request(client: openai.OpenAI, case: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        complete(client, broken_conversations()[case], ANSWER)
    assert caught.value.type == "invalid_request_error"


@pytest.mark.parametrize(
    "change",
    [
        {"tool_choice": "perhaps"},
        {"tool_choice": {"type": "function", "function": {"name": "not_offered"}}},
        {"stream_options": {"include_usage": True}},
        {"stream": True, "stream_options": {"no_such_field": True}},
        {"n": 2},
        {"extra_body": {"no_such_field": 1}},
        {"tools": []},
    ],
)
def test_an_unsupported_or_unknown_value_is_a_bad_request(client: openai.OpenAI, change: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError):
        complete(client, conversation("q"), SEARCH, **change)


def test_tool_choice_needs_tools(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="tool_choice"):
        complete(client, conversation("q"), tool_choice="required")
