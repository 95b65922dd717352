"""The lexical side of one namespace: BM25 over postings in memory, on a scale that all queries share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gleaner_local.index.terms import Counts, Keys

Scores = NDArray[np.float32]
Rows = NDArray[np.int32]

K1 = 1.2
B = 0.75
# In a small collection document frequencies say little: of three chunks, a word in two of them is not
# common. A collection is weighed as if it had at least this many, which also keeps scores of small and
# large collections comparable.
LEAST_DOCUMENTS = 1000


class _Segment(NamedTuple):
    """Postings sorted by key."""

    keys: Keys
    rows: Rows
    counts: Counts


class Postings:
    """Which rows hold which term how often. Rows are numbers given by the caller and are never taken out:
    the caller says which ones are alive.
    """

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def add(self, first_row: int, documents: Sequence[tuple[Keys, Counts]]) -> None:
        """Add documents as the rows from `first_row` on."""
        if not documents:
            return
        sizes = [len(keys) for keys, _ in documents]
        rows = np.repeat(np.arange(first_row, first_row + len(documents), dtype=np.int32), sizes)
        self._segments.append(
            _sorted(
                np.concatenate([keys for keys, _ in documents]),
                rows,
                np.concatenate([counts for _, counts in documents]),
            )
        )
        # Segments grow geometrically: each posting is sorted again a logarithmic number of times.
        while len(self._segments) > 1 and len(self._segments[-2].keys) < 2 * len(self._segments[-1].keys):
            last, before = self._segments.pop(), self._segments.pop()
            self._segments.append(
                _sorted(
                    np.concatenate([before.keys, last.keys]),
                    np.concatenate([before.rows, last.rows]),
                    np.concatenate([before.counts, last.counts]),
                )
            )

    def score(self, query: Keys, lengths: NDArray[np.float32], alive: NDArray[np.bool_]) -> Scores:
        """For each row its BM25 as a share of that of a text of usual length which holds every term once.

        0 without a common term, about 1 when all are there, at most K1 + 1 by repetition. A query term that no
        document holds counts as much as the rarest ones, so that a question which the collection does not cover
        scores low even in its best row. `lengths` are in words.
        """
        scores = np.zeros(len(lengths), dtype=np.float32)
        documents = int(alive.sum())
        if not documents or not len(query):
            return scores
        all_alive = documents == len(alive)
        norm = K1 * (1 - B + B * lengths / max(1.0, float(lengths[alive].mean())))
        expected = 0.0
        for key in query:
            found = [_postings_of(segment, key) for segment in self._segments]
            frequency = sum(len(rows) if all_alive else int(alive[rows].sum()) for rows, _ in found)
            total = max(documents, LEAST_DOCUMENTS)
            weight = float(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))
            expected += weight
            for rows, counts in found:
                scores[rows] += weight * (K1 + 1) * counts / (counts + norm[rows])
        return scores / np.float32(expected)


def _sorted(keys: Keys, rows: Rows, counts: Counts) -> _Segment:
    order = np.argsort(keys)
    return _Segment(keys[order], rows[order], counts[order])


def _postings_of(segment: _Segment, key: np.uint32) -> tuple[Rows, Counts]:
    start = np.searchsorted(segment.keys, key, side="left")
    end = np.searchsorted(segment.keys, key, side="right")
    return segment.rows[start:end], segment.counts[start:end]
