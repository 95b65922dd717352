"""Embeds each query once: one question searches several namespaces by the same text, mostly at the same time."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future

from gleaner_local.index.embedder import Vectors

MAX_QUERIES = 256  # of which the vectors are kept: 1.5 KB for each window, and no text


class QueryVectors:
    """The vectors of recent queries, as `embed` returns them. Thread-safe; calls for one query share one run."""

    def __init__(self, embed: Callable[[str], Vectors]) -> None:
        self._embed = embed
        self._lock = threading.Lock()
        self._recent: OrderedDict[bytes, Future[Vectors]] = OrderedDict()

    def of(self, query: str) -> Vectors:
        """The vectors of the windows of a query, read-only. Raises what `embed` raises, which is not kept."""
        key = hashlib.sha256(query.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            known = self._recent.pop(key, None)
            future = self._recent[key] = known or Future()
            if len(self._recent) > MAX_QUERIES:
                self._recent.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            vectors = self._embed(query)
        except BaseException as error:
            with self._lock:
                if self._recent.get(key) is future:
                    del self._recent[key]
            future.set_exception(error)
            raise
        vectors.flags.writeable = False
        future.set_result(vectors)
        return vectors
