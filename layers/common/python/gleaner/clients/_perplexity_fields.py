"""Reads the fields of an answer of Perplexity's Agent API one by one: what is bad is left out, and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gleaner.addresses import is_page_address
from gleaner.clients._json_values import as_count, as_model_name, as_number, as_object, as_string, parse_json
from gleaner.model import Citation, JsonObject

# In characters. An answer must fit into one DynamoDB item together with its pages.
MAX_TITLE_CHARS = 300
MAX_SNIPPET_CHARS = 1_000
_MAX_DATE_CHARS = 40
_MAX_COST_USD = 100.0  # of one search; a greater one is a mistake

_MARK = re.compile(r"\[(?:web:)?(\d{1,9})\]")
_TEXT_PARTS = ("output_text", "text")

_Source = tuple[str, Citation]  # a source and the id that marks refer to, which may be empty


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFields:
    """What could be read of an answer. `sources` are by the ids that marks refer to; `left_out` counts fields."""

    status: str
    has_error: bool
    incomplete_reason: str
    text: str
    sources: dict[str, Citation]
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    left_out: int


def read_fields(body: bytes) -> AnswerFields:
    """Read the body of a 200 response. Raises ValueError if it has no list of output items."""
    answer = as_object(parse_json(body))
    output = answer.get("output")
    if not ("output" in answer or isinstance(answer.get("status"), str)) or not isinstance(output, list | None):
        raise ValueError("no answer of the Agent API")
    reader = _Reader()
    items = reader.objects(output)
    messages = [reader.parts(item) for item in items if _is_a(item, "message", "content")]
    results = [result for item in items if _is_a(item, "search_results", "results") for result in reader.results(item)]
    # Search results carry the ids of marks; annotations repeat them.
    sources = results or [source for parts in messages for part in parts for source in reader.annotations(part)]
    usage = reader.object(answer.get("usage"))
    return AnswerFields(
        status=as_string(answer.get("status")),
        has_error=_says_something(answer.get("error")),
        incomplete_reason=as_string(as_object(answer.get("incomplete_details")).get("reason")),
        text="\n\n".join("".join(as_string(part.get("text")) for part in parts) for parts in messages),
        sources=_by_id(sources),
        model=as_model_name(answer.get("model")),
        input_tokens=reader.count(usage.get("input_tokens")),
        output_tokens=reader.count(usage.get("output_tokens")),
        cost_usd=reader.cost(reader.object(usage.get("cost"))),
        left_out=reader.left_out,
    )


class _Reader:
    """Reads values, and counts those that are of no use. A null is a missing value where there may be none."""

    def __init__(self) -> None:
        self.left_out = 0

    def objects(self, value: Any) -> list[JsonObject]:
        values = value if isinstance(value, list) else [] if value is None else [value]
        return [item for item in values if self._keeps(isinstance(item, dict))]

    def object(self, value: Any) -> JsonObject:
        self._keeps(isinstance(value, dict | None))
        return as_object(value)

    def count(self, value: Any) -> int:
        count = as_count(value)
        self._keeps(count > 0 or value in (None, 0))
        return count

    def cost(self, cost: JsonObject) -> float | None:
        """The stated cost in dollars."""
        value = cost.get("total_cost")
        dollars = as_number(value)
        is_believable = dollars is not None and 0 <= dollars <= _MAX_COST_USD
        self._keeps(is_believable or value is None)
        return dollars if is_believable and cost.get("currency", "USD") in ("USD", None) else None

    def parts(self, message: JsonObject) -> list[JsonObject]:
        """The parts with text; some services send a text in place of parts."""
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) else self.objects(content)
        texts = [part for part in parts if _is_text(part)]
        return [part for part in texts if self._keeps(isinstance(part.get("text"), str))]

    def results(self, item: JsonObject) -> Iterator[_Source]:
        """The sources of a list of search results."""
        for result in self.objects(item.get("results")):
            if citation := self._citation(result):
                yield self._id(result.get("id")), citation

    def annotations(self, part: JsonObject) -> Iterator[_Source]:
        """The sources that are named beside a text, each for a range of characters that may hold its mark."""
        text = as_string(part.get("text"))
        for annotation in self.objects(part.get("annotations")):
            if citation := self._citation(as_object(annotation.get("url_citation")) or annotation):
                start, end = as_count(annotation.get("start_index")), as_count(annotation.get("end_index"))
                mark = _MARK.search(text[start:end])
                yield mark[1] if mark else "", citation

    def _citation(self, page: JsonObject) -> Citation | None:
        url = as_string(page.get("url")).strip()
        if not self._keeps(is_page_address(url)):
            return None
        title, snippet, date = map(self._text, map(page.get, ("title", "snippet", "date")))
        return Citation(
            url=url,
            title=(title or url)[:MAX_TITLE_CHARS],
            snippet=snippet[:MAX_SNIPPET_CHARS],
            date=date if date and self._keeps(len(date) <= _MAX_DATE_CHARS) else None,
        )

    def _text(self, value: Any) -> str:
        self._keeps(isinstance(value, str | None))
        return as_string(value).strip()

    def _id(self, value: Any) -> str:
        number = as_number(value)
        if number is not None and number.is_integer():
            return str(int(number))
        self._keeps(isinstance(value, str | None))
        return as_string(value).strip().removeprefix("web:")

    def _keeps(self, is_good: bool) -> bool:
        self.left_out += not is_good
        return is_good


def _is_a(item: JsonObject, kind: str, content: str) -> bool:
    """Whether an item is of a kind; one without a readable type is what it holds."""
    return item["type"] == kind if isinstance(item.get("type"), str) else content in item


def _is_text(part: JsonObject) -> bool:
    return part["type"] in _TEXT_PARTS if isinstance(part.get("type"), str) else "text" in part


def _says_something(error: Any) -> bool:
    return any(error.values()) if isinstance(error, dict) else bool(error)


def _by_id(sources: Iterable[_Source]) -> dict[str, Citation]:
    """Sources by id; a page that occurs twice is one source. Where none has an id, marks count the pages."""
    by_url: dict[str, Citation] = {}
    by_id: dict[str, Citation] = {}
    for mark, citation in sources:
        page = by_url.setdefault(citation.url, citation)
        by_id.setdefault(mark or page.url, page)
    if not any(page.url != mark for mark, page in by_id.items()):
        return {str(number): page for number, page in enumerate(by_url.values(), 1)}
    return by_id
