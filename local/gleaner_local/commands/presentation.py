"""Prints a started service and answers for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.markup import escape

from gleaner.small_talk import recognize
from gleaner_local import command_line
from gleaner_local.commands import terminal

_SOURCE_MARK = re.compile(r"\[((?:kb|web)-\d+)\]")
_NO_SOURCES = "This answer rests on no passage."
_ANSWERED = {
    "partly": "The passages answer this only in part.",
    "not_found": "The passages do not answer this.",
}
_OF_HANDBOOK = ("How are duplicate keywords merged?", "How long may a query be?")
_OF_WEB = "What is Starlette?"
_OF_DOCUMENTS = "A QUESTION ABOUT YOUR DOCUMENTS"


def show_started(url: str, data_dir: Path, *, deadline_seconds: float, is_empty: bool, has_handbook: bool) -> None:
    """Print where the service is and three things to try; for an empty knowledge base, loading documents is one.

    Questions about Gleaner are suggested only where its handbook was loaded now.
    """
    console = Console(highlight=False)
    console.print(
        f"\nGleaner answers at [bold]{url}[/bold]. It keeps its data in {data_dir}. Stop it with Ctrl-C.\n"
        f"A question may take up to {deadline_seconds:g} s; `serve --deadline SECONDS` changes that.\n",
        soft_wrap=True,
    )
    of_documents = _OF_HANDBOOK[0] if has_handbook else _OF_DOCUMENTS
    covered, uncovered = (
        command_line.format_command("ask", question, data_dir=data_dir) for question in (of_documents, _OF_WEB)
    )
    load = command_line.format_command("ingest", "PATH", data_dir=data_dir)
    first = f"{load}      (it has no documents yet: PATH is a file or a directory)" if is_empty else covered
    console.print("Three things to try, in another terminal:\n")
    console.print(f"  {first}", markup=False, soft_wrap=True)
    console.print(f"  {uncovered}      (learned from the web; ask it again)", markup=False, soft_wrap=True)
    body = json.dumps({"query": _OF_HANDBOOK[1] if has_handbook else _OF_WEB})
    console.print(
        f"  curl -s {url}/api/chat/query -H 'content-type: application/json' -d '{body}'\n",
        markup=False,
        soft_wrap=True,
    )


def show_answer(answer: dict[str, Any], question: str) -> None:
    """Print an answer with numbered sources and the tools that were used; Markdown is rendered only on a terminal."""
    console = Console(highlight=False)
    numbers = SourceNumbers(source["id"] for source in answer["sources"])
    text = numbers.replace_marks(terminal.show_block(answer["answer"]))
    if console.is_terminal:
        console.print(Markdown(text, hyperlinks=False))
    else:  # for a program or a file: neither rendered nor wrapped
        print(text)
    show_facts(console, answer, question, numbers)


def show_facts(console: Console, answer: dict[str, Any], question: str, numbers: SourceNumbers) -> None:
    """Print what stands below an answer: whether it answers, its sources, and how it was made."""
    answer = terminal.show_fields(answer)
    if verdict := _describe_answered(answer, question):
        console.print(f"\n{verdict}", soft_wrap=True)
    if answer["sources"]:
        console.print("\n[bold]Sources[/bold]")
    for source in sorted(answer["sources"], key=lambda source: numbers.number(source["id"])):
        place = f"  [{numbers.number(source['id'])}] {_describe_place(source)}{_describe_support(source)}"
        console.print(place, markup=False, soft_wrap=True)
    console.print(f"\n[dim]{escape(_describe_run(answer))}[/dim]", soft_wrap=True)


class SourceNumbers:
    """Numbers sources in the order in which the text marks them, and then those that it does not mark."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._ids = set(ids)  # what may be marked
        self._numbers: dict[str, int] = {}

    def allow(self, ids: Iterable[str]) -> None:
        """From now on, these may be marked, too."""
        self._ids.update(ids)

    def number(self, source_id: str) -> int:
        """The number of a source."""
        return self._numbers.setdefault(source_id, len(self._numbers) + 1)

    def replace_marks(self, text: str) -> str:
        """The text with `[1]` for `[kb-1]`; a mark of nothing that is known stays."""
        return _SOURCE_MARK.sub(lambda mark: f"[{self.number(mark[1])}]" if mark[1] in self._ids else mark[0], text)


def _describe_answered(answer: dict[str, Any], question: str) -> str | None:
    """What a reader should know beside the sources.

    Nothing if they hold what was asked, of an older service, and where nothing was asked of the documents.
    """
    if answer["sources"]:
        return _ANSWERED.get(answer.get("answered", ""))
    return _NO_SOURCES if recognize(question) is None else None


def _describe_place(source: dict[str, Any]) -> str:
    if source["source_type"] == "external":
        return f"{source['title']} <{source['source_url']}>"
    parts = [source["source_file_path"], source["chapter"]]
    parts.append(_describe_page(source["page_number"], source.get("page_label")))
    parts.append(f"chunk {source['chunk_index']}")
    place = " · ".join(part for part in parts if part)
    return f"{place} <{source['source_url']}>" if source.get("source_url") else place


def _describe_page(number: int | None, label: str | None) -> str | None:
    """The page as it is printed and as a viewer counts it: "p. 23, sheet 26"."""
    if number is None:
        return None
    return f"page {number}" if label in (None, str(number)) else f"p. {label}, sheet {number}"


def _describe_support(source: dict[str, Any]) -> str:
    return "" if source["support"] == "found" else f" (support: {source['support']})"


def _describe_run(answer: dict[str, Any]) -> str:
    facts = [
        f"Tools: {', '.join(answer['used_tools'])}",
        f"{answer['latency_ms']:.0f} ms",
        f"model {answer['metadata']['model']}",
        f"session {answer['session_id']}",
    ]
    if answer["keyword_count"]:
        facts.insert(1, f"{answer['keyword_count']} keywords indexed")
    if answer["status"] != "success":
        facts.insert(0, answer["status"])
    return " · ".join(facts)
