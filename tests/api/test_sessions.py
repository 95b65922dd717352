"""Conversations through the API: sessions, turns, history, deletion and ownership."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.responses import JSONResponse

from gleaner.api import _cursors
from gleaner.model import Answered, TokenUsage, new_id, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import Turn, TurnFacts
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.dynamodb import Table
from gleaner.stores.learned_deletion import LearnedDeletion
from gleaner.stores.session_deletion import SessionDeletion
from gleaner_local.aws import ministack
from tests.conftest import Client, make_api, open_tool_calls, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

PATH = "/api/sessions"


@pytest.fixture
def store(settings: dict[str, str]) -> ConversationStore:
    client = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    return ConversationStore(Table(client, settings["CONVERSATIONS_TABLE"]))


def begin(client: Client, caller: str = "local", **body: Any) -> dict[str, Any]:
    status, session = client.post(PATH, body, caller=caller)
    assert status == 201
    return dict(session)


def get(client: Client, path: str, caller: str = "local", **query: Any) -> tuple[int, Any]:
    texts = {name: str(value) for name, value in query.items()}
    multi_value = {name: [value] for name, value in texts.items()}
    return client.request(
        "GET",
        path,
        caller=caller,
        queryStringParameters=texts or None,
        multiValueQueryStringParameters=multi_value or None,
    )


def all_pages(client: Client, path: str, name: str, limit: int) -> list[Any]:
    entries: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        status, page = get(client, path, limit=limit, **cursor)
        assert status == 200 and len(page[name]) <= limit
        entries += page[name]
        if page["next_cursor"] is None:
            return entries
        cursor = {"cursor": page["next_cursor"]}


def a_turn(session_id: str, **values: Any) -> Turn:
    facts = TurnFacts(
        answered=Answered.FOUND,
        tool_call_count=2,
        used_tools=("knowledge_base_search", "generate_response"),
        keyword_count=0,
        retrieval_count=3,
        top_chapter="Keywords",
        latency_ms=12.5,
        model="m",
        cost=Cost(usage=TokenUsage(input_tokens=10, output_tokens=5), web_searches=0, estimated_usd=None),
    )
    return Turn(
        **{
            "query_id": new_id(),
            "session_id": session_id,
            "owner": "key:local",
            "question": "q",
            "answer": "a",
            "mode": "whole_book",
            "asked_at": utc_now(),
            "answered_at": utc_now(),
            "facts": facts,
        }
        | values
    )


def test_a_turn_is_stored_with_its_facts_and_counted_in_its_session(client: Client, model: ScriptedModel) -> None:
    session = begin(client, metadata={"course": "physics"})
    model.plays(calls(search()), calls(answer()))
    path = f"{PATH}/{session['session_id']}"
    status, turn = client.post(f"{path}/chat", {"query": "How are duplicates merged?"})
    assert status == 200
    assert turn["message"]["content"] == "Merged. [kb-1]"
    assert turn["sources"][0]["id"] == "kb-1"
    _, history = get(client, f"{path}/messages")
    assert [(m["role"], m["content"]) for m in history["messages"]] == [
        ("user", "How are duplicates merged?"),
        ("assistant", "Merged. [kb-1]"),
    ]
    stored_message = history["messages"][1]
    assert stored_message == turn["message"]
    facts = stored_message["metadata"]
    assert (facts["tool_call_count"], facts["retrieval_count"], facts["top_chapter"]) == (2, 2, "Keywords")
    assert facts["answered"] == "found"
    assert (facts["model"], facts["input_tokens"], facts["output_tokens"]) == ("scripted", 200, 20)
    _, updated = get(client, path)
    assert (updated["message_count"], updated["tool_call_count"], updated["input_tokens"]) == (2, 2, 200)
    assert updated["metadata"] == {"course": "physics"}
    assert updated["updated_at"] > session["updated_at"]


@pytest.mark.parametrize("body", [None, "", "null", {}])
@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}])
def test_a_session_may_be_created_without_a_body(client: Client, body: Any, headers: dict[str, str]) -> None:
    status, session = client.post("/api/sessions", body, headers=headers)
    assert status == 201 and session["metadata"] == {}
    assert client.request("GET", f"/api/sessions/{session['session_id']}") == (200, session)


def test_sessions_are_listed_once_most_recently_used_first(client: Client, store: ConversationStore) -> None:
    ids = [begin(client)["session_id"] for _ in range(9)]
    begin(client, caller="somebody")
    store.add_turn(a_turn(ids[2]), new_session=None, deadline=Deadline.after(20))
    listed_ids = [session["session_id"] for session in all_pages(client, PATH, "sessions", 4)]
    assert listed_ids == [ids[2], *[i for i in reversed(ids) if i != ids[2]]]


def test_a_session_is_named_by_its_first_question(client: Client, model: ScriptedModel) -> None:
    secret = "sk-proj-" + "a1B2" * 10  # pragma: allowlist secret
    begun = begin(client)
    assert begun["title"] is None
    asked = f"Where does\n my key {secret} go? " + "And " * 100
    for query in (asked, "And who merges them?"):
        model.plays(calls(search()), calls(answer()))
        assert client.post(f"{PATH}/{begun['session_id']}/chat", {"query": query})[0] == 200
    model.plays(calls(search()), calls(answer()))
    assert client.post("/api/chat/query", {"query": "How are duplicates merged?"})[0] == 200
    titles = [session["title"] for session in all_pages(client, PATH, "sessions", 10)]
    assert titles[0] == "How are duplicates merged?"
    assert titles[1].startswith("Where does my key [redacted: ") and " go? And And" in titles[1]
    assert secret[:12] not in titles[1] and len(titles[1]) <= 100
    assert get(client, f"{PATH}/{begun['session_id']}")[1]["title"] == titles[1]


def test_a_follow_up_in_a_session_of_an_earlier_version_gives_no_title(
    client: Client, model: ScriptedModel, store: ConversationStore
) -> None:
    session_id = begin(client)["session_id"]
    store.add_turn(a_turn(session_id), new_session=None, deadline=Deadline.after(20))
    model.plays(calls(search()), calls(answer()))
    client.post(f"{PATH}/{session_id}/chat", {"query": "And who merges them?"})
    assert get(client, f"{PATH}/{session_id}")[1]["title"] is None


def test_of_two_first_questions_the_one_stored_first_gives_the_title(client: Client, store: ConversationStore) -> None:
    session_id = begin(client)["session_id"]
    for question in ("Who?", "When?"):
        turn = a_turn(session_id, question=question, is_first=True)
        store.add_turn(turn, new_session=None, deadline=Deadline.after(20))
    assert get(client, f"{PATH}/{session_id}")[1]["title"] == "Who?"


def test_history_is_paged_in_order(client: Client, store: ConversationStore) -> None:
    session_id = begin(client)["session_id"]
    for number in range(23):
        store.add_turn(a_turn(session_id, question=f"q{number}"), new_session=None, deadline=Deadline.after(20))
    messages = all_pages(client, f"{PATH}/{session_id}/messages", "messages", 7)
    assert [m["content"] for m in messages if m["role"] == "user"] == [f"q{number}" for number in range(23)]
    assert [m["role"] for m in messages] == ["user", "assistant"] * 23


@pytest.mark.parametrize("position", ["A", "EXCERPT#", "M#", "Z", "M#\uffff\uffff", "x" * 700, "\x00", "", "\ud800"])
def test_a_forged_cursor_reveals_nothing_and_breaks_nothing(
    client: Client, store: ConversationStore, position: str
) -> None:
    session_id = begin(client)["session_id"]
    turn = a_turn(session_id, question="𝄞" * 50_000, answer="𝄞" * 100_000, selected_text="s")
    store.add_turn(turn, new_session=None, deadline=Deadline.after(30))
    scope = ("/api/sessions/<session_id>", session_id, "messages")
    cursor = _cursors.encode((position,), scope=scope)
    status, page = get(client, f"{PATH}/{session_id}/messages", cursor=cursor)
    if status == 200:
        assert [len(message["content"]) for message in page["messages"]] in ([], [50_000, 100_000])
    else:
        assert (status, page["type"]) == (400, "urn:gleaner:problem:invalid-cursor")
    cursor = _cursors.encode((position, position), scope=(PATH, "key:local"))
    assert get(client, PATH, cursor=cursor)[0] in (200, 400)


def test_concurrent_turns_are_all_stored_completely(
    settings: dict[str, str], client: Client, model: ScriptedModel
) -> None:
    session_id = begin(client)["session_id"]

    def echo(request: dict[str, Any]) -> dict[str, Any]:
        question = [m["content"] for m in request["messages"] if m["role"] == "user"][-1]
        return calls(search()) if len(request["tools"]) == 1 else calls(answer(f"To {question}", ()))

    model.plays(echo)
    store = ConversationStore(
        Table(ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"]), settings["CONVERSATIONS_TABLE"])
    )
    turns = [a_turn(session_id, question=f"q{n}", answer=f"To q{n}") for n in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda turn: store.add_turn(turn, new_session=None, deadline=Deadline.after(20)), turns))
    messages = all_pages(client, f"{PATH}/{session_id}/messages", "messages", 100)
    pairs = list(zip(messages[::2], messages[1::2], strict=True))
    assert {(q["content"], a["content"]) for q, a in pairs} == {(f"q{n}", f"To q{n}") for n in range(12)}
    assert get(client, f"{PATH}/{session_id}")[1]["message_count"] == 24


def test_writing_a_turn_again_changes_nothing(client: Client, store: ConversationStore, items: Any) -> None:
    session_id = begin(client)["session_id"]
    turn = a_turn(session_id)
    store.add_turn(turn, new_session=None, deadline=Deadline.after(20))
    before = sorted(map(str, items("CONVERSATIONS_TABLE")))
    store.add_turn(turn, new_session=None, deadline=Deadline.after(20))
    assert sorted(map(str, items("CONVERSATIONS_TABLE"))) == before


def test_deleting_a_session_leaves_nothing_behind(client: Client, store: ConversationStore, items: Any) -> None:
    session_id, other = begin(client)["session_id"], begin(client)["session_id"]
    for _ in range(40):
        store.add_turn(
            a_turn(session_id, selected_text="s", chapter_origin="c"), new_session=None, deadline=Deadline.after(20)
        )
    store.add_turn(a_turn(other), new_session=None, deadline=Deadline.after(20))
    path = f"{PATH}/{session_id}"
    assert client.request("DELETE", path) == (204, None)
    assert {item["pk"] for item in items("CONVERSATIONS_TABLE")} == {f"S#{other}"}
    assert client.request("DELETE", path)[0] == 404
    assert get(client, path)[0] == 404


def test_an_interrupted_deletion_hides_the_session_and_can_be_resumed(
    settings: dict[str, str], client: Client, store: ConversationStore, items: Any
) -> None:
    dynamodb = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    deletion = SessionDeletion(
        Table(dynamodb, settings["CONVERSATIONS_TABLE"]),
        open_tool_calls(settings, dynamodb),
        LearnedDeletion(Table(dynamodb, settings["KEYWORDS_TABLE"])),
        with_shared=False,
    )
    session_id = begin(client)["session_id"]
    for _ in range(30):
        store.add_turn(a_turn(session_id, is_first=True), new_session=None, deadline=Deadline.after(20))
    batches = 0

    def crash(**_: Any) -> None:
        nonlocal batches
        batches += 1
        if batches == 2:
            raise KeyboardInterrupt

    events = dynamodb.meta.events
    events.register("before-call.dynamodb.BatchWriteItem", crash, "crash")
    with pytest.raises(KeyboardInterrupt):
        deletion.delete(session_id, "key:local", deadline=Deadline.after(20))
    events.unregister("before-call.dynamodb.BatchWriteItem", crash, "crash")
    path = f"{PATH}/{session_id}"
    assert 0 < len(items("CONVERSATIONS_TABLE")) < 61
    assert not any("title" in item for item in items("CONVERSATIONS_TABLE"))
    assert get(client, path)[0] == 404
    assert get(client, PATH)[1]["sessions"] == []
    assert client.post(f"{path}/chat", {"query": "x"})[0] == 404
    assert client.request("DELETE", path)[0] == 204
    assert items("CONVERSATIONS_TABLE") == []


@pytest.mark.parametrize("text", ["𝄞" * 100_000, "".join(map(chr, range(0x20000, 0x20000 + 42_000))) * 2])
def test_long_texts_are_returned_completely(client: Client, store: ConversationStore, text: str) -> None:
    session_id = begin(client)["session_id"]
    turn = a_turn(session_id, question=text[:50_000], answer=text, selected_text=text, chapter_origin="c")
    store.add_turn(turn, new_session=None, deadline=Deadline.after(30))
    path = f"{PATH}/{session_id}/messages"
    assert [message["content"] for message in get(client, path)[1]["messages"]] == [text[:50_000], text]
    _, excerpt = get(client, f"{path}/{turn.query_id}-user/selected-text")
    assert (excerpt["selected_text"], excerpt["chapter_origin"]) == (text, "c")


def test_an_incompressible_text_is_split(client: Client, store: ConversationStore, items: Any) -> None:
    random.seed(7)
    text = "".join(chr(random.randrange(0x20000, 0x2A000)) for _ in range(300_000))
    session_id = begin(client)["session_id"]
    store.add_turn(a_turn(session_id, answer=text), new_session=None, deadline=Deadline.after(30))
    assert any(item["sk"].startswith("LONG#") for item in items("CONVERSATIONS_TABLE"))
    messages = all_pages(client, f"{PATH}/{session_id}/messages", "messages", 50)
    assert [message["content"] for message in messages] == ["q", text]


def test_a_page_of_long_texts_fits_a_lambda_response(client: Client, store: ConversationStore) -> None:
    session_id = begin(client, metadata={str(number): "𝄞" * 500 for number in range(20)})["session_id"]
    for number in range(4):
        turn = a_turn(session_id, question="𝄞" * 50_000, answer=f"{number}" + '"\n' * 300_000)
        store.add_turn(turn, new_session=None, deadline=Deadline.after(30))
    event = proxy_event("GET", f"{PATH}/{session_id}/messages", "local")
    assert len(json.dumps(client.send(event)).encode()) < 6_291_556  # bytes; Lambda refuses more
    messages = all_pages(client, f"{PATH}/{session_id}/messages", "messages", 50)
    assert [message["content"][0] for message in messages] == list("𝄞0𝄞1𝄞2𝄞3")


def test_a_page_of_sessions_with_long_metadata_fits_a_lambda_response(client: Client) -> None:
    ids = [begin(client, metadata={str(n): "𝄞" * 500 for n in range(20)})["session_id"] for _ in range(50)]
    response = client.send(proxy_event("GET", PATH, "local") | {"queryStringParameters": {"limit": "100"}})
    assert len(json.dumps(response).encode()) < 6_291_556
    assert [session["session_id"] for session in all_pages(client, PATH, "sessions", 100)] == ids[::-1]


def test_a_selected_text_is_returned_as_it_was_sent(client: Client, model: ScriptedModel, items: Any) -> None:
    selected_text = " The lamp\r\nis trimmed\u200b.\u0065\u0301\ud800 \n"
    model.plays(calls(search("lamp")), calls(answer("It is trimmed. [kb-1]")))
    _, body = client.ask("What is trimmed?", mode="selected_text", selected_text=selected_text, chapter_origin="Lamps")
    path = f"{PATH}/{body['session_id']}/messages"
    question = get(client, path)[1]["messages"][0]
    for message_id in (question["id"], body["message_id"]):
        status, excerpt = get(client, f"{path}/{message_id}/selected-text")
        assert status == 200
        assert excerpt == {
            "message_id": question["id"],
            "selected_text": selected_text.replace("\ud800", "\ufffd"),
            "chapter_origin": "Lamps",
            "created_at": question["created_at"],
        }
    assert get(client, f"{path}/{question['id']}/selected-text", "somebody")[1]["type"].endswith("unknown-session")
    client.request("DELETE", f"{PATH}/{body['session_id']}")
    assert get(client, f"{path}/{question['id']}/selected-text")[0] == 404
    assert items("CONVERSATIONS_TABLE") == []


def test_a_question_without_a_selection_has_no_selected_text(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search()), calls(answer()))
    body = client.ask()[1]
    path = f"{PATH}/{body['session_id']}/messages"
    for message_id in (body["message_id"], f"{'0' * 26}-user"):
        status, problem = get(client, f"{path}/{message_id}/selected-text")
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-selection")
    assert get(client, f"{path}/{'0' * 26}/selected-text")[0] == 400


def test_an_incompressible_selection_is_returned_completely(client: Client, store: ConversationStore) -> None:
    random.seed(7)
    text = "".join(chr(random.randrange(0x20000, 0x2A000)) for _ in range(250_000))
    session_id = begin(client)["session_id"]
    turn = a_turn(session_id, selected_text=text)
    store.add_turn(turn, new_session=None, deadline=Deadline.after(30))
    path = f"{PATH}/{session_id}/messages/{turn.query_id}-user/selected-text"
    assert get(client, path)[1]["selected_text"] == text


@pytest.mark.parametrize(
    "call",
    [
        get,
        lambda client, path, caller: get(client, f"{path}/messages", caller),
        lambda client, path, caller: client.post(f"{path}/chat", {"query": "x"}, caller=caller),
        lambda client, path, caller: client.request("DELETE", path, caller=caller),
    ],
)
def test_another_callers_session_is_unknown(
    client: Client, call: Callable[[Client, str, str], tuple[int, Any]]
) -> None:
    theirs = call(client, f"{PATH}/{begin(client)['session_id']}", "somebody")
    unknown = call(client, f"{PATH}/{new_id()}", "somebody")
    for status, problem in (theirs, unknown):
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-session")
    assert {**theirs[1], "query_id": ""} == {**unknown[1], "query_id": ""}


def test_tool_calls_are_shown_to_the_caller_who_asked(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search("merging", top_k=3)), calls(answer()))
    _, body = client.ask()
    path = f"/api/queries/{body['query_id']}/tool-calls"
    status, page = get(client, path)
    assert status == 200
    assert [call["tool_name"] for call in page["tool_calls"]] == ["knowledge_base_search", "generate_response"]
    assert json.loads(page["tool_calls"][0]["parameters"]) == {"query": "merging", "top_k": 3}
    assert [c["tool_name"] for c in all_pages(client, path, "tool_calls", 1)] == [
        "knowledge_base_search",
        "generate_response",
    ]
    for status, problem in (get(client, path, "somebody"), get(client, f"/api/queries/{new_id()}/tool-calls")):
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-query")


def test_the_conversation_is_carried_over_twenty_turns(client: Client, model: ScriptedModel) -> None:
    session_id = begin(client)["session_id"]
    for turn in range(20):
        model.plays(calls(search()), calls(answer(f"Answer {turn}. [kb-1]")))
        status, _ = client.post(f"{PATH}/{session_id}/chat", {"query": f"Question {turn}?"})
        assert status == 200
        messages = model.requests[0]["messages"]
        assert [m["role"] for m in messages[1:]] == ["user", "assistant"] * turn + ["user"]
        assert messages[-1]["content"] == f"Question {turn}?"
        if turn:
            assert messages[-2]["content"] == f"Answer {turn - 1}."
        assert not any(m["role"] == "tool" for m in messages)


def test_only_the_newest_part_of_a_long_history_is_sent(client: Client, model: ScriptedModel) -> None:
    session_id = begin(client)["session_id"]
    for turn in range(4):
        model.plays(calls(search()), calls(answer(f"{turn} " + "long " * 2000, ("kb-1",))))
        client.post(f"{PATH}/{session_id}/chat", {"query": f"Question {turn}?"})
    model.plays(calls(search()), calls(answer()))
    client.post(f"{PATH}/{session_id}/chat", {"query": "And?"})
    messages = model.requests[0]["messages"]
    assert sum(len(m["content"]) for m in messages[1:]) < 30_000
    assert [m["content"][:10] for m in messages if m["role"] == "user"] == ["Question 2", "Question 3", "And?"]


def test_a_conversation_that_the_model_finds_too_long_is_shortened_once(client: Client, model: ScriptedModel) -> None:
    session_id = begin(client)["session_id"]
    model.plays(calls(search()), calls(answer()))
    client.post(f"{PATH}/{session_id}/chat", {"query": "First?"})
    too_long = JSONResponse({"error": {"message": "m", "code": "context_length_exceeded"}}, status_code=400)
    model.plays(too_long, calls(search()), calls(answer()))
    status, _ = client.post(f"{PATH}/{session_id}/chat", {"query": "Second?"})
    assert status == 200
    assert [m["content"] for m in model.requests[1]["messages"][1:]] == ["Second?"]
    model.plays(too_long)
    status, problem = client.post(f"{PATH}/{session_id}/chat", {"query": "Third?"})
    assert (status, problem["type"]) == (413, "urn:gleaner:problem:context-too-long")
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"a": 1}},
        {"metadata": []},
        {"surprise": 1},
        {"metadata": {"a": "x" * 501}},
        {"metadata": {"": "x"}},
        "x",
    ],
)
def test_an_invalid_session_is_refused(client: Client, body: Any) -> None:
    status, problem = client.post(PATH, body)
    assert status == 400 and problem["detail"]


def test_another_process_sees_the_same_sessions(settings: dict[str, str], client: Client) -> None:
    session_id = begin(client)["session_id"]
    other_process = Client(make_api(settings))
    assert get(other_process, f"{PATH}/{session_id}")[0] == 200
