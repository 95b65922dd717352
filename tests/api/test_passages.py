"""Passages and documents over the API."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.clients import pinecone
from gleaner.errors import UnknownDocument
from gleaner.model import Place, Record
from gleaner.passage_ids import decode_document, decode_passage, encode_document, encode_passage, fingerprint
from tests.conftest import MERGING, PRUNING, Client, limit_callers, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result

QUESTION = "What is quantum computing used for?"
PAGES = (
    result(1, "https://q.example/a", "Quantum computing", snippet="It is for chemistry."),
    result(2, "https://r.example/b", "Chemistry"),
)


def get(client: Client, path: str, caller: str = "local", **parameters: str) -> tuple[int, Any]:
    many = {name: [value] for name, value in parameters.items()}
    query = {"queryStringParameters": parameters or None, "multiValueQueryStringParameters": many or None}
    return client.request("GET", path, caller=caller, **query)


def cite(client: Client, model: ScriptedModel, *ids: str) -> list[dict[str, Any]]:
    model.plays(calls(search()), calls(answer("Duplicates are merged. [kb-1]", ids)))
    status, body = client.ask()
    assert status == 200, body
    return list(body["sources"])


def learn(client: Client, model: ScriptedModel, web: ScriptedWeb, **event: Any) -> list[dict[str, Any]]:
    web.finds("Quantum computing is used for chemistry. [1][2]", *PAGES)
    model.plays(
        calls(search()),
        calls(web_search(QUESTION)),
        calls(index("quantum computing")),
        calls(answer("It is used for chemistry. [web-1]", ("web-1", "web-2"))),
    )
    status, body = client.ask(QUESTION)
    assert status == 200, body
    return list(body["sources"])


def put(settings: dict[str, str], kb_id: str, *records: Record) -> None:
    host = settings["PINECONE_INDEX_HOST"]
    pinecone.connect(host=host, api_key=lambda: "k").upsert(kb_id, records, timeout=20)


def record(document: str, number: int, text: str = "Words.") -> Record:
    return Record(
        id=f"{document}#{number}",
        text=text,
        title=document.title(),
        source_file_path=f"{document}.md",
        chunk_index=number,
        content_hash="h",
        loaded_at="2026-11-29T10:00:00+00:00",
    )


def test_a_source_leads_to_its_whole_passage_and_its_neighbours(client: Client, model: ScriptedModel) -> None:
    [source] = cite(client, model, "kb-1")
    status, passage = get(client, source["passage_url"])
    assert (status, passage["text"], passage["has_changed"]) == (200, MERGING, False)
    assert (passage["title"], passage["chapter"], passage["source_file_path"]) == (
        "Handbook",
        "Keywords",
        "docs/keywords.md",
    )
    assert (passage["before"], passage["after"]["text"]) == (None, PRUNING)
    status, following = get(client, passage["after"]["passage_url"])
    assert (status, following["text"], following["before"]["text"]) == (200, PRUNING, MERGING)
    assert get(client, f"/api/documents/{passage['document_id']}")[1]["document"]["chunk_count"] == 2


def test_a_passage_that_changed_says_so_and_one_that_went_is_unknown(client: Client, settings: dict[str, str]) -> None:
    old = f"/api/passages/{encode_passage(Place(kb_id='changing', key='notes#0'), 'Old words.')}"
    assert get(client, old)[0] == 404
    put(settings, "changing", record("notes", 0, "New words."))
    status, passage = get(client, old)
    assert (status, passage["text"], passage["has_changed"]) == (200, "New words.", True)


def test_what_was_learned_is_read_again_by_page_and_as_a_whole(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    first, second = learn(client, model, web)
    status, page = get(client, first["passage_url"])
    assert (status, page["text"], page["source_url"]) == (200, "It is for chemistry.", "https://q.example/a")
    assert page["answers"]
    assert [one["url"] for one in page["pages"]] == ["https://q.example/a", "https://r.example/b"]
    assert get(client, second["passage_url"])[1]["source_url"] == "https://r.example/b"
    model.plays(calls(search(QUESTION)), calls(answer("For chemistry. [web-1]", ("web-1",))))
    [reused] = client.ask(QUESTION)[1]["sources"]
    status, whole = get(client, reused["passage_url"], caller="somebody")
    assert (status, whole["text"]) == (200, "Quantum computing is used for chemistry.")
    assert whole["has_changed"] is False


def test_an_answer_that_only_its_caller_may_find_is_read_by_nobody_else(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"LEARNING": "caller"}))
    source, _ = learn(client, model, web)
    statuses = [get(client, source["passage_url"], caller=caller)[0] for caller in ("local", "other", "admin")]
    assert statuses == [200, 404, 200]
    off = Client(make_api(settings | {"LEARNING": "off"}))
    assert get(off, source["passage_url"])[0] == 404


def test_a_forgotten_answer_is_not_read(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    source, _ = learn(client, model, web)
    answer_id = decode_passage(source["passage_url"].rpartition("/")[2]).place.key
    assert client.request("DELETE", f"/api/keywords/answers/{answer_id}", caller="admin")[0] == 200
    assert get(client, source["passage_url"])[0] == 404


def test_what_was_not_learned_and_what_was_selected_have_no_address(
    settings: dict[str, str], model: ScriptedModel, web: ScriptedWeb
) -> None:
    client = Client(make_api(settings | {"LEARNING": "off"}))
    web.finds("Quantum computing is used for chemistry. [1]", PAGES[0])
    model.plays(
        calls(search()), calls(web_search(QUESTION)), calls(answer("It is used for chemistry. [web-1]", ("web-1",)))
    )
    assert [source["passage_url"] for source in client.ask(QUESTION)[1]["sources"]] == [None]
    model.plays(calls(search()), calls(answer("It is green. [kb-1]", ("kb-1",))))
    selected = client.ask("What is green?", mode="selected_text", selected_text="The door is green.")[1]
    assert [source["passage_url"] for source in selected["sources"]] == [None]


def test_documents_are_listed_in_pages_with_their_chunks(client: Client, settings: dict[str, str]) -> None:
    chunks = {f"doc-{letter}": count for letter, count in zip("abcde", (1, 120, 12, 1, 3), strict=True)}
    for document, count in chunks.items():
        put(settings, "listed", *(record(document, number) for number in range(count)))
    found, cursor = [], None
    while True:
        parameters = {"kb_id": "listed", "limit": "2"} | ({"cursor": cursor} if cursor else {})
        status, page = get(client, "/api/documents", **parameters)
        assert status == 200, page
        found += page["documents"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert {one["document_id"]: one["chunk_count"] for one in found} == chunks
    assert len(found) == len(chunks)
    assert found[0] | {"title": "Doc-A", "loaded_at": "2026-11-29T10:00:00+00:00"} == found[0]


def test_the_passages_of_a_document_are_in_their_order(client: Client, settings: dict[str, str]) -> None:
    put(settings, "ordered", *(record("long", number, f"Passage {number}.") for number in range(25)))
    status, first = get(client, "/api/documents/long", kb_id="ordered", limit="12")
    assert (status, [one["chunk_index"] for one in first["passages"]]) == (200, [*range(12)])
    rest = get(client, "/api/documents/long", kb_id="ordered", limit="20", cursor=first["next_cursor"])[1]
    assert [one["chunk_index"] for one in rest["passages"]] == [*range(12, 25)]
    assert rest["next_cursor"] is None
    assert get(client, rest["passages"][-1]["passage_url"])[1]["text"] == "Passage 24."


def test_records_of_other_programs_are_read_by_their_own_ids(client: Client, settings: dict[str, str]) -> None:
    put(settings, "foreign", Record(**vars_of(record("x", 0)) | {"id": "a/b c?d%e"}))
    [listed] = get(client, "/api/documents", kb_id="foreign")[1]["documents"]
    status, shown = get(client, f"/api/documents/{listed['document_id']}", kb_id="foreign")
    assert (status, shown["document"]["chunk_count"]) == (200, 1)
    assert get(client, shown["passages"][0]["passage_url"])[1]["text"] == "Words."


def vars_of(one: Record) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


@pytest.mark.parametrize("path", ["/api/documents", "/api/documents/secret", "passage"])
def test_a_caller_of_other_knowledge_bases_sees_nothing(settings: dict[str, str], path: str) -> None:
    put(settings, "secret", record("secret", 0))
    limit_callers(settings, {"key:local": ["default_kb"]})
    client = Client(make_api(settings))
    if path == "passage":
        path = f"/api/passages/{encode_passage(Place(kb_id='secret', key='secret#0'), 'Words.')}"
        assert get(client, path)[0] == 403
    else:
        assert get(client, path, kb_id="secret")[0] == 403


@pytest.mark.parametrize("passage_id", ["x", "a.b", "..", "kb.%%%.0123456789", "K B.YQ.0123456789", "kb.YQ.0", "ü"])
def test_what_is_no_passage_id_is_unknown(client: Client, passage_id: str) -> None:
    status, problem = get(client, f"/api/passages/{quote(passage_id, safe='.%')}")
    assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-passage")


def test_an_unknown_document_is_not_found(client: Client) -> None:
    for document in ("nothing", "~", "~%%%", "~YWJj"):
        status, problem = get(client, f"/api/documents/{document}")
        assert (status, problem["type"]) == (404, "urn:gleaner:problem:unknown-document"), document


@given(
    st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=500),
    st.booleans(),
    st.text(),
)
def test_an_id_names_its_place_and_its_text(kb_id: str, key: str, is_learned: bool, content: str) -> None:
    page = 3 if is_learned else None
    place = Place(kb_id=kb_id, key=key.replace("/", "-"), is_learned=is_learned, page=page)
    decoded = decode_passage(encode_passage(place, content))
    assert (decoded.place, decoded.fingerprint) == (place, fingerprint(content))


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1, max_size=510))
def test_the_id_of_a_document_can_stand_in_a_path(document: str) -> None:
    encoded = encode_document(document)
    assert quote(encoded, safe="~") == encoded
    try:
        assert decode_document(encoded) == document
    except UnknownDocument:
        pytest.fail(f"{document!r} is not decoded")


@pytest.mark.parametrize("key", ["0" * 513, "caf\xe9", "a\0b"])
def test_what_no_index_holds_is_unknown(client: Client, key: str) -> None:
    passage = encode_passage(Place(kb_id="default_kb", key=key), "text")
    for path in (f"/api/documents/{encode_document(key)}", f"/api/passages/{passage}"):
        assert get(client, path)[0] == 404


def test_a_stored_answer_names_the_page_that_each_sentence_came_from(
    client: Client, model: ScriptedModel, web: ScriptedWeb
) -> None:
    web.finds("Quantum computing models molecules. [1] It breaks old ciphers, too. [2]", *PAGES)
    model.plays(
        calls(search()),
        calls(web_search(QUESTION)),
        calls(index("quantum computing")),
        calls(answer("It models molecules. [web-1]", ("web-1",))),
    )
    assert client.ask(QUESTION)[0] == 200
    for said, url in (("It breaks old ciphers", "https://r.example/b"), ("It models molecules", "https://q.example/a")):
        model.plays(calls(search(QUESTION)), calls(answer(f"{said}. [web-1]", ("web-1",))))
        [source] = client.ask(QUESTION)[1]["sources"]
        assert (source["source_url"], [page["url"] for page in source["pages"]]) == (url, [url])
    model.plays(
        calls(search(QUESTION)), calls(answer("It models molecules [web-1]. It breaks ciphers [web-1].", ("web-1",)))
    )
    [source] = client.ask(QUESTION)[1]["sources"]
    assert [page["url"] for page in source["pages"]] == ["https://q.example/a", "https://r.example/b"]
