"""Bad input is answered with a problem that says how to fix it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

import pytest
from starlette.responses import JSONResponse

from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

CHAT = "/api/chat/query"


@pytest.mark.parametrize(
    "body", [None, "", "not json", "[1", '"x"', "[]", '[{"query": "x"}]', "[" * 100_000, '{"query": NaN}']
)
def test_a_missing_or_malformed_body_is_refused(client: Client, body: Any) -> None:
    status, problem = client.post(CHAT, body)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert problem["detail"] and problem["query_id"] and problem["errors"][0]["field"] in ("body", "query")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": None}, "query"),
        ({"query": 7}, "query"),
        ({"query": ["x"]}, "query"),
        ({"query": ""}, "query"),
        ({"query": " \n\t"}, "query"),
        ({"query": "\u0000\u202e"}, "query"),
        ({"query": "x" * 50_001}, "query"),
        ({"query": "x", "session_id": "nope"}, "session_id"),
        ({"query": "x", "session_id": 3}, "session_id"),
        ({"query": "x", "kb_id": "a#b"}, "kb_id"),
        ({"query": "x", "kb_id": "x" * 200}, "kb_id"),
        ({"query": "x", "grounding": "loose"}, "grounding"),
        ({"query": "x", "surprise": 1}, "surprise"),
    ],
)
def test_invalid_fields_are_named(client: Client, body: Any, field: str) -> None:
    status, problem = client.post(CHAT, body)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert problem["errors"][0]["field"] == field
    assert problem["errors"][0]["message"]


# Mistakes in each field, and the words that say how to fix them.
WORDS = [
    ("POST", CHAT, "not json", "body", "must be one JSON object"),
    ("POST", CHAT, "[]", "body", "must be one JSON object"),
    ("POST", CHAT, {}, "query", "is missing"),
    ("POST", CHAT, {"query": 7}, "query", "must be a string"),
    ("POST", CHAT, {"query": " "}, "query", "must not be empty"),
    ("POST", CHAT, {"query": "x" * 50_001}, "query", "must have at most 50,000 characters"),
    ("POST", CHAT, {"query": "x", "top": 1}, "top", "is not a field of this request; leave it out or fix its spelling"),
    ("POST", CHAT, {"query": "x", "mode": "y"}, "mode", "must be whole_book or selected_text"),
    ("POST", CHAT, {"query": "x", "session_id": "nope"}, "session_id", "must be an id from an earlier response"),
    ("POST", CHAT, {"query": "x", "kb_id": "A"}, "kb_id", "must be 1 to 63 lowercase letters, digits, hyphens and"),
    ("POST", CHAT, {"query": "x", "kb_id": "\ud800"}, "kb_id", "must be a string of valid Unicode characters"),
    ("POST", CHAT, {"query": "x", "selected_text": "y"}, "body", "the mode selected_text and the field selected_text"),
    ("POST", CHAT, {"query": "x", "chapter_origin": "y"}, "body", "requires the field selected_text"),
    ("POST", "/api/sessions", {"metadata": {"a": 1}}, "metadata.a", "must be a string"),
    ("POST", "/api/sessions", {"metadata": []}, "metadata", "must be an object whose values are strings"),
    (
        "POST",
        "/api/sessions",
        {"metadata": dict.fromkeys("abcdefghijklmnopqrstu", "")},
        "metadata",
        "at most 20 entries",
    ),
    ("POST", "/api/keywords/prune", {"dry_run": "yes"}, "dry_run", "must be true or false"),
    ("POST", "/api/keywords/prune", {"min_usage": 1.5}, "min_usage", "must be a whole number"),
    ("POST", "/api/keywords/prune", {"max_age_days": "x"}, "max_age_days", "must be a number"),
    ("POST", "/api/keywords/prune", '{"max_age_days": 1e999}', "max_age_days", "must be at most 36,500"),
    ("POST", "/api/keywords/prune", {"max_age_days": 0}, "max_age_days", "must be at least 0.000000001"),
    ("GET", "/api/keywords?limit=0", None, "limit", "must be at least 1"),
    ("GET", "/api/keywords?limit=many", None, "limit", "must be a whole number"),
    ("GET", f"/api/keywords?limit={'9' * 5_000}", None, "limit", "must be a whole number"),
    ("GET", "/api/keywords?limit=1&limit=2", None, "limit", "must be given once"),
    ("GET", "/api/keywords/x", None, "keyword_id", "must be a keyword id from a list"),
    ("GET", f"/api/keywords?cursor={'x' * 1_001}", None, "cursor", "must have at most 1,000 characters"),
]


@pytest.mark.parametrize(("method", "path", "body", "field", "words"), WORDS)
def test_a_message_says_how_to_fix_the_field(
    client: Client, method: str, path: str, body: Any, field: str, words: str
) -> None:
    path, _, text = path.partition("?")
    query = parse_qs(text)
    event: dict[str, Any] = {"body": body if isinstance(body, str | None) else json.dumps(body)}
    event |= {
        "multiValueQueryStringParameters": query,
        "queryStringParameters": {name: query[name][-1] for name in query},
    }
    status, problem = client.request(method, path, caller="admin", **event)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    [error] = problem["errors"]
    assert error["field"] == field and words in error["message"]
    assert problem["detail"] == f"{field}: {error['message']}"


def test_an_unknown_knowledge_base_is_a_404(client: Client) -> None:
    status, problem = client.ask(kb_id="nowhere")
    assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-knowledge-base")


def test_unknown_routes_and_methods_are_refused(client: Client) -> None:
    status, problem = client.request("GET", "/api/nothing")
    assert (status, problem["type"]) == (404, "urn:gleaner:problem:not-found")
    for path in (CHAT, f"{CHAT}/"):
        status, problem = client.request("GET", path)
        assert (status, problem["type"]) == (405, "urn:gleaner:problem:method-not-allowed")


@pytest.mark.parametrize("session_id", ["\x84", "a\nb", '"', "a#b", "%2F"])
def test_an_id_with_invalid_characters_is_not_a_405(client: Client, session_id: str) -> None:
    for method in ("GET", "DELETE"):
        assert client.request(method, f"/api/sessions/{session_id}")[0] in (400, 404)


@pytest.mark.parametrize("path", [CHAT, "/api/sessions"])
@pytest.mark.parametrize(
    "content_type",
    [
        "text/xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        " Multipart/Form-Data",
        "application/jsonp",
        "application/json-patch+json; charset=utf-8",
        "json",
    ],
)
def test_other_content_types_are_refused(client: Client, path: str, content_type: str) -> None:
    status, problem = client.post(path, "", headers={"Content-Type": content_type})
    assert (status, problem["type"]) == (415, "urn:gleaner:problem:unsupported-media-type")


@pytest.mark.parametrize("path", [CHAT, "/api/sessions", f"/api/sessions/{'0' * 26}/chat"])
@pytest.mark.parametrize("body", ["[" * 2_000_001, '{"query": "' + "x" * 2_000_000 + '"}'])
def test_an_oversized_body_never_reaches_the_model(client: Client, model: ScriptedModel, path: str, body: str) -> None:
    model.plays(calls(search()), calls(answer()))
    status, problem = client.post(path, body)
    assert (status, problem["type"]) == (413, "urn:gleaner:problem:payload-too-large")
    assert "2,000,000" in problem["detail"] and not model.requests


def test_the_longest_valid_question_is_accepted_when_fully_escaped(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer("A [kb-1]", ("kb-1",))))
    body = {"query": "𝔘" * 50_000, "mode": "selected_text", "selected_text": "keys 𝔘" + "𝔘" * 99_994}
    status, _ = client.post(CHAT, json.dumps(body, ensure_ascii=True))
    assert status == 200


def test_only_the_first_errors_are_reported(client: Client) -> None:
    body = {"query": "x", **{f"{number}" + "a" * 5_000: 1 for number in range(100)}}
    status, problem = client.post(CHAT, body)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert len(problem["errors"]) == 20 and problem["detail"].endswith("; and 80 more")
    assert len(json.dumps(problem)) < 20_000


@pytest.mark.parametrize(
    "body",
    [
        {"query": "x" * 50_001},
        {"query": "x", "mode": "selected_text", "selected_text": "x" * 100_001},
        {"query": "x", "chapter_origin": "x" * 201},
        {"query": "x", "kb_id": "x" * 64},
        {"query": "x", "session_id": "0" * 27},
    ],
)
def test_overlong_fields_never_reach_the_model(client: Client, model: ScriptedModel, body: Any) -> None:
    model.plays(calls(search()), calls(answer()))
    status, problem = client.post(CHAT, body)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert not model.requests


def test_a_query_of_full_length_with_any_characters_is_accepted(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    status, _ = client.ask("𝔘 \ud800" + "x" * 49_990)
    assert status == 200


@pytest.mark.parametrize(
    ("reply", "status", "slug"),
    [
        (
            JSONResponse({"error": {"message": "bad secret-openai-key"}}, status_code=401),
            503,
            "model-unavailable",
        ),
        (JSONResponse({"error": {"message": "boom"}}, status_code=500), 503, "model-unavailable"),
        (JSONResponse({"error": {"message": "boom"}}), 503, "model-unavailable"),
        (
            JSONResponse({"error": {"message": "long", "code": "context_length_exceeded"}}, status_code=400),
            413,
            "context-too-long",
        ),
    ],
)
def test_a_failing_model_reveals_neither_key_nor_traceback(
    client: Client, model: ScriptedModel, reply: Any, status: int, slug: str
) -> None:
    model.plays(reply)
    actual, problem = client.ask()
    assert (actual, problem["type"]) == (status, f"urn:gleaner:problem:{slug}")
    assert "secret" not in str(problem) and "Traceback" not in str(problem)


def test_health(client: Client) -> None:
    assert client.request("GET", "/api/health") == (200, {"status": "ok"})
