"""Reads an answer of Perplexity's Agent API: its text, its sources, and whether it is complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError, field_validator

from gleaner.errors import WebSearchUnavailable
from gleaner.model import Citation

MAX_CITATIONS = 10


class UnusableAnswer(WebSearchUnavailable):
    """The service works, but what it gave cannot be used: incomplete, without text or without sources."""


# Fenced or inline code first: `items[0]` in an example is no mark of a source.
# `[web:3]` is how some presets write their marks, and `[3](https://…)` is a mark made into a link.
_CODE_OR_MARK = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|[ \t]?\[(?P<marks>(?:web:)?\d+(?:\s*,\s*(?:web:)?\d+)*)\](?:\(https?://[^)\s]*\))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchResult:
    """A complete answer of the web search.

    `[n]` in `answer` is the 1-based place of a source in `citations`, which begin with the sources mentioned,
    in the order of their first mention. `cost_usd` is None when the service did not state one in dollars.
    """

    answer: str
    citations: tuple[Citation, ...]
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


# Characters that are kept of a page: an answer with its pages must fit into one item of the store.
LONGEST_TITLE = 300
LONGEST_SNIPPET = 1_000


class _Result(BaseModel):
    id: int | str | None = None
    url: str | None = None  # without one, or with one that is no web address, it is left out
    title: str | None = None
    snippet: str | None = None
    date: str | None = None


class _Part(BaseModel):
    type: str
    text: str = ""


class _Item(BaseModel):
    type: str
    content: list[_Part] = Field(default_factory=list)
    results: list[_Result] = Field(default_factory=list)

    @field_validator("content", "results", mode="before")
    @classmethod
    def _null_is_empty(cls, value: object) -> object:
        return [] if value is None else value


class _Cost(BaseModel):
    total_cost: float | None = None
    currency: str = "USD"


class _Usage(BaseModel):
    input_tokens: int = 0
    output_tokens: int = 0
    cost: _Cost | None = None


class _Incomplete(BaseModel):
    reason: str | None = None


class _Answer(BaseModel):
    status: str
    model: str = ""
    output: list[_Item] = Field(default_factory=list)
    usage: _Usage | None = None
    error: object | None = None
    incomplete_details: _Incomplete | None = None

    @field_validator("output", mode="before")
    @classmethod
    def _null_is_empty(cls, value: object) -> object:
        return [] if value is None else value


def read_answer(body: bytes) -> WebSearchResult:
    """The result in the body of a 200 answer.

    Raises WebSearchUnavailable for anything but a complete answer with text and at least one usable source,
    of its kind UnusableAnswer when the service did its work.
    """
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError:
        # Pydantic's message quotes the body, so neither the text nor the cause goes on.
        raise WebSearchUnavailable("The web search gave an answer that cannot be read.") from None
    _require_complete(answer)
    sources = _sources(answer.output)
    if not sources:
        raise UnusableAnswer("The web search found no sources.")
    marked, citations = _number_by_mention(_text(answer.output), sources)
    if not marked.strip():
        raise UnusableAnswer("The web search gave an answer without text.")
    usage = answer.usage or _Usage()
    return WebSearchResult(
        answer=marked.strip(),
        citations=citations,
        model=answer.model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost.total_cost if usage.cost and usage.cost.currency == "USD" else None,
    )


def _require_complete(answer: _Answer) -> None:
    if answer.status == "completed" and answer.error is None:
        return
    if answer.status == "incomplete":
        reason = answer.incomplete_details.reason if answer.incomplete_details else None
        # Only a plain word of the API may be shown; anything longer could be text of the answer.
        shown = f" ({reason})" if reason and re.fullmatch(r"[a-z_]{1,40}", reason) else ""
        raise UnusableAnswer(f"The web search stopped before its answer was complete{shown}.")
    if answer.status == "cancelled":
        raise WebSearchUnavailable("The web search was cancelled by the service.")
    raise WebSearchUnavailable("The web search failed at the service.")


def _text(output: Sequence[_Item]) -> str:
    messages = [item.content for item in output if item.type == "message"]
    return "\n\n".join("".join(p.text for p in parts if p.type == "output_text") for parts in messages)


def _sources(output: Sequence[_Item]) -> dict[str, Citation]:
    """Citations by the id that marks name them with; a page that was found twice is one citation."""
    by_id: dict[str, Citation] = {}
    by_url: dict[str, Citation] = {}
    for result in (result for item in output if item.type == "search_results" for result in item.results):
        url = (result.url or "").strip()
        if _is_web_address(url):
            title, snippet = (
                (result.title or url).strip()[:LONGEST_TITLE],
                (result.snippet or "").strip()[:LONGEST_SNIPPET],
            )
            found = Citation(url=url, title=title, snippet=snippet, date=result.date)
            by_id.setdefault(url if result.id is None else str(result.id), by_url.setdefault(url, found))
    return by_id


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", url)


def _number_by_mention(text: str, sources: dict[str, Citation]) -> tuple[str, tuple[Citation, ...]]:
    order: list[Citation] = []

    def renumber(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        kept: list[Citation] = []
        for mark in match["marks"].split(","):
            citation = sources.get(mark.strip().removeprefix("web:"))
            if citation is None or citation in kept:
                continue
            if citation not in order:
                if len(order) == MAX_CITATIONS:
                    continue
                order.append(citation)
            kept.append(citation)
        space = " " if match[0][0].isspace() and kept else ""
        return space + "".join(f"[{order.index(citation) + 1}]" for citation in kept)

    marked = _CODE_OR_MARK.sub(renumber, text)
    rest = [citation for citation in dict.fromkeys(sources.values()) if citation not in order]
    return marked, tuple([*order, *rest][:MAX_CITATIONS])
