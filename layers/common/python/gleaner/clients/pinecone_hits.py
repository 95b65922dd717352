"""Reads search results of the Pinecone index hit by hit, so that a bad one costs no other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any, TypeVar

from pinecone import Index
from pinecone._internal.adapters.vectors_adapter import VectorsAdapter  # the SDK offers no other way to a raw answer
from pinecone.errors.exceptions import ResponseParsingError
from pinecone.models.vectors.search import Hit, SearchRecordsResponse, SearchResult, SearchUsage

from gleaner.clients._json_values import as_list, as_number, as_object, as_string, parse_json
from gleaner.clients.pinecone_records import SMALLEST_FIELD, from_wire
from gleaner.model import RecordHit

Found = TypeVar("Found")

# The SDK's decoder (msgspec 0.22.0) reads the types of an answer when it meets the first one. Two threads that do so at
# once end the process with a segmentation fault, and a question searches documents and stored answers at once.
VectorsAdapter.to_search_response(b'{"result":{"hits":[]},"usage":{"read_units":0}}')
VectorsAdapter.to_stats_response(b'{"namespaces":{}}')


class Hits(list[RecordHit]):
    """The hits of a search, and how many hits or scores could not be read."""

    left_out = 0


class LenientIndex(Index):
    """An index whose searches survive hits that the SDK cannot decode: it decodes an answer whole or not at all.

    The SDK sends a request that failed three times more. `max_pause` in seconds bounds its pauses, so that they end
    within the time of a search, and the caller learns what failed. Without it they take up to 10 seconds, and as long
    as the service asks for by `Retry-After`.

    A 429 comes back at once. The SDK would send the request three times more, also if the month's allowance is used up,
    and would wait for up to 90 seconds each time, so that the client could neither tell the two apart nor say that it
    waits. Without `repeats` it sends no request twice: one that was given up must not be sent behind the caller's back.
    """

    def __init__(self, *, host: str, api_key: str, repeats: bool = True, max_pause: float | None = None) -> None:
        super().__init__(host=host, api_key=api_key)
        self._adapter = LenientAdapter()
        transport: Any = self._http._client._transport  # an index takes no configuration of retries
        retries = transport._config
        transport._config = replace(
            retries,
            max_retries=retries.max_retries if repeats else 0,
            max_wait=retries.max_wait if max_pause is None else max_pause,
            retryable_status_codes=retries.retryable_status_codes - {HTTPStatus.TOO_MANY_REQUESTS},
        )


class LenientAdapter(VectorsAdapter):
    """Decodes search results hit by hit where the SDK cannot decode them whole."""

    @staticmethod
    def to_search_response(data: bytes) -> SearchRecordsResponse:
        """The response as the SDK decodes it, or hit by hit if it cannot. Raises ResponseParsingError."""
        try:
            return VectorsAdapter.to_search_response(data)
        except (ResponseParsingError, UnicodeDecodeError, RecursionError) as error:  # the SDK wraps the first only
            hits = _find_hits(data)
            if hits is None or (hits and not _has_any(hits)):
                raise ResponseParsingError("The answer is no search result.") from error
        return SearchRecordsResponse(result=SearchResult(hits=hits), usage=SearchUsage(read_units=0))


def _find_hits(data: bytes) -> list[Hit] | None:
    """The hits in the body of an answer; None if it has no list of them."""
    try:
        result = as_object(as_object(parse_json(data)).get("result"))
    except ValueError:
        return None
    hits = result.get("hits", "")
    return [*map(_to_hit, as_list(hits))] if isinstance(hits, list | None) else None


def _has_any(hits: Sequence[Hit]) -> bool:
    """Whether any hit is of use: one with a text, or one of a search for ids."""
    return bool(read_hits(hits) or read_scores([hit for hit in hits if hit.fields.keys() == {SMALLEST_FIELD}])[0])


def _to_hit(value: Any) -> Hit:
    hit = as_object(value)
    score = as_number(hit.get("_score"))
    return Hit(
        id_=as_string(hit.get("_id")),
        score_=math.nan if score is None else score,
        fields=as_object(hit.get("fields")),
    )


def read_hits(hits: Sequence[Hit]) -> Hits:
    """The hits that have an id and a text, without those with a negative score, in their order.

    Scores of a metric without an upper bound, such as the dot product, are divided by the highest. A score that is no
    number counts as the lowest: the text may be useful nevertheless.
    """
    records = [(record, as_number(hit.score)) for hit in hits if hit.id and (record := from_wire(hit.id, hit.fields))]
    found = Hits(RecordHit(record=record, score=score) for record, score in _scale(records))
    found.left_out = len(hits) - len(records) + sum(score is None for _, score in records)
    return found


def read_scores(hits: Sequence[Hit]) -> tuple[dict[str, float], int]:
    """The scores of the hits that have an id, by id, as `read_hits` has them; and how many parts could not be read."""
    scores = [(hit.id, as_number(hit.score)) for hit in hits if hit.id]
    return dict(_scale(scores)), len(hits) - len(scores) + sum(score is None for _, score in scores)


def _scale(found: Sequence[tuple[Found, float | None]]) -> Iterator[tuple[Found, float]]:
    scores = [score for _, score in found if score is not None and score >= 0]
    highest, lowest = max([1.0, *scores]), min(scores, default=0.0)
    for hit, read in found:
        score = lowest if read is None else read
        if score >= 0:
            yield hit, score / highest
