"""Parses responses of Perplexity's Agent API: text, sources, and whether they are complete."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gleaner.clients._perplexity_fields import AnswerFields, read_fields
from gleaner.errors import WebSearchUnavailable
from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts
from gleaner.model import Citation

MAX_CITATIONS = 10
MAX_ANSWER_CHARS = 20_000  # as long as a web page is; a stored answer is read again for every related question
_MAX_WORD_CHARS = 200  # that a cut goes back


class UnusableAnswer(WebSearchUnavailable):
    """The service works, but its answer is incomplete or has no text or no sources. It was paid for.

    `cost_usd` is None unless the service stated a cost in dollars. `is_shared`: another question's search paid for it.
    """

    def __init__(self, message: str, *, cost_usd: float | None, is_shared: bool = False) -> None:
        super().__init__(message)
        self.cost_usd = cost_usd
        self.is_shared = is_shared


# Code is matched first: `items[0]` in an example is not a citation mark.
# Some presets write marks as `[web:3]` or as links, `[3](https://…)`.
_CODE_OR_MARK = re.compile(
    r"(?P<code>```.*?(?:```|\Z)|`[^`\n]+`)"
    r"|[ \t]?\[(?P<marks>(?:web:)?\d+(?:\s*,\s*(?:web:)?\d+)*)\](?:\(https?://[^)\s]{0,2000}\))?",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchResult:
    """A complete answer of the web search.

    `[n]` in `answer` is the 1-based index of a source in `citations`. Sources come in the order of their first
    mention, followed by those not mentioned. `cost_usd` is None unless the service stated a cost in dollars. `left_out`
    counts what could not be read.
    """

    answer: str
    citations: tuple[Citation, ...]
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    left_out: int = 0
    is_shared: bool = False  # the result of another question's search, which paid for it
    used_blocked_host: bool = False  # a page of a blocked host was among the sources, and was left out


_UNFINISHED = ("failed", "in_progress", "queued", "requires_action")


def read_answer(body: bytes, blocked_hosts: BlockedHosts = NONE_BLOCKED) -> WebSearchResult:
    """Parse the body of a 200 response, field by field: what cannot be read is left out.

    Raises WebSearchUnavailable unless the answer is complete, with text and at least one usable source;
    the subclass UnusableAnswer if the service itself works.
    """
    try:
        answer = read_fields(body)
    except ValueError:
        raise WebSearchUnavailable("The web search gave an answer that cannot be read.") from None
    _require_complete(answer)
    sources = {mark: page for mark, page in answer.sources.items() if not blocked_hosts.blocks(page.url)}
    if not sources:
        raise UnusableAnswer("The web search found no sources.", cost_usd=answer.cost_usd)
    text, citations = _number_by_mention(_cut(answer.text.strip()), sources)
    if not text.strip():
        raise UnusableAnswer("The web search gave an answer without text.", cost_usd=answer.cost_usd)
    return WebSearchResult(
        answer=_cut(text.strip()),
        citations=citations,
        model=answer.model,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_usd=answer.cost_usd,
        left_out=answer.left_out,
        used_blocked_host=len(sources) < len(answer.sources),
    )


def _require_complete(answer: AnswerFields) -> None:
    """Let an answer without a known status pass: its text and its sources show what it is."""
    if answer.status == "incomplete":
        reason = answer.incomplete_reason
        # Show the reason only if it is a plain API code; anything else could be text of the answer.
        suffix = f" ({reason})" if re.fullmatch(r"[a-z_]{1,40}", reason) else ""
        message = f"The web search stopped before its answer was complete{suffix}."
        raise UnusableAnswer(message, cost_usd=answer.cost_usd)
    if answer.status == "cancelled":
        raise WebSearchUnavailable("The web search was cancelled by the service.")
    if answer.has_error or answer.status in _UNFINISHED:
        raise WebSearchUnavailable("The web search failed at the service.")


def _cut(text: str) -> str:
    """Cut a text to its maximum, after a word if one ends near there."""
    if len(text) <= MAX_ANSWER_CHARS:
        return text
    words = text[:MAX_ANSWER_CHARS].rsplit(maxsplit=1)
    return words[0] if len(words[0]) > MAX_ANSWER_CHARS - _MAX_WORD_CHARS else text[:MAX_ANSWER_CHARS]


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
