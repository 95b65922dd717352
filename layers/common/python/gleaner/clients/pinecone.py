"""The knowledge bases: text records in a Pinecone index with integrated embedding, one namespace each."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import TypeVar

from pinecone import Index, PineconeError
from pinecone.models.vectors.search import Hit

from gleaner.clients import pinecone_failures
from gleaner.clients.pinecone_hits import Hits, LenientIndex, read_hits, read_scores
from gleaner.clients.pinecone_records import SMALLEST_FIELD, from_wire, to_wire
from gleaner.clients.time_limit import run_within
from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseQuotaUsed, KnowledgeBaseTimedOut, KnowledgeBaseUnavailable
from gleaner.model import ANSWERS_SUFFIX, JsonObject, Record
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.runtime.spans import note, span

Result = TypeVar("Result")

logger = logging.getLogger(__name__)

# The service's published limits for one request.
MAX_UPSERT_RECORDS = 96
MAX_UPSERT_BYTES = 2_000_000
MAX_DELETE_IDS = 1000
# A fetch sends its ids in the query string, where the maximum length of a URL is reached first.
MAX_FETCH_IDS = 50
MAX_FETCH_ID_BYTES = 6_000
# Between two times that the SDK sends a request, which it does four times; three pauses fit into the time of a search.
# It makes a pause of `Retry-After` up to half as long again.
MAX_PAUSE_SECONDS = 0.75
# A request that is refused because too many come at once is sent once more, after part of the second that is limited.
_ATTEMPTS = 2
_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.25, 1.25

# Waits before a request that failed is sent again, or raises the error. The number counts from 0 for each request.
Wait = Callable[[KnowledgeBaseUnavailable, int], None]
# Is told before a request is sent how many seconds it may take, and raises an error if it may not be sent.
Permit = Callable[[float], None]


class KnowledgeBase:
    """Searches and writes the records of every knowledge base in one index (namespace = kb_id).

    Every failure of the service raises KnowledgeBaseUnavailable; a knowledge base that does not exist is empty.
    KnowledgeBaseBusy and KnowledgeBaseQuotaUsed say that the service refuses more for now, or by its plan.
    `timeout` is the wall-clock limit in seconds for one request, including the SDK's own retries of server errors,
    which take up to several minutes unless their pauses are bounded (`connect`).
    """

    def __init__(
        self, index: Callable[[], Index], wait: Wait | None = None, permit: Permit = lambda _seconds: None
    ) -> None:
        """`index` is called for every request: the SDK binds an index to one key, and keys are rotated."""
        self._index = index
        self._wait = wait
        self._permit = permit

    def patient(self, wait: Wait, permit: Permit = lambda _seconds: None) -> KnowledgeBase:
        """The same index, for loading: a request that failed is sent again whenever `wait` returns.

        `permit` is asked each time before a request is sent.
        """
        return KnowledgeBase(self._index, wait, permit)

    def search(self, kb_id: str, query: str, *, top_k: int, timeout: float, filter: JsonObject | None = None) -> Hits:
        """Return the `top_k` best matches for `query`, best first, each with a score from 0 to 1.

        `filter` is a condition on fields in the service's language.
        """
        hits = read_hits(self._search(kb_id, query, top_k, timeout, filter, None))
        _warn_of_losses(hits.left_out)
        return hits

    def search_ids(
        self, kb_id: str, query: str, *, top_k: int, timeout: float, filter: JsonObject | None = None
    ) -> dict[str, float]:
        """Return the scores of the same matches by id, without their texts."""
        scores, left_out = read_scores(self._search(kb_id, query, top_k, timeout, filter, [SMALLEST_FIELD]))
        _warn_of_losses(left_out)
        return scores

    def _search(
        self,
        kb_id: str,
        query: str,
        top_k: int,
        timeout: float,
        condition: JsonObject | None,
        fields: Sequence[str] | None,
    ) -> Sequence[Hit]:
        call = partial(
            self._index().search,
            namespace=kb_id,
            top_k=top_k,
            inputs={"text": query},
            filter=condition,
            fields=fields,
            timeout=timeout,
        )
        response = self._send("search", call, timeout=timeout)
        return response.result.hits if response else ()

    def upsert(self, kb_id: str, records: Sequence[Record], *, timeout: float) -> None:
        """Write records, replacing those with the same id, in requests of at most 96 records and 2 MB."""
        for batch in _split_into_batches(
            [to_wire(record) for record in records], _count_json_bytes, MAX_UPSERT_RECORDS, MAX_UPSERT_BYTES
        ):
            self._send(
                "upsert",
                partial(self._index().upsert_records, namespace=kb_id, records=batch, timeout=timeout),
                timeout=timeout,
            )

    def list_ids(self, kb_id: str, *, prefix: str = "", timeout: float) -> Iterator[str]:
        """Yield the ids that start with `prefix`, page by page; `timeout` applies to each page."""
        for _, ids in self.list_pages(kb_id, prefix=prefix, timeout=timeout):
            yield from ids

    def list_pages(
        self, kb_id: str, *, prefix: str = "", token: str | None = None, timeout: float
    ) -> Iterator[tuple[str | None, list[str]]]:
        """Yield pages of the ids that start with `prefix`, from `token` on, each with the token that requests it.

        Ids are sorted by their bytes (docs.pinecone.io/guides/manage-data/list-record-ids).
        """
        while True:
            call = partial(
                self._index().list_paginated,
                prefix=prefix or None,
                namespace=kb_id,
                pagination_token=token,
                timeout=timeout,
            )
            page = self._send("list", call, timeout=timeout)
            if page is None:
                return
            yield token, [item.id for item in page.vectors if item.id is not None]
            token = page.pagination.next if page.pagination else None
            if not token:
                return

    def fetch(self, kb_id: str, ids: Sequence[str], *, timeout: float) -> dict[str, Record]:
        """Return the stored records by id, without ids that are not stored or have no text."""
        records: dict[str, Record] = {}
        for batch in _split_into_batches(ids, _count_text_bytes, MAX_FETCH_IDS, MAX_FETCH_ID_BYTES):
            call = partial(self._index().fetch, ids=batch, namespace=kb_id, timeout=timeout)
            response = self._send("fetch", call, timeout=timeout)
            for record_id, vector in response.vectors.items() if response else ():
                record = from_wire(record_id, vector.metadata)
                if record is not None:
                    records[record_id] = record
        return records

    def delete(self, kb_id: str, ids: Sequence[str], *, timeout: float) -> None:
        """Delete records by id; ids that are not stored are ignored."""
        for batch in _split_into_batches(ids, _count_text_bytes, MAX_DELETE_IDS, MAX_UPSERT_BYTES):
            call = partial(self._index().delete, ids=batch, namespace=kb_id, timeout=timeout)
            self._send("delete", call, timeout=timeout)

    def record_counts(self, *, timeout: float) -> dict[str, int]:
        """Return the number of records in each knowledge base; the service updates it with some delay.

        What was learned for a knowledge base is not counted, and does not make it exist.
        """
        return {kb_id: count for kb_id, count in self._count(timeout).items() if not kb_id.endswith(ANSWERS_SUFFIX)}

    def learned_kb_ids(self, *, timeout: float) -> list[str]:
        """Return the knowledge bases for which something was learned."""
        names = self._count(timeout)
        return sorted(name.removesuffix(ANSWERS_SUFFIX) for name in names if name.endswith(ANSWERS_SUFFIX))

    def _send(self, operation: str, call: Callable[[], Result], *, timeout: float) -> Result | None:
        """The result of `_request`. One that is refused for now is sent once more within `timeout`, or `_wait`s.

        Each time that it is sent may take `timeout` if there is a `_wait`: loading has no deadline.
        """
        if self._wait is None:
            deadline = Deadline.after(timeout)
            return with_retries(
                lambda: _request(operation, call, timeout=deadline.remaining()),
                retry_after=_pause_before_retry,
                deadline=deadline,
                attempts=_ATTEMPTS,
            )
        for waits in count():
            self._permit(timeout)
            try:
                return _request(operation, call, timeout=timeout)
            except KnowledgeBaseQuotaUsed:  # for longer than anybody waits
                raise
            except KnowledgeBaseUnavailable as error:
                self._wait(error, waits)
        raise AssertionError("count() does not end")

    def _count(self, timeout: float) -> dict[str, int]:
        """The number of records in each namespace."""
        stats = self._send("stats", partial(self._index().describe_index_stats, timeout=timeout), timeout=timeout)
        return {name: summary.vector_count for name, summary in stats.namespaces.items()} if stats else {}


def connect(
    *, host: str, api_key: Callable[[], str], repeats: bool = True, max_pause: float | None = MAX_PAUSE_SECONDS
) -> KnowledgeBase:
    """Build the client of the index at `host`; sends nothing yet.

    `api_key` is called for every request, which raises whatever it raises. Without `repeats` the SDK sends no request
    again by itself; otherwise `max_pause` bounds the seconds between two times, unless it is None.
    """

    @lru_cache(maxsize=1)
    def index_of(key: str) -> Index:
        # Without a `Pinecone` client, which would read all certificates again.
        return LenientIndex(host=host, api_key=key, repeats=repeats, max_pause=max_pause)

    index_of("none yet")  # loads most of the SDK now, also before a snapshot, when there is no key yet
    return KnowledgeBase(lambda: index_of(api_key()))


def _warn_of_losses(count: int) -> None:
    if count:
        logger.warning("parts of a search result were left out", extra={"left_out": count})


def _pause_before_retry(error: Exception) -> float | None:
    """How long to wait before a request is sent again; None if it is not."""
    if not isinstance(error, KnowledgeBaseBusy):
        return None
    jitter = random.uniform(_MIN_PAUSE_SECONDS, _MAX_PAUSE_SECONDS)  # noqa: S311 - not security
    return jitter if error.retry_after is None else error.retry_after + jitter


def _request(operation: str, call: Callable[[], Result], *, timeout: float) -> Result | None:
    """Return the result of `call`, or None when the namespace does not exist."""
    with span("knowledge base", operation=operation):
        try:
            return run_within(timeout, call)
        except PineconeError as error:
            if pinecone_failures.is_about_namespace(error):
                return None
            note(http_status=pinecone_failures.status_of(error))
            raise pinecone_failures.translate(error) from error
        except (UnicodeDecodeError, RecursionError) as error:  # from the SDK's decoder
            raise KnowledgeBaseUnavailable("The knowledge base gave an answer that cannot be read.") from error
        except TimeoutError as error:
            raise KnowledgeBaseTimedOut(pinecone_failures.TIMED_OUT) from error


def _split_into_batches(
    items: Sequence[Result], size: Callable[[Result], int], max_count: int, max_size: int
) -> Iterator[list[Result]]:
    """Split items, in order, into lists of at most `max_count` items with a total size of at most `max_size`.

    An item that is too large by itself is sent alone: the service will say why it refuses it.
    """
    batch: list[Result] = []
    total = 0
    for item in items:
        item_size = size(item)
        if batch and (len(batch) == max_count or total + item_size > max_size):
            yield batch
            batch, total = [], 0
        batch.append(item)
        total += item_size
    if batch:
        yield batch


def _count_json_bytes(item: JsonObject) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 1


def _count_text_bytes(item: str) -> int:
    return len(item.encode("utf-8", "surrogatepass"))
