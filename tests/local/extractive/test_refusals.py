"""What the passages state is answered with their sentences; what they do not state is not, and they are named."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from gleaner_local.extractive.judging import Judge
from gleaner_local.extractive.model import ANSWER, SEARCH, WEB, ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex

OFFICE = "The office opens at {} and closes nine hours later."
CHAPTERS = [
    (
        "Harbour guide",
        "Bread oven",
        "The oven is heated with beech wood. It was built by Ida Lund in 1904.",
    ),
    ("Harbour guide", "Windmill", "The windmill grinds rye on Tuesdays. Karl Berg moved it to the hill in 1911."),
    ("Harbour guide", "Ferry", "The ferry carries 12 cars. It sails every 40 minutes. Its captain is Mona Dahl."),
]
OFFICES = [
    (f"The {city} office", "Opening hours", OFFICE.format(time))
    for city, time in (("Turku", "8:05"), ("Porto", "8:30"), ("Ghent", "9:40"))
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    embedded = EmbeddedIndex.open(tmp_path_factory.mktemp("index"))
    for namespace, records in (("guide", CHAPTERS), ("offices", OFFICES)):
        fields = [
            {"text": f"{title} – {chapter}\n{text}", "text_start": len(f"{title} – {chapter}\n"), "title": title}
            | {"chapter": chapter, "content": text}
            for title, chapter, text in records
        ]
        embedded.upsert(namespace, [(str(number), record) for number, record in enumerate(fields)])
    yield embedded
    embedded.close()


def search(index: EmbeddedIndex, namespace: str, question: str) -> list[dict[str, Any]]:
    hits = index.search(namespace, question, top_k=5)
    names = ("content", "title", "chapter")
    return [
        {"id": f"kb-{n}", "score": hit.score} | {name: hit.fields[name] for name in names}
        for n, hit in enumerate(hits, 1)
    ]


def reply(
    judge: Judge, question: str, chunks: Sequence[dict[str, Any]], *offered: str, web: Any = None
) -> tuple[str, dict[str, Any]]:
    """The name and the arguments of the call that follows the search, and the web search if `web` is its result."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    results = [(SEARCH, {"chunks": chunks}), *([(WEB, web)] if web else [])]
    for number, (name, result) in enumerate(results):
        call = {"id": str(number), "type": "function", "function": {"name": name, "arguments": "{}"}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": str(number), "content": json.dumps(result)})
    [call] = ExtractiveModel(judge).next_calls(messages, offered or (ANSWER,))
    return call.name, json.loads(call.arguments)


@pytest.mark.parametrize(
    ("namespace", "question", "names"),
    [
        ("guide", "Who paints the ferry?", '"Ferry"'),
        ("guide", "What colour is the ferry?", '"Ferry"'),
        ("offices", "When does the Lisbon office open?", "office"),
    ],
)
def test_what_no_passage_states_is_refused_and_the_passages_are_named(
    index: EmbeddedIndex, namespace: str, question: str, names: str
) -> None:
    chunks = search(index, namespace, question)
    _, answer = reply(Judge.installed(), question, chunks)
    assert answer["sources"] == []
    assert names in answer["answer"]
    assert reply(Judge.installed(), question, chunks, WEB, ANSWER)[0] == WEB


@pytest.mark.parametrize(
    ("namespace", "question", "sentence"),
    [
        ("guide", "How many vehicles fit on the ferry?", "The ferry carries 12 cars."),
        ("offices", "When does the Porto office open?", OFFICE.format("8:30")),
    ],
)
def test_what_a_passage_states_in_other_words_is_answered_without_the_web(
    index: EmbeddedIndex, namespace: str, question: str, sentence: str
) -> None:
    name, answer = reply(Judge.installed(), question, search(index, namespace, question), WEB, ANSWER)
    assert name == ANSWER
    assert sentence in answer["answer"]


def test_only_what_is_quoted_is_cited(index: EmbeddedIndex) -> None:
    chunks = search(index, "offices", "When does the Ghent office open?")
    _, answer = reply(Judge.installed(), "When does the Ghent office open?", chunks)
    assert len(chunks) == len(OFFICES)
    assert answer["sources"]
    assert all(f"[{source}]" in answer["answer"] for source in answer["sources"])


def test_without_weights_the_words_decide() -> None:
    chunks = [{"id": "kb-1", "content": CHAPTERS[2][2], "score": 0.6, "title": "Ferry"}]
    assert reply(Judge(None), "How many cars does the ferry carry?", chunks, WEB, ANSWER)[0] == ANSWER
    assert reply(Judge(None), "How does a fox hunt mice?", [chunks[0] | {"score": 0.2}], WEB)[0] == WEB


def test_after_a_fruitless_web_search_a_weak_passage_is_not_quoted() -> None:
    question = "What does the ferry ticket cost for children?"
    chunks = [{"id": "kb-1", "content": CHAPTERS[2][2], "score": 0.46, "title": "Ferry"}]
    assert reply(Judge(None), question, chunks)[1]["sources"] == ["kb-1"]
    failure = {"error": {"code": "unavailable", "message": "no"}}
    _, answer = reply(Judge(None), question, chunks, web=failure)
    assert answer["sources"] == []
    assert '"Ferry"' in answer["answer"]


RUST = {
    "id": "kb-1",
    "content": "Scrub it with vinegar, rinse it, and oil it well before the winter.",
    "score": 0.4,
    "title": "How do I get the rust off an old anchor?",
    "source_file_path": "anchors.md",
}
CORROSION = "What is the best way to remove rust from old anchors?"


def next_tool(question: str, chunks: Sequence[dict[str, Any]]) -> str:
    return reply(Judge.installed(), question, chunks, WEB, ANSWER)[0]


@pytest.mark.parametrize("heading", [{}, {"title": "Anchors", "chapter": f"Care › {RUST['title']}"}])
def test_a_passage_below_a_heading_that_asks_the_same_answers(heading: dict[str, str]) -> None:
    assert next_tool(CORROSION, [RUST | heading]) == ANSWER


@pytest.mark.parametrize(
    "heading",
    [
        {"title": "How do I choose a chain for the rusty old anchor of a ferry?"},
        {"title": "Anchor rust"},
        {"title": RUST["title"], "chapter": "Buying a chain for old anchors"},
    ],
)
def test_a_heading_that_asks_something_else_or_names_a_subject_proves_nothing(heading: dict[str, str]) -> None:
    assert next_tool(CORROSION, [RUST | heading]) == WEB


def test_a_heading_that_several_documents_share_proves_nothing() -> None:
    same_document = RUST | {"id": "kb-2"}
    assert next_tool(CORROSION, [RUST, same_document]) == ANSWER
    assert next_tool(CORROSION, [RUST, same_document | {"source_file_path": "ships.md"}]) == WEB


def test_a_passage_below_a_heading_that_asks_the_same_is_quoted_first() -> None:
    content = "Old anchors are sold from the stock of the harbour at the end of each winter."
    chunks = [RUST | {"id": "kb-2", "score": 0.6}, {"id": "kb-1", "content": content, "score": 0.65, "title": "Stock"}]
    _, answer = reply(Judge.installed(), CORROSION, chunks)
    assert answer["sources"][0] == "kb-2"
    _, answer = reply(Judge.installed(), CORROSION, [chunk | {"title": "Anchors"} for chunk in chunks])
    assert answer["sources"][0] == "kb-1"


def test_a_heading_without_the_name_that_is_asked_for_proves_little() -> None:
    assert next_tool("How do I get the rust off an old Danforth anchor from Bruce in Lisbon?", [RUST]) == WEB
