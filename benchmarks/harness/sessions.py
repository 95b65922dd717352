"""Asks sessions of questions, and questions about selected texts, of the extractive model.

A file of questions has lines with a sign: `= ` begins a language or a selected text, `? ` is a question, `+ ` what its
answer must say, `- ` what it must not say, and `! ` a message that no source may be cited for. An empty line ends a
session.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gleaner.knowledge.selection import Selection
from gleaner.model import Mode
from gleaner_local.extractive.model import ANSWER, SEARCH, ExtractiveModel
from gleaner_local.index.embedded import EmbeddedIndex

TOP_K = 5
MAX_CALLS = 4

# Finds the chunks for a query.
Search = Callable[[str], dict[str, Any]]


@dataclass(slots=True)
class Message:
    """A message and what its answer must and must not say; `unanswered`: it must cite nothing."""

    text: str
    unanswered: bool
    says: list[str] = field(default_factory=list)
    avoids: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, the titles of its sources, and the queries that were searched for."""

    text: str
    sources: tuple[str, ...]
    queries: tuple[str, ...]

    def meets(self, turn: Message) -> bool:
        """Whether it is what `turn` expects."""
        if turn.unanswered:
            return not self.sources
        says = all(text in self.text for text in turn.says)
        return bool(self.sources) and says and not any(text in self.text for text in turn.avoids)


def read_sessions(path: Path) -> Iterator[tuple[str, list[Message]]]:
    """The heading and the turns of each session of a file."""
    heading, turns = "", list[Message]()
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        sign, _, rest = line.partition(" ")
        if sign in ("", "=") and turns:
            yield heading, turns
            turns = []
        if sign == "=":
            heading = rest
        elif sign in ("?", "!"):
            turns.append(Message(rest, unanswered=sign == "!"))
        elif sign in ("+", "-"):
            (turns[-1].says if sign == "+" else turns[-1].avoids).append(rest)


def search_index(index: EmbeddedIndex, namespace: str) -> Search:
    """Search a namespace as the service does."""

    def search(query: str) -> dict[str, Any]:
        hits = index.search(namespace, query, top_k=TOP_K)
        fields = (
            {
                "title": hit.fields.get("title", hit.id),
                "content": hit.fields["text"][hit.fields.get("text_start") or 0 :],
            }
            for hit in hits
        )
        chunks = [
            {"id": f"kb-{n}", "score": round(hit.score, 4), **own}
            for n, (hit, own) in enumerate(zip(hits, fields, strict=True), 1)
        ]
        return {"chunks": chunks}

    return search


def _text(fields: Mapping[str, Any]) -> str:
    """The text of a record without the heading before it."""
    return str(fields["text"])[fields.get("text_start") or 0 :]


def search_selection(selected: str) -> Search:
    """Search a selected text as the service does."""
    selection = Selection(selected, None)

    def search(query: str) -> dict[str, Any]:
        chunks = [
            {
                "id": f"kb-{passage.chunk_index}",
                "score": round(passage.score, 4),
                "title": passage.title,
                "content": passage.content,
                "chunk_index": passage.chunk_index,
            }
            for passage in selection.search(query, top_k=TOP_K)
        ]
        return {"scope": Mode.SELECTED_TEXT.value, "chunks": chunks}

    return search


class LocalSession:
    """A session with the extractive model, without the web."""

    def __init__(self, model: ExtractiveModel, search: Search) -> None:
        self._model = model
        self._search = search
        self._messages: list[dict[str, Any]] = []

    def ask(self, text: str) -> Reply:
        """Ask, run the searches that the model wants, and return its answer, which later turns can refer to."""
        messages = [*self._messages, {"role": "user", "content": text}]
        titles: dict[str, str] = {}
        queries: list[str] = []
        for number in range(MAX_CALLS):
            [call] = self._model.next_calls(messages, [SEARCH, ANSWER] if number else [SEARCH])
            arguments = json.loads(call.arguments)
            if call.name == ANSWER:
                break
            queries.append(arguments["query"])
            result = self._search(arguments["query"])
            titles |= {chunk["id"]: chunk["title"] for chunk in result["chunks"]}
            function = {"name": SEARCH, "arguments": call.arguments}
            messages.append({"role": "assistant", "tool_calls": [{"id": str(number), "function": function}]})
            messages.append({"role": "tool", "tool_call_id": str(number), "content": json.dumps(result)})
        answer = str(arguments["answer"])
        self._messages += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
        return Reply(answer, tuple(titles[source] for source in arguments["sources"]), tuple(queries))


def ask_all(session: LocalSession, turns: Sequence[Message]) -> list[Reply]:
    """The replies to all turns of one session."""
    return [session.ask(turn.text) for turn in turns]
