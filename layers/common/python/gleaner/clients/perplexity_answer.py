"""Parses responses of Perplexity's Agent API: text, sources, and whether they are complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, Field, ValidationError, field_validator

from gleaner.errors import WebSearchUnavailable
from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts
from gleaner.model import Citation
from gleaner.runtime.variables import is_web_address

MAX_CITATIONS = 10


class UnusableAnswer(WebSearchUnavailable):
    """The service works, but its answer is incomplete or has no text or no sources."""


# Code is matched first: `items[0]` in an example is not a citation mark.
# Some presets write marks as `[web:3]` or as links, `[3](https://…)`.
_CODE_OR_MARK = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|[ \t]?\[(?P<marks>(?:web:)?\d+(?:\s*,\s*(?:web:)?\d+)*)\](?:\(https?://[^)\s]*\))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchResult:
    """A complete answer of the web search.

    `[n]` in `answer` is the 1-based index of a source in `citations`. Sources come in the order of their first
    mention, followed by those not mentioned. `cost_usd` is None unless the service stated a cost in dollars.
    """

    answer: str
    citations: tuple[Citation, ...]
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    used_blocked_host: bool = False  # a page of a blocked host was among the sources, and was left out


# In characters. An answer must fit into one DynamoDB item together with its pages.
MAX_TITLE_CHARS = 300
MAX_SNIPPET_CHARS = 1_000


class _Result(BaseModel):
    id: int | str | None = None
    url: str | None = None  # a result without a valid web address is skipped
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


def read_answer(body: bytes, blocked_hosts: BlockedHosts = NONE_BLOCKED) -> WebSearchResult:
    """Parse the body of a 200 response.

    Raises WebSearchUnavailable unless the answer is complete, with text and at least one usable source;
    the subclass UnusableAnswer if the service itself works.
    """
    try:
        answer = _Answer.model_validate_json(body)
    except ValidationError:
        # Pydantic's message quotes the body, so neither the message nor the cause may propagate.
        raise WebSearchUnavailable("The web search gave an answer that cannot be read.") from None
    _require_complete(answer)
    all_sources = _collect_sources(answer.output)
    sources = {mark: page for mark, page in all_sources.items() if not blocked_hosts.blocks(page.url)}
    if not sources:
        raise UnusableAnswer("The web search found no sources.")
    text, citations = _number_by_mention(_join_text(answer.output), sources)
    if not text.strip():
        raise UnusableAnswer("The web search gave an answer without text.")
    usage = answer.usage or _Usage()
    return WebSearchResult(
        answer=text.strip(),
        citations=citations,
        model=answer.model,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=usage.cost.total_cost if usage.cost and usage.cost.currency == "USD" else None,
        used_blocked_host=len(sources) < len(all_sources),
    )


def _require_complete(answer: _Answer) -> None:
    if answer.status == "completed" and answer.error is None:
        return
    if answer.status == "incomplete":
        reason = answer.incomplete_details.reason if answer.incomplete_details else None
        # Show the reason only if it is a plain API code; anything else could be text of the answer.
        suffix = f" ({reason})" if reason and re.fullmatch(r"[a-z_]{1,40}", reason) else ""
        raise UnusableAnswer(f"The web search stopped before its answer was complete{suffix}.")
    if answer.status == "cancelled":
        raise WebSearchUnavailable("The web search was cancelled by the service.")
    raise WebSearchUnavailable("The web search failed at the service.")


def _join_text(output: Sequence[_Item]) -> str:
    messages = [item.content for item in output if item.type == "message"]
    return "\n\n".join("".join(p.text for p in parts if p.type == "output_text") for parts in messages)


def _collect_sources(output: Sequence[_Item]) -> dict[str, Citation]:
    """Collect the citations by the id that marks refer to; duplicate pages become one citation."""
    by_id: dict[str, Citation] = {}
    by_url: dict[str, Citation] = {}
    for result in (result for item in output if item.type == "search_results" for result in item.results):
        url = (result.url or "").strip()
        if is_web_address(url):
            title = (result.title or url).strip()[:MAX_TITLE_CHARS]
            snippet = (result.snippet or "").strip()[:MAX_SNIPPET_CHARS]
            citation = Citation(url=url, title=title, snippet=snippet, date=result.date)
            by_id.setdefault(url if result.id is None else str(result.id), by_url.setdefault(url, citation))
    return by_id


def _number_by_mention(text: str, sources: dict[str, Citation]) -> tuple[str, tuple[Citation, ...]]:
    """Renumber the marks in `text` by first mention, and drop those without a source."""
    order: list[Citation] = []

    def renumber(match: re.Match[str]) -> str:
        if match["code"] is not None:
            return match[0]
        cited: list[Citation] = []
        for mark in match["marks"].split(","):
            citation = sources.get(mark.strip().removeprefix("web:"))
            if citation is None or citation in cited:
                continue
            if citation not in order:
                if len(order) == MAX_CITATIONS:
                    continue
                order.append(citation)
            cited.append(citation)
        space = " " if match[0][0].isspace() and cited else ""
        return space + "".join(f"[{order.index(citation) + 1}]" for citation in cited)

    renumbered = _CODE_OR_MARK.sub(renumber, text)
    rest = [citation for citation in dict.fromkeys(sources.values()) if citation not in order]
    return renumbered, tuple([*order, *rest][:MAX_CITATIONS])
