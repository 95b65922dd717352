"""Embeds each query once: one question searches several namespaces by the same text, mostly at the same time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from gleaner_local.index.embedder import Vectors

MAX_QUERIES = 256  # of which the vectors are kept: 1.5 KB each


class QueryVectors:
    """The vectors of recent queries, as `embed` returns them. Thread-safe; calls for one query share one run."""

    def __init__(self, embed: Callable[[str], Vectors]) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Future[Vectors]] = OrderedDict()

    def of(self, query: str) -> Vectors:
        """The vectors of the windows of a query, read-only. Raises what `embed` raises, which is not kept."""
        with self._lock:
            known = self._recent.pop(query, None)
            future = self._recent[query] = known or Future()
            if len(self._recent) > MAX_QUERIES:
                self._recent.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            vectors = self._embed(query)
        except BaseException as error:
            with self._lock:
                if self._recent.get(query) is future:
                    del self._recent[query]
            future.set_exception(error)
            raise
        vectors.flags.writeable = False
        future.set_result(vectors)
        return vectors
