"""Searches the web so that equal searches at the same time share one: within a process, and across processes."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from gleaner.clients.perplexity import TIMED_OUT, UnusableAnswer, WebSearch, WebSearchResult
from gleaner.clients.time_limit import run_within
from gleaner.errors import DeadlineExceeded, StoreUnavailable, WebSearchUnavailable
from gleaner.knowledge._single_flight import SingleFlight
from gleaner.model import Citation, new_id
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.spans import span
from gleaner.stores.items import pack_json, unpack_json
from gleaner.stores.search_leases import OtherSearch, SearchLeases

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_SEARCH_SECONDS = 12.0
_FAULTS = (StoreUnavailable, DeadlineExceeded, TimeoutError)  # of a request of the lease


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingLimits:
    """Times in seconds."""

    store: float = 1.0  # for one request of the lease; then the search goes on by itself
    margin: float = 2.0  # that a lease outlives its search, for writing the result and for clocks that differ
    result: float = 10.0  # that a result is left to others
    poll: tuple[float, float] = (0.2, 0.4)  # between two looks at the lease of another, drawn at random
    own_search: float = 5.0  # that a question keeps for a search of its own when it stops to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What one question asks the web."""

    query: str
    context: str | None
    scope: str | None  # only equal searches of one scope are shared; None: this one is not shared
    asked_at: datetime  # what searches found before then is not shared
    deadline: Deadline  # of the search, waiting for another included
    background: Background  # writes what is left to others, beside the rest of the question
    note_fault: Callable[[], None]  # called for each request of the lease that failed


class SharedWebSearch:
    """Searches the web. Safe to share between threads."""

    def __init__(self, web: WebSearch, leases: SearchLeases, limits: SharingLimits | None = None) -> None:
        self._web = web
        self._leases = leases
        self._limits = limits or SharingLimits()
        self._single_flight: SingleFlight[WebSearchResult | WebSearchUnavailable] = SingleFlight()

    def is_configured(self) -> bool:
        """Return whether there is a key. Raises what reading the key raises."""
        return self._web.is_configured()

    def search(self, request: SearchRequest) -> WebSearchResult:
        """Return the web's answer, or that of an equal search that runs now. Raises WebSearchUnavailable."""
        if request.scope is None:
            return self._search(request)
        search_id = self._web.identify(request.query, request.context, scope=request.scope)
        timeout = max(0.0, request.deadline.remaining())
        try:
            found, is_own = self._single_flight.run(
                search_id, lambda: _outcome(partial(self._search_or_wait, search_id, request)), timeout=timeout
            )
        except TimeoutError:
            raise WebSearchUnavailable(TIMED_OUT) from None
        if isinstance(found, WebSearchResult):
            return found if is_own else _as_shared(found)
        if isinstance(found, UnusableAnswer) and not is_own:
            raise UnusableAnswer(str(found), cost_usd=None, is_shared=True)
        raise found

    def _search_or_wait(self, search_id: str, request: SearchRequest) -> WebSearchResult:
        holder = new_id()
        try:
            other = self._take_or_wait(search_id, holder, request)
        except _FAULTS:
            logger.warning("a web search is not shared: its lease failed", exc_info=True)
            request.note_fault()
            other = None  # the lease may have been taken all the same; what is shared without it changes nothing
        if other is None:
            return self._search_for_others(search_id, holder, request)
        return _as_shared(unpack(other.result)) if other.result is not None else self._search(request)

    def _take_or_wait(self, search_id: str, holder: str, request: SearchRequest) -> OtherSearch | None:
        """Take the lease, at once or when its holder gave up. Return the other search if it ended or takes too long."""
        patience = Deadline(request.deadline.at - self._limits.own_search)
        other = self._take(search_id, holder, request)
        if other is None:
            return None
        with span("wait for an equal web search"):
            while other is not None and not other.has_ended() and (left := patience.remaining()) > 0:
                time.sleep(min(left, random.uniform(*self._limits.poll)))  # noqa: S311 - jitter, not security
                other = self._look(search_id, request) or self._take(search_id, holder, request)
        return other

    def _take(self, search_id: str, holder: str, request: SearchRequest) -> OtherSearch | None:
        seconds = _budget(request) + self._limits.margin
        take = partial(self._leases.take, search_id, holder, seconds=seconds, asked_at=request.asked_at)
        return self._within_limit(lambda limit: take(deadline=limit))

    def _look(self, search_id: str, request: SearchRequest) -> OtherSearch | None:
        return self._within_limit(lambda limit: self._leases.look(search_id, asked_at=request.asked_at, deadline=limit))

    def _search_for_others(self, search_id: str, holder: str, request: SearchRequest) -> WebSearchResult:
        try:
            result = self._search(request)
        except BaseException:  # whatever happened: others are waiting
            self._write(request, partial(self._leases.release, search_id, holder))
            raise
        share = partial(self._leases.share, search_id, holder, pack(result), seconds=self._limits.result)
        self._write(request, share)
        return result

    def _write(self, request: SearchRequest, write: Callable[..., None]) -> None:
        def write_or_note() -> None:
            try:
                write(deadline=Deadline.after(self._limits.store))
            except _FAULTS:
                request.note_fault()
                raise

        request.background.submit("lease of a web search", write_or_note)

    def _within_limit(self, call: Callable[[Deadline], T]) -> T:
        """Return what a request of the lease does, or raise TimeoutError: one that hangs must not delay the search."""
        seconds = self._limits.store
        return run_within(seconds, lambda: call(Deadline.after(seconds)))

    def _search(self, request: SearchRequest) -> WebSearchResult:
        return self._web.search(request.query, context=request.context, timeout=_budget(request))


def _budget(request: SearchRequest) -> float:
    """The seconds that a search which starts now may take."""
    return min(_MAX_SEARCH_SECONDS, request.deadline.remaining())


def _outcome(search: Callable[[], WebSearchResult]) -> WebSearchResult | WebSearchUnavailable:
    """What a search found or why it failed: those who share it must not count again what it cost."""
    try:
        return search()
    except WebSearchUnavailable as error:
        return error


def _as_shared(result: WebSearchResult) -> WebSearchResult:
    return replace(result, cost_usd=0.0, is_shared=True)


def pack(result: WebSearchResult) -> bytes:
    """The result for other processes of the same version."""
    return pack_json(asdict(result))


def unpack(packed: bytes) -> WebSearchResult:
    """The result that `pack` was given."""
    fields = unpack_json(packed)
    citations = tuple(Citation(**citation) for citation in fields.pop("citations"))
    return WebSearchResult(citations=citations, **fields)
