"""One namespace in memory: exact search over vectors and postings, fused into one score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gleaner_local.index._postings import Postings, Scores
from gleaner_local.index.embedder import DIMENSIONS, Vectors
from gleaner_local.index.terms import Terms, consists_of_pairs, query_parts, query_terms

# The share of the dense score in the fused score of a text that the embedder knows; the lexical score has the rest.
# See docs/decisions/0002.
DENSE_WEIGHT = 0.75
# The share of the parts of words in the lexical score of a text that the embedder does not know.
PARTS_WEIGHT = 0.5
# Most rows share parts of words with a question by chance. The level that few of them exceed is that of chance, unless
# there are few rows. Below it a score keeps its order, but hardly counts.
CHANCE_QUANTILE = 0.95
FEW_ROWS = 10
CHANCE_SHARE = 0.1
# A pair of characters that no text has is mostly no word, but the end of one and the start of the next.
ABSENT_PAIR_SHARE = 0.5
FIRST_SORT_ROWS = 1000


class Row(NamedTuple):
    """A record as both sides of the index use it; `vectors` has no rows when it was not embedded.

    `familiarity` says how well the embedder knows the text, 0 to 1. `parts` is empty when it knows it well.
    """

    key: int  # the key of the record in the store
    terms: Terms
    parts: Terms
    familiarity: float
    vectors: Vectors


class NamespaceRows:
    """Rows are appended or marked dead, never moved; `dead` counts the dead ones. Not thread-safe."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._words = Postings()
        self._parts = Postings()
        self._row_of: dict[int, int] = {}
        self._keys = _Column((), np.int64)
        self._alive = _Column((), np.bool_)
        self._lengths = _Column((), np.float32)
        self._part_lengths = _Column((), np.float32)
        self._familiarity = _Column((), np.float32)
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
        self._words.add(first, [row.terms for row in rows])
        self._parts.add(first, [row.parts for row in rows])
        counts = np.array([len(row.vectors) for row in rows])
        starts = len(self._windows.view) + np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._window_starts.extend(starts)
        self._window_counts.extend(counts)
        self._windows.extend(np.concatenate([row.vectors for row in rows]))
        self._lengths.extend(np.array([row.terms.counts.sum() for row in rows]))
        self._part_lengths.extend(np.array([row.parts.counts.sum() for row in rows]))
        self._familiarity.extend(np.array([row.familiarity for row in rows]))
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
        scores = self._lexical_scores(text)
        if vector is not None:
            weight = np.float32(DENSE_WEIGHT) * self._familiarity.view
            scores = weight * self._cosines(vector) + (1 - weight) * scores
        candidates = np.flatnonzero(alive & (scores > 0))
        for rows in _best_first(candidates, scores[candidates]):
            yield from zip(self._keys.view[rows].tolist(), np.minimum(scores[rows], 1.0).tolist(), strict=True)

    def _lexical_scores(self, text: str) -> Scores:
        """By words where the embedder knows the text, and by words and their parts where it does not."""
        alive = self._alive.view
        absent = ABSENT_PAIR_SHARE if consists_of_pairs(text) else 1.0
        scores = self._words.score(query_terms(text), self._lengths.view, alive, absent)
        cut = alive & (self._part_lengths.view > 0)
        if not cut.any():
            return scores
        share = np.float32(PARTS_WEIGHT) * (1 - self._familiarity.view[cut])
        parts = self._parts.score(query_parts(text), self._part_lengths.view, cut, absent)
        mixed: Scores = ((1 - share) * scores[cut] + share * parts[cut]).astype(np.float32)
        scores[cut] = _above_chance(mixed)
        return scores

    def _cosines(self, vector: Vectors) -> Scores:
        """The best cosine of each row's windows, at least 0; 0 for a row that was not embedded."""
        best = np.zeros(len(self._keys.view), dtype=np.float32)
        embedded = np.flatnonzero(self._window_counts.view)
        if len(embedded):
            similarity = self._windows.view @ vector
            best[embedded] = np.maximum.reduceat(similarity, self._window_starts.view[embedded])
        return np.maximum(best, 0.0)


def _above_chance(scores: Scores) -> Scores:
    """Stretch the scores so that the level of chance is about 0 and a complete match remains 1, in the same order."""
    level = float(np.quantile(scores, CHANCE_QUANTILE)) * len(scores) / (len(scores) + FEW_ROWS)
    return np.maximum((scores - level) / (1 - level), CHANCE_SHARE * scores) if level < 1 else scores


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
