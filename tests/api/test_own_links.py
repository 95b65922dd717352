"""Addresses in answers: those of cited passages of the owner's documents reach the caller, others do not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gleaner.clients import pinecone
from gleaner.model import Record
from tests.conftest import Client
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result

KB = "harbour"
PORTAL = "https://pay.harbour.example/moor?berth=12"
PRINTER = "https://print.harbour.example/queue"
PAGE = "https://docs.harbour.example/moor/"


@pytest.fixture(scope="module", autouse=True)
def passages(index_host: str) -> Iterator[None]:
    base = pinecone.connect(host=index_host, api_key=lambda: "k")
    shared: dict[str, Any] = {
        "source_file_path": "docs/moor.md",
        "chunk_index": 0,
        "content_hash": "h",
        "title": "Moor",
    }
    portal = Record(id="m#0", text=f"The mooring portal is at {PORTAL} for all.", source_url=PAGE, **shared)
    printer = Record(id="p#0", text=f"The printer portal is at [the print page]({PRINTER}).", **shared)
    base.upsert(KB, [portal, printer], timeout=20)
    yield


def ask(client: Client, model: ScriptedModel, text: str, *sources: str) -> dict[str, Any]:
    model.plays(calls(search("mooring portal")), calls(answer(text, sources)))
    status, body = client.ask("Where is the mooring portal?", kb_id=KB)
    assert status == 200
    return dict(body)


def test_an_answer_links_to_the_cited_passage_and_its_addresses(client: Client, model: ScriptedModel) -> None:
    text = f"The mooring portal is at {PORTAL} and on [its page]({PAGE}). [kb-1]"
    body = ask(client, model, text, "kb-1")
    assert body["answer"] == text
    [source] = body["sources"]
    assert (source["source_url"], source["support"]) == (PAGE, "found")


def test_an_address_of_another_passage_goes(client: Client, model: ScriptedModel) -> None:
    assert ask(client, model, f"It is at {PRINTER} now. [kb-1]", "kb-1")["answer"] == "It is at […] now. [kb-1]"
    text = f"It is at {PRINTER} now. [kb-1]"
    assert ask(client, model, text, "kb-1", "kb-2")["answer"] == text


def test_an_address_with_data_goes(client: Client, model: ScriptedModel) -> None:
    text = f"It is [here]({PORTAL}&q=secret) or at {PORTAL}&q=secret. [kb-1]"
    assert ask(client, model, text, "kb-1")["answer"] == "It is here or at […]. [kb-1]"


def test_addresses_in_a_selected_text_go(client: Client, model: ScriptedModel) -> None:
    model.plays(calls(search("portal")), calls(answer(f"The portal is at {PORTAL} for all. [kb-1]", ("kb-1",))))
    _, body = client.ask(
        "Where is the portal?", mode="selected_text", selected_text=f"The portal is at {PORTAL} for all."
    )
    assert body["answer"] == "The portal is at […] for all. [kb-1]"


def test_addresses_in_the_text_of_a_web_page_go(client: Client, model: ScriptedModel, web: ScriptedWeb) -> None:
    page = "https://starlette.dev/release"
    web.finds(f"It is at {PORTAL} now [1].", result(1, page, "Release", f"It is at {PORTAL} now."))
    text = f"It is at {PORTAL} now, says {page} [web-1]."
    model.plays(
        calls(search("starlette")), calls(web_search()), calls(index("starlette release"), answer(text, ("web-1",)))
    )
    _, body = client.ask("Where is the release of starlette?", kb_id=KB)
    assert body["answer"] == f"It is at […] now, says {page} [web-1]."
