"""The knowledge base: text records in a Pinecone index with integrated embedding, a namespace for each."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TypeVar

from pinecone import ApiError, Index, NotFoundError, PineconeConnectionError, PineconeError, PineconeTimeoutError

from gleaner.clients.pinecone_records import from_wire, to_wire
from gleaner.clients.time_limit import run_within
from gleaner.errors import KnowledgeBaseUnavailable
from gleaner.model import JsonObject, Record, RecordHit

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

# What one request may hold, by the service's published limits.
UPSERT_RECORDS = 96
UPSERT_BYTES = 2_000_000
DELETE_IDS = 1000
# Ids travel in the query string of a fetch: the length of the URL is the limit that is met first.
FETCH_IDS = 50
FETCH_ID_BYTES = 6_000


class KnowledgeBase:
    """Searches and writes the records of every knowledge base in one index (namespace = kb_id).

    Every failure of the service is KnowledgeBaseUnavailable; a knowledge base that does not exist is empty.
    `timeout` is the wall-clock limit in seconds of one request, the SDK's own retries included: the SDK
    always retries its data-plane calls, for up to some minutes, and offers no switch.
    """

    def __init__(self, index: Callable[[], Index]) -> None:
        """`index` is asked at every request: the SDK binds an index to one key, and keys change."""
        self._index = index

    def search(self, kb_id: str, query: str, *, top_k: int, timeout: float) -> list[RecordHit]:
        """The `top_k` records that match `query` best, best first, each with a score from 0 to 1."""
        call = partial(self._index().search, namespace=kb_id, top_k=top_k, inputs={"text": query}, timeout=timeout)
        response = _request(call, timeout=timeout)
        hits = []
        for hit in response.result.hits if response else ():
            record = from_wire(hit.id, hit.fields)
            if record is None:
                logger.warning("A record without text was left out of the search result")
                continue
            hits.append(RecordHit(record=record, score=min(1.0, max(0.0, hit.score))))
        return hits

    def upsert(self, kb_id: str, records: Sequence[Record], *, timeout: float) -> None:
        """Write records, replacing those of the same id, in requests of at most 96 records and 2 MB."""
        for batch in _batches([to_wire(record) for record in records], _json_bytes, UPSERT_RECORDS, UPSERT_BYTES):
            _request(
                partial(self._index().upsert_records, namespace=kb_id, records=batch, timeout=timeout),
                timeout=timeout,
            )

    def list_ids(self, kb_id: str, *, prefix: str = "", timeout: float) -> Iterator[str]:
        """The ids that begin with `prefix`, page by page; `timeout` is for each page."""
        token: str | None = None
        while True:
            call = partial(
                self._index().list_paginated,
                prefix=prefix or None,
                namespace=kb_id,
                pagination_token=token,
                timeout=timeout,
            )
            page = _request(call, timeout=timeout)
            if page is None:
                return
            yield from (item.id for item in page.vectors if item.id is not None)
            token = page.pagination.next if page.pagination else None
            if not token:
                return

    def fetch(self, kb_id: str, ids: Sequence[str], *, timeout: float) -> dict[str, Record]:
        """The stored records by id; an id that is not stored, or has no text, is missing from the result."""
        found: dict[str, Record] = {}
        for batch in _batches(ids, _text_bytes, FETCH_IDS, FETCH_ID_BYTES):
            response = _request(
                partial(self._index().fetch, ids=batch, namespace=kb_id, timeout=timeout), timeout=timeout
            )
            for record_id, vector in response.vectors.items() if response else ():
                record = from_wire(record_id, vector.metadata)
                if record is not None:
                    found[record_id] = record
        return found

    def delete(self, kb_id: str, ids: Sequence[str], *, timeout: float) -> None:
        """Delete records by id; ids that are not stored are ignored."""
        for batch in _batches(ids, _text_bytes, DELETE_IDS, UPSERT_BYTES):
            _request(partial(self._index().delete, ids=batch, namespace=kb_id, timeout=timeout), timeout=timeout)

    def record_counts(self, *, timeout: float) -> dict[str, int]:
        """How many records each knowledge base holds; the service counts with some delay."""
        stats = _request(partial(self._index().describe_index_stats, timeout=timeout), timeout=timeout)
        return {name: summary.vector_count for name, summary in stats.namespaces.items()} if stats else {}


def connect(*, host: str, api_key: Callable[[], str]) -> KnowledgeBase:
    """The knowledge base at the index host; sends nothing yet.

    `api_key` is asked at every request; what it raises, a request raises.
    """

    @lru_cache(maxsize=1)
    def index_of(key: str) -> Index:
        return Index(host=host, api_key=key)  # by itself: a whole client reads all certificates once more

    index_of("none yet")  # loads most of the SDK: also before a snapshot is taken, when there is no key
    return KnowledgeBase(lambda: index_of(api_key()))


def _request(call: Callable[[], Result], *, timeout: float) -> Result | None:
    """What `call` returns, or None when the namespace does not exist."""
    try:
        return run_within(timeout, call)
    except NotFoundError as error:
        if _names_namespace(error):
            return None
        raise KnowledgeBaseUnavailable(_reason(error)) from error
    except PineconeTimeoutError as error:
        raise KnowledgeBaseUnavailable(_TIMED_OUT) from error
    except PineconeError as error:
        raise KnowledgeBaseUnavailable(_reason(error)) from error
    except TimeoutError as error:
        raise KnowledgeBaseUnavailable(_TIMED_OUT) from error


_TIMED_OUT = "The knowledge base did not answer in time."


def _names_namespace(error: PineconeError) -> bool:
    """Whether a 404 speaks of the namespace: a mistyped host answers 404 too, and must not pass as empty."""
    return "namespace" in error.message.lower()


def _reason(error: PineconeError) -> str:
    """What went wrong, without the service's own text, which may repeat what was sent."""
    if isinstance(error, ApiError):
        if error.status_code in (401, 403):
            return f"The knowledge base refused the API key (HTTP {error.status_code})."
        return f"The knowledge base answered HTTP {error.status_code}."
    if isinstance(error, PineconeConnectionError):
        return "The knowledge base could not be reached."
    return f"The request to the knowledge base failed ({type(error).__name__})."


def _batches(
    items: Sequence[Result], size: Callable[[Result], int], count_limit: int, size_limit: int
) -> Iterator[list[Result]]:
    """Items in order, in lists of at most `count_limit` whose sizes add up to at most `size_limit`.

    An item that is too large by itself is sent alone: the service says why it refuses it.
    """
    batch: list[Result] = []
    total = 0
    for item in items:
        item_size = size(item)
        if batch and (len(batch) == count_limit or total + item_size > size_limit):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_size
    if batch:
        yield batch


def _json_bytes(item: JsonObject) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 1


def _text_bytes(item: str) -> int:
    return len(item.encode("utf-8", "surrogatepass"))
