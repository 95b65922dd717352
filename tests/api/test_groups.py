"""Documents of some groups: nobody else finds, reads or lists them, nor what was learned from them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gleaner.clients import pinecone
from gleaner.groups import NOBODY, may_read
from gleaner.model import Place, Record
from gleaner.passage_ids import encode_document, encode_passage
from gleaner.runtime.deadline import Deadline
from gleaner_local.index.embedded import EmbeddedIndex
from tests.conftest import Client, limit_callers, make_api, open_access
from tests.doubles import mcp_calls
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.examples import examples
from tests.keyword_fixtures import heads_of

CHAT = "/api/chat/query"
QUESTION = "What is quantum computing used for?"
PAGE = result(1, "https://q.example/a", "Quantum computing")
LEARNED = "used for chemistry"
FORGED = {"filter": {}, "groups": ["hr", "board", "staff"], "acl": ["hr"], "caller": "admin", "owner": None}
GROUPS = ("hr", "board", "staff")
_numbers = count()


def member(name: str, *groups: str) -> dict[str, Any]:
    """The event of a user of a Cognito pool, in these groups."""
    payload = base64.urlsafe_b64encode(json.dumps({"cognito:groups": groups}).encode()).decode().rstrip("=")
    claims = {"sub": name} | ({"cognito:groups": ",".join(groups)} if groups else {})
    headers = {"content-type": ["application/json"], "authorization": [f"a.{payload}.c"]}
    return {"requestContext": {"authorizer": {"claims": claims}}, "multiValueHeaders": headers}


def get(client: Client, path: str, who: dict[str, Any], **parameters: str) -> tuple[int, Any]:
    many = {name: [value] for name, value in parameters.items()} or None
    return client.request("GET", path, **who, multiValueQueryStringParameters=many)


@dataclass(frozen=True, slots=True)
class Shelf:
    """A knowledge base of its own, with documents that have one word each that no other has."""

    kb_id: str
    groups: dict[str, Any]  # by document; what is no list of names is what a record may carry by mistake

    def record(self, document: str) -> Record:
        groups = self.groups[document]
        return Record(
            id=f"{document}#0",
            text=f"The budget plan mentions {self.word(document)}.",
            title=f"Title {self.word(document)}",
            source_file_path=f"docs/{document}.md",
            chunk_index=0,
            content_hash="h",
            groups=tuple(groups) if isinstance(groups, list) else NOBODY,
        )

    def word(self, document: str) -> str:
        return f"marker{self.kb_id[2:]}x{document[8:]}"

    def fill(self, host: str, embedded: EmbeddedIndex) -> Shelf:
        records = [self.record(document) for document in self.groups]
        pinecone.connect(host=host, api_key=lambda: "k").upsert(self.kb_id, records, timeout=20)
        for document, groups in self.groups.items():
            if not isinstance(groups, list):
                [stored] = embedded.fetch(self.kb_id, [f"{document}#0"])
                embedded.upsert(self.kb_id, [(stored.id, stored.fields | {"acl": groups})])
        return self

    def words_for(self, *own: str) -> set[str]:
        """The words that a member of these groups may see."""
        return {self.word(one) for one in self.groups if may_read(self.record(one).groups, own)}

    def words_in(self, text: Any) -> set[str]:
        said = str(text)
        return {self.word(one) for one in self.groups if self.word(one) in said or self.record(one).id[:-2] in said}


ACLS = st.one_of(
    st.just([]),
    st.lists(st.sampled_from(GROUPS), min_size=1, max_size=3, unique=True),
    st.sampled_from(["hr", "", 7, True]),  # a record that another program wrote
)
SHELVES = st.lists(ACLS, min_size=1, max_size=7).map(
    lambda acls: Shelf(f"kb{next(_numbers)}", {f"document{number}": acl for number, acl in enumerate(acls)})
)


def walk(client: Client, who: dict[str, Any], kb_id: str) -> Iterator[Any]:
    """The pages of the list of documents, one document each, with what their cursors hold."""
    cursor: dict[str, str] = {}
    while True:
        status, page = get(client, "/api/documents", who, kb_id=kb_id, limit="1", **cursor)
        assert status == 200, page
        yield page["documents"]
        if not (following := page["next_cursor"]):
            return
        yield base64.urlsafe_b64decode(following + "=" * (-len(following) % 4))
        cursor = {"cursor": following}


def check(
    client: Client, model: ScriptedModel, host: str, embedded: EmbeddedIndex, shelf: Shelf, own: set[str], **more: Any
) -> None:
    """Whatever the model asks for: a caller of these groups gets all that is for it, and nothing else."""
    shelf.fill(host, embedded)
    who, visible = member("u1", *sorted(own)), shelf.words_for(*own)
    model.plays(
        calls(search("budget plan", top_k=20, kb_id=shelf.kb_id, **FORGED)),
        calls(search(f"Title {' '.join(map(shelf.word, shelf.groups))}", top_k=20)),
        calls(answer("It is a plan. [kb-1]" if visible else "Nothing says so.", ("kb-1",) if visible else ())),
    )
    body = {"query": "What does the budget plan mention?", "kb_id": shelf.kb_id}
    status, answered = client.post(CHAT, body | more, **who)
    assert status == 200, answered
    assert shelf.words_in(model.requests[1]) == visible
    assert shelf.words_in(answered) <= visible
    assert shelf.words_in(list(walk(client, who, shelf.kb_id))) == visible
    for document in shelf.groups:
        record, is_visible = shelf.record(document), shelf.word(document) in visible
        passage = encode_passage(Place(kb_id=shelf.kb_id, key=record.id), record.text)
        for path in (f"/api/passages/{passage}", f"/api/documents/{encode_document(document)}"):
            status, shown = get(client, path, who, kb_id=shelf.kb_id)
            assert (status, shelf.words_in(shown)) == ((200, {shelf.word(document)}) if is_visible else (404, set()))


@pytest.mark.parametrize("own", [set(), {"hr"}])
def test_nothing_of_other_groups_is_found_read_or_listed(
    client: Client,
    model: ScriptedModel,
    shared_settings: dict[str, str],
    embedded_index: EmbeddedIndex,
    own: set[str],
) -> None:
    acls = [["hr"], [], ["board", "staff"], "hr", ["hr", "board"], []]
    shelf = Shelf(f"kb{next(_numbers)}", {f"document{number}": acl for number, acl in enumerate(acls)})
    check(client, model, shared_settings["PINECONE_INDEX_HOST"], embedded_index, shelf, own)


@pytest.mark.slow
@given(shelf=SHELVES, own=st.sets(st.sampled_from(GROUPS)), is_strict=st.booleans())
@hypothesis_settings(max_examples=examples(20, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_nothing_of_any_other_groups_is_found_read_or_listed(
    client: Client,
    model: ScriptedModel,
    shared_settings: dict[str, str],
    embedded_index: EmbeddedIndex,
    shelf: Shelf,
    own: set[str],
    is_strict: bool,
) -> None:
    strictness = {"grounding": "strict"} if is_strict else {}
    check(client, model, shared_settings["PINECONE_INDEX_HOST"], embedded_index, shelf, own, **strictness)


def test_the_tools_of_mcp_and_the_door_of_openai_keep_to_the_groups(
    client: Client, model: ScriptedModel, shared_settings: dict[str, str], embedded_index: EmbeddedIndex
) -> None:
    shelf = Shelf("kb-mcp", {"document0": ["hr"], "document1": [], "document2": ["board", "staff"], "document3": ["x"]})
    shelf.fill(shared_settings["PINECONE_INDEX_HOST"], embedded_index)
    for own in ((), ("hr",), ("hr", "staff")):
        who, visible = member("u1", *own), shelf.words_for(*own)
        headers = {"authorization": who["multiValueHeaders"]["authorization"][0]}

        def call(name: str, **arguments: Any) -> Any:
            message = mcp_calls.request("tools/call", _meta=mcp_calls.META, name=name, arguments=arguments)
            sent = {"MCP-Protocol-Version": mcp_calls.NOW, "Mcp-Method": "tools/call", "Mcp-Name": name}
            context = {"requestContext": who["requestContext"]}  # noqa: B023 - called within the loop
            status, body = mcp_calls.post(client, message, headers | sent, **context)  # noqa: B023
            assert status == 200, body
            return body["result"]

        found = call("search", query="budget plan", kb_id=shelf.kb_id)
        assert shelf.words_in(found) == visible
        for document in shelf.groups:
            record = shelf.record(document)
            for fetch_id in (
                encode_passage(Place(kb_id=shelf.kb_id, key=record.id), record.text),
                f"document/{shelf.kb_id}/{document}",
            ):
                fetched = call("fetch", id=fetch_id)
                assert bool(fetched.get("isError")) == (shelf.word(document) not in visible)
                assert shelf.words_in(fetched.get("structuredContent")) <= visible
        model.plays(calls(search("budget plan", top_k=20, **FORGED)), calls(answer("A plan. [kb-1]")))
        asked = {"model": f"gleaner:{shelf.kb_id}", "messages": [{"role": "user", "content": "Which budget plan?"}]}
        status, completed = client.post("/v1/chat/completions", asked, **who)
        assert status == 200, completed
        assert shelf.words_in(model.requests[1]) == visible


def test_an_admin_reads_all_by_its_address_and_finds_no_more_than_others(
    client: Client, model: ScriptedModel, shared_settings: dict[str, str], embedded_index: EmbeddedIndex
) -> None:
    shelf = Shelf("kb-admin", {"document0": ["hr"], "document1": [], "document2": "hr"})
    shelf.fill(shared_settings["PINECONE_INDEX_HOST"], embedded_index)
    admin = member("root", "admin")
    _, page = get(client, "/api/documents", admin, kb_id=shelf.kb_id)
    assert [one["groups"] for one in page["documents"]] == [["hr"], None, [""]]
    assert get(client, "/api/documents/document0", admin, kb_id=shelf.kb_id)[0] == 200
    model.plays(calls(search("budget plan", top_k=20)), calls(answer("A plan. [kb-1]")))
    client.post(CHAT, {"query": "Which budget plan?", "kb_id": shelf.kb_id}, **admin)
    assert shelf.words_in(model.requests[1]) == {shelf.word("document1")}


def test_the_access_table_gives_groups_to_callers_without_a_pool(
    settings: dict[str, str], shared_settings: dict[str, str], embedded_index: EmbeddedIndex, model: ScriptedModel
) -> None:
    shelf = Shelf("kb-keys", {"document0": ["hr"], "document1": []})
    shelf.fill(shared_settings["PINECONE_INDEX_HOST"], embedded_index)
    limit_callers(settings, {"key:mary": [shelf.kb_id], "cognito:u1": [shelf.kb_id]})
    for subject in ("key:mary", "cognito:u1"):
        assert open_access(settings).add_groups(subject, frozenset(("hr",)), deadline=Deadline.after(20))
    client = Client(make_api(settings))
    for event in ({"caller": "mary"}, member("u1", "staff"), {"caller": "eve"}):
        status, page = get(client, "/api/documents", event, kb_id=shelf.kb_id)
        seen = {shelf.word("document1")} | (set() if event == {"caller": "eve"} else {shelf.word("document0")})
        assert (status, shelf.words_in(page)) == (200, seen)


def test_callers_whose_groups_cannot_be_told_get_nothing_of_a_group(client: Client) -> None:
    who = member("u1", "hr", "board")
    who["requestContext"]["authorizer"]["claims"]["cognito:groups"] = "hr,board,other"
    assert get(client, "/api/documents", who)[0] == 403


@pytest.fixture
def shelf(shared_settings: dict[str, str], embedded_index: EmbeddedIndex) -> Shelf:
    """Two documents that are for one group in common, one for another group, and one for all."""
    acls = {"document0": ["hr", "board"], "document1": ["hr"], "document2": ["staff"], "document3": []}
    return Shelf(f"kb{next(_numbers)}", acls).fill(shared_settings["PINECONE_INDEX_HOST"], embedded_index)


def learn(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, who: dict[str, Any], **more: Any
) -> Any:
    """Ask what documents and the web answer; the model learns a keyword from it."""
    web.finds("Quantum computing is used for chemistry. [1]", PAGE)
    model.plays(
        calls(search("budget plan", top_k=20)),
        calls(web_search(QUESTION)),
        calls(index("quantum computing"), answer("It is used for chemistry. [web-1]", ("web-1",))),
    )
    status, body = client.post(CHAT, {"query": QUESTION, "kb_id": shelf.kb_id} | more, **who)
    assert status == 200, body
    return body


def finds(client: Client, model: ScriptedModel, shelf: Shelf, who: dict[str, Any]) -> bool:
    model.plays(calls(search(QUESTION)), calls(answer("Nothing fits.", ())))
    assert client.post(CHAT, {"query": QUESTION, "kb_id": shelf.kb_id}, **who)[0] == 200
    return LEARNED in str(model.requests[1])


def listed(client: Client, who: dict[str, Any], shelf: Shelf, **query: str) -> set[str]:
    status, page = get(client, "/api/keywords", who, kb_id=shelf.kb_id, **query)
    assert status == 200
    return {keyword["keyword_text"] for keyword in page["keywords"]}


def test_what_was_learned_beside_restricted_passages_is_for_those_who_may_read_them_all(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, items: Any
) -> None:
    ann = member("ann", "hr")
    learned = learn(client, model, web, shelf, ann)
    [stored] = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
    assert stored["acl"] == ["hr"]
    others = {"hr": member("bob", "hr"), "board": member("eve", "board"), "none": member("joe")}
    assert {name: finds(client, model, shelf, who) for name, who in others.items()} == {
        "hr": True,
        "board": False,
        "none": False,
    }
    path = learned["sources"][0]["passage_url"]
    assert [get(client, path, who)[0] for who in (ann, *others.values())] == [200, 200, 404, 404]


def test_keywords_of_restricted_questions_are_listed_to_those_who_caused_them(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, items: Any
) -> None:
    for name in ("ann", "bob", "joe", "kim"):
        learn(client, model, web, shelf, member(name, "hr"))
    keyword = {"quantum computing"}
    for query in ({}, {"q": "quantum"}):
        assert listed(client, member("ann", "hr"), shelf, **query) == keyword
        assert listed(client, member("eve", "hr"), shelf, **query) == set()
        assert listed(client, member("out"), shelf, **query) == set()
    [head] = heads_of(items("KEYWORDS_TABLE"))
    assert get(client, f"/api/keywords/{head['keyword_id']}", member("eve", "hr"))[0] == 404
    status, details = get(client, f"/api/keywords/{head['keyword_id']}", member("ann"))
    assert (status, details["answers"]) == (200, [])  # the caller left the group
    session = learn(client, model, web, shelf, member("ann", "hr"))["session_id"]
    assert client.request("DELETE", f"/api/sessions/{session}", **member("ann", "hr"))[0] == 204
    assert listed(client, member("eve", "hr"), shelf) == set()


@pytest.mark.parametrize("learning", ["shared", "caller"])
def test_nothing_is_learned_where_no_group_may_read_all_that_was_seen(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, items: Any, learning: str
) -> None:
    client = Client(make_api(settings | {"LEARNING": learning}))
    learn(client, model, web, shelf, member("ann", "hr", "staff"))
    assert items("KEYWORDS_TABLE") == []


def test_private_answers_are_lost_with_the_group_that_they_rest_on(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb, shelf: Shelf
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    learn(client, model, web, shelf, member("ann", "hr"))
    found = [finds(client, model, shelf, who) for who in (member("ann", "hr"), member("bob", "hr"), member("ann"))]
    assert found == [True, False, False]


def test_a_follow_up_learns_no_more_openly_than_the_turns_before_it(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, items: Any
) -> None:
    ann = member("ann", "hr")
    model.plays(calls(search("budget plan", top_k=20)), calls(answer("A plan. [kb-1]")))
    status, first = client.post(CHAT, {"query": "Which budget plan?", "kb_id": shelf.kb_id}, **ann)
    assert status == 200
    for session_id, acl in ((None, None), (first["session_id"], ["hr"])):
        web.finds("Quantum computing is used for chemistry. [1]", PAGE)
        model.plays(
            calls(search("nothing like it")),
            calls(web_search(QUESTION)),
            calls(index("quantum computing"), answer("It is used for chemistry. [web-1]", ("web-1",))),
        )
        body = {"query": QUESTION, "kb_id": shelf.kb_id, "session_id": session_id, "fresh": True}
        status, answered = client.post(CHAT, body, **ann)
        assert status == 200, answered
        answers = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
        assert max(answers, key=lambda item: item["created_at"]).get("acl") == acl


def test_messages_that_the_client_sends_teach_nothing_where_they_may_rest_on_groups(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf, items: Any
) -> None:
    earlier = [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "The plan is secret."}]
    body = {"model": f"gleaner:{shelf.kb_id}", "messages": [*earlier, {"role": "user", "content": QUESTION}]}
    for who in (member("ann", "hr"), member("joe")):
        web.finds("Quantum computing is used for chemistry. [1]", PAGE)
        model.plays(
            calls(search("nothing like it")),
            calls(web_search(QUESTION)),
            calls(index("quantum computing"), answer("It is used for chemistry. [web-1]", ("web-1",))),
        )
        assert client.post("/v1/chat/completions", body, **who)[0] == 200
        stored = [item for item in items("KEYWORDS_TABLE") if item["sk"] == "ANSWER"]
        assert len(stored) == (0 if who == member("ann", "hr") else 1)


def test_an_open_answer_gets_no_keywords_of_a_question_that_saw_a_group_since(
    client: Client, model: ScriptedModel, web: ScriptedWeb, shelf: Shelf
) -> None:
    web.finds("Quantum computing is used for chemistry. [1]", PAGE)
    model.plays(
        calls(search("nothing like it")),
        calls(web_search(QUESTION)),
        calls(index("quantum computing")),
        calls(search("budget plan", top_k=20)),
        calls(index("quantum chemistry"), answer("It is used for chemistry. [web-1]", ("web-1",))),
    )
    ann = member("ann", "hr")
    assert client.post(CHAT, {"query": QUESTION, "kb_id": shelf.kb_id}, **ann)[0] == 200
    assert listed(client, ann, shelf) == {"quantum computing"}


def test_an_answer_is_not_sent_again_to_a_caller_who_lost_a_group(
    client: Client, model: ScriptedModel, shelf: Shelf
) -> None:
    def ask(*groups: str) -> Any:
        model.plays(calls(search("budget plan", top_k=20)), calls(answer("A plan. [kb-1]")))
        who = member("ann", *groups)
        headers = who["multiValueHeaders"] | {"idempotency-key": ["key-1"]}
        single = {name: values[0] for name, values in headers.items()}
        body = {"query": "Which budget plan?", "kb_id": shelf.kb_id}
        status, answered = client.post(CHAT, body, **who | {"multiValueHeaders": headers, "headers": single})
        assert status == 200
        return answered

    first = ask("hr", "staff")
    assert ask("staff", "hr") == first
    again = ask()
    assert again["query_id"] != first["query_id"]
    assert shelf.words_in(again) <= shelf.words_for()


def test_an_index_that_does_not_filter_gives_nothing_away(
    client: Client, model: ScriptedModel, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("gleaner_local.servers.pinecone_server.parse_filter", lambda _filter: None)
    model.plays(calls(search("budget plan", top_k=20)), calls(answer("A plan. [kb-1]")))
    assert client.post(CHAT, {"query": "Which budget plan?", "kb_id": shelf.kb_id}, **member("joe"))[0] == 200
    assert shelf.words_in(model.requests[1]) == shelf.words_for()
    [record] = [one for one in caplog.records if "other groups" in one.message]
    assert shelf.words_in(record.__dict__) == set()
