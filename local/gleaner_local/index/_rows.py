"""One namespace in memory: exact search over vectors and postings, fused into one score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gleaner_local.index._postings import Postings, Scores
from gleaner_local.index.embedder import DIMENSIONS, Vectors
from gleaner_local.index.terms import Counts, Keys, query_terms

# The share of the dense score in the fused score; the lexical score has the rest. See docs/decisions/0002.
DENSE_WEIGHT = 0.75
FIRST_SORT_ROWS = 1000


class Row(NamedTuple):
    """A record as both sides of the index use it; `vectors` has no rows when it was not embedded."""

    key: int  # the key of the record in the store
    keys: Keys
    counts: Counts
    vectors: Vectors


class NamespaceRows:
    """Rows are appended or marked dead, never moved; `dead` counts the dead ones. Not thread-safe."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._postings = Postings()
        self._row_of: dict[int, int] = {}
        self._keys = _Column((), np.int64)
        self._alive = _Column((), np.bool_)
        self._lengths = _Column((), np.float32)
        self._window_starts = _Column((), np.int64)
        self._window_counts = _Column((), np.int64)
        self._windows = _Column((DIMENSIONS,), np.float32)
        self.dead = 0
        self.add(rows)

    def __len__(self) -> int:
        """The number of live rows."""
        return len(self._row_of)

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows; their keys must be new."""
        if not rows:
            return
        first = len(self._keys.view)
        self._postings.add(first, [(row.keys, row.counts) for row in rows])
        counts = np.array([len(row.vectors) for row in rows])
        starts = len(self._windows.view) + np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._window_starts.extend(starts)
        self._window_counts.extend(counts)
        self._windows.extend(np.concatenate([row.vectors for row in rows]))
        self._lengths.extend(np.array([row.counts.sum() for row in rows]))
        self._alive.extend(np.ones(len(rows), dtype=np.bool_))
        self._keys.extend(np.array([row.key for row in rows]))
        self._row_of.update((row.key, first + offset) for offset, row in enumerate(rows))

    def remove(self, keys: Sequence[int]) -> None:
        """Mark the rows of these keys dead; unknown keys are ignored."""
        for key in keys:
            row = self._row_of.pop(key, None)
            if row is not None:
                self._alive.view[row] = False
                self.dead += 1

    def rank(self, text: str, vector: Vectors | None) -> Iterator[tuple[int, float]]:
        """Yield key and score (0 to 1) of every live row that scores above 0, best first.

        Without a vector only the lexical score counts.
        """
        alive = self._alive.view
        scores = self._postings.score(query_terms(text), self._lengths.view, alive)
        if vector is not None:
            scores = DENSE_WEIGHT * self._cosines(vector) + (1 - DENSE_WEIGHT) * scores
        candidates = np.flatnonzero(alive & (scores > 0))
        for rows in _best_first(candidates, scores[candidates]):
            yield from zip(self._keys.view[rows].tolist(), np.minimum(scores[rows], 1.0).tolist(), strict=True)

    def _cosines(self, vector: Vectors) -> Scores:
        """The best cosine of each row's windows, at least 0; 0 for a row that was not embedded."""
        best = np.zeros(len(self._keys.view), dtype=np.float32)
        embedded = np.flatnonzero(self._window_counts.view)
        if len(embedded):
            similarity = self._windows.view @ vector
            best[embedded] = np.maximum.reduceat(similarity, self._window_starts.view[embedded])
        return np.maximum(best, 0.0)


def _best_first(rows: NDArray[np.int64], scores: Scores) -> Iterator[NDArray[np.int64]]:
    """Yield the rows by descending score, in two parts: few searches read the second, so few sort everything."""
    if len(rows) > FIRST_SORT_ROWS:
        split = np.argpartition(-scores, FIRST_SORT_ROWS)
        rows, scores = rows[split], scores[split]
    for part in (slice(None, FIRST_SORT_ROWS), slice(FIRST_SORT_ROWS, None)):
        yield rows[part][np.argsort(-scores[part], kind="stable")]


class _Column:
    """A numpy array that grows at its end."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._array = np.empty((16, *shape), dtype=dtype)
        self._size = 0

    @property
    def view(self) -> NDArray[Any]:
        """The filled part; writing to it changes the column."""
        return self._array[: self._size]

    def extend(self, values: NDArray[Any]) -> None:
        """Append; the capacity at least doubles, so appending one by one takes linear time."""
        new_size = self._size + len(values)
        if new_size > len(self._array):
            larger = np.empty((max(new_size, 2 * len(self._array)), *self._array.shape[1:]), self._array.dtype)
            larger[: self._size] = self.view
            self._array = larger
        self._array[self._size : new_size] = values
        self._size = new_size
