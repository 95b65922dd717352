"""The routes that show learned keywords."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest

from gleaner.api import _cursors
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keywords import KeywordStore
from gleaner_local.aws import ministack
from tests.conftest import Client, limit_callers, make_api, proxy_event
from tests.keyword_fixtures import web_answer


@pytest.fixture
def learn(settings: dict[str, str]) -> Any:
    """Indexes keywords."""
    table = Table(ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"]), settings["KEYWORDS_TABLE"])
    store = KeywordStore(table, KeywordLayout(table))

    def index(*keywords: str, query_id: str = "Q1", answer: Any = None, kb_id: str = "default_kb") -> None:
        use = KeywordUse(kb_id=kb_id, query_id=query_id, session_id="S1", answer=answer)
        store.index(keywords, use, deadline=Deadline.after(30))

    return index


def list_keywords(client: Client, caller: str = "local", **query: Any) -> tuple[int, Any]:
    texts = {name: str(value) for name, value in query.items()}
    multi_value = {name: [value] for name, value in texts.items()}
    return client.request(
        "GET",
        "/api/keywords",
        caller=caller,
        queryStringParameters=texts or None,
        multiValueQueryStringParameters=multi_value or None,
    )


def test_callers_see_only_keywords_of_knowledge_bases_they_may_use(settings: dict[str, str], learn: Any) -> None:
    learn(*[f"secret plan {number}" for number in range(9)], query_id="Q1")
    learn("cell membranes", query_id="Q2", kb_id="biology")
    learn("osmosis", "secret plan 1", query_id="Q3", kb_id="biology")
    limit_callers(settings, {"key:bob": ["biology"]})
    client = Client(make_api(settings))

    def texts(caller: str, **query: Any) -> set[str]:
        status, page = list_keywords(client, caller, limit=100, **query)
        assert status == 200
        return {keyword["keyword_text"] for keyword in page["keywords"]}

    own = {"cell membranes", "osmosis", "secret plan 1"}
    assert texts("bob") == texts("bob", kb_id="biology") == texts("local", kb_id="biology") == own
    assert len(texts("local")) == 11
    assert len(texts("local", kb_id="default_kb")) == 9
    for query in ({"kb_id": "default_kb"}, {"kb_id": "default_kb", "q": "secret"}):
        status, problem = list_keywords(client, "bob", **query)
        assert (status, problem["type"]) == (403, "urn:gleaner:problem:not-allowed")


def test_the_list_is_empty_at_first(client: Client) -> None:
    assert list_keywords(client) == (200, {"keywords": [], "next_cursor": None})


def test_pages_list_every_keyword_once_most_recent_first(client: Client, learn: Any) -> None:
    for start in range(0, 50, 10):
        learn(*[f"topic w{number:02d}" for number in range(start, start + 10)], query_id=f"Q{start}")
    keywords: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        status, page = list_keywords(client, limit=7, **cursor)
        assert status == 200 and 0 < len(page["keywords"]) <= 7
        keywords += page["keywords"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(item["keyword_text"] for item in keywords) == [f"topic w{number:02d}" for number in range(50)]
    times = [item["last_used_at"] for item in keywords]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("q", ["", " ", "\t"])
def test_a_blank_query_lists_all_keywords(client: Client, learn: Any, q: str) -> None:
    learn("alpha", "beta")
    assert list_keywords(client, q=q) == list_keywords(client)
    assert len(list_keywords(client, q=q)[1]["keywords"]) == 2


def test_a_query_finds_keywords_by_their_words(client: Client, learn: Any) -> None:
    learn("quantum computing applications", "Python packaging")
    status, page = list_keywords(client, q="QUANTUM apps")
    assert status == 200
    [keyword] = page["keywords"]
    assert keyword["keyword_text"] == "quantum computing applications"
    assert (keyword["usage_count"], keyword["status"]) == (1, "active")


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c[:-2],
        lambda c: ("A" if c[0] != "A" else "B") + c[1:],
        lambda c: c + "A",
        lambda _: "x",
        lambda _: "%",
    ],
)
def test_a_tampered_cursor_is_refused(client: Client, learn: Any, change: Any) -> None:
    learn("topic one", "topic two", "topic three")
    _, page = list_keywords(client, limit=1)
    status, problem = list_keywords(client, limit=1, cursor=change(page["next_cursor"]))
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:invalid-cursor")


def test_a_cursor_is_only_valid_for_its_own_list(client: Client, learn: Any) -> None:
    learn("topic one", "topic two")
    _, page = list_keywords(client, limit=1)
    status, problem = list_keywords(client, q="topic", limit=1, cursor=page["next_cursor"])
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:invalid-cursor")


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 101}, {"limit": "x"}, {"kb_id": "A#"}, {"q": "x" * 2001}])
def test_bad_parameters_are_named(client: Client, query: dict[str, Any]) -> None:
    status, problem = list_keywords(client, **query)
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:validation-failed")
    assert problem["errors"][0]["field"] == next(iter(query))


def test_admins_see_a_keyword_with_its_associations_and_answers(client: Client, learn: Any) -> None:
    learn("Quantum computing", answer=web_answer())
    _, page = list_keywords(client)
    path = f"/api/keywords/{page['keywords'][0]['keyword_id']}"
    status, details = client.request("GET", path, caller="admin")
    assert status == 200
    assert details["keyword"]["keyword_text"] == "Quantum computing"
    [association] = details["associations"]
    assert (association["query_id"], association["session_id"]) == ("Q1", "S1")
    [answer] = details["answers"]
    assert answer["query"] == web_answer().query
    assert answer["citations"][0]["url"] == "https://q.example/a"


def test_only_the_newest_long_answers_that_fit_are_shown(client: Client, learn: Any) -> None:
    now = utc_now()
    for number in range(9):
        long_answer = web_answer(f"R{number}", answer="𝄞" * 50_000, created_at=now + timedelta(seconds=number))
        learn("Clefs", query_id=f"Q{number}", answer=long_answer)
    [keyword] = list_keywords(client)[1]["keywords"]
    event = proxy_event("GET", f"/api/keywords/{keyword['keyword_id']}", "admin")
    response = client.send(event)
    assert len(json.dumps(response).encode()) < 6_291_556  # bytes; Lambda refuses more
    result_ids = [answer["perplexity_result_id"] for answer in json.loads(response["body"])["answers"]]
    assert result_ids == [f"R{8 - index}" for index in range(len(result_ids))] and 1 < len(result_ids) < 9


@pytest.mark.parametrize(("keyword", "status"), [("0" * 32, 404), ("nope", 400)])
def test_unknown_and_malformed_keyword_ids_are_refused(client: Client, keyword: str, status: int) -> None:
    actual, problem = client.request("GET", f"/api/keywords/{keyword}", caller="admin")
    assert actual == status and problem["detail"]


def test_other_methods_are_refused(client: Client) -> None:
    assert client.request("PUT", "/api/keywords")[0] == 405
    assert client.request("PUT", f"/api/keywords/{'0' * 32}")[0] == 405


@pytest.mark.parametrize("payload", ["5", "[1, 2]", '["a"]', "[]", '{"a": 1}', '["a", "b", "c"]', "[" * 10_000])
@pytest.mark.parametrize("q", [None, "topic"])
def test_a_forged_cursor_is_refused(client: Client, payload: str, q: str | None) -> None:
    scope = ("/api/keywords", "recent") if q is None else ("/api/keywords", "found", q, "default_kb")
    raw = payload.encode()
    cursor = base64.urlsafe_b64encode(_cursors._check(raw, scope) + raw).decode().rstrip("=")[:1000]
    status, problem = list_keywords(client, cursor=cursor, **({} if q is None else {"q": q}))
    assert (status, problem["type"]) == (400, "urn:gleaner:problem:invalid-cursor")
