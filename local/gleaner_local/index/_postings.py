"""The lexical side of one namespace: BM25 over postings in memory, with scores comparable across queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gleaner_local.index.terms import Counts, Keys, Terms

Scores = NDArray[np.float32]
Rows = NDArray[np.int32]

K1 = 1.2
B = 0.75
# Document frequencies say little in a small collection: a word in two of three chunks need not be common. So many
# documents without the word are assumed besides.
ASSUMED_DOCUMENTS = 100


class _Segment(NamedTuple):
    """Postings sorted by key."""

    keys: Keys
    rows: Rows
    counts: Counts


class Postings:
    """How often each term occurs in each row. The caller numbers the rows, and passes to `score` which ones are
    alive: rows are never removed.
    """

    def __init__(self) -> None:
        self._segments: list[_Segment] = []

    def add(self, first_row: int, documents: Sequence[Terms]) -> None:
        """Add documents as consecutive rows, beginning with `first_row`."""
        if not documents:
            return
        sizes = [len(keys) for keys, _ in documents]
        rows = np.repeat(np.arange(first_row, first_row + len(documents), dtype=np.int32), sizes)
        self._segments.append(
            _sort_segment(
                np.concatenate([keys for keys, _ in documents]),
                rows,
                np.concatenate([counts for _, counts in documents]),
            )
        )
        # Segments grow geometrically, so each posting is sorted a logarithmic number of times.
        while len(self._segments) > 1 and len(self._segments[-2].keys) < 2 * len(self._segments[-1].keys):
            last, previous = self._segments.pop(), self._segments.pop()
            self._segments.append(
                _sort_segment(
                    np.concatenate([previous.keys, last.keys]),
                    np.concatenate([previous.rows, last.rows]),
                    np.concatenate([previous.counts, last.counts]),
                )
            )

    def score(
        self, query: Keys, lengths: NDArray[np.float32], alive: NDArray[np.bool_], absent_share: float = 1.0
    ) -> Scores:
        """The BM25 score of each row, relative to a text of average length that holds every query term once.

        It is 0 without a common term, about 1 when all terms occur, and at most K1 + 1 if they repeat. A query term
        that no document holds weighs `absent_share` of the rarest one, so even the best row scores low for a question
        that the collection does not cover. `lengths` are in words.
        """
        scores = np.zeros(len(lengths), dtype=np.float32)
        documents = int(alive.sum())
        if not documents or not len(query):
            return scores
        all_alive = documents == len(alive)
        norm = K1 * (1 - B + B * lengths / max(1.0, float(lengths[alive].mean())))
        expected = 0.0
        for key in query:
            postings = [_postings_of(segment, key) for segment in self._segments]
            frequency = sum(len(rows) if all_alive else int(alive[rows].sum()) for rows, _ in postings)
            total = documents + ASSUMED_DOCUMENTS
            weight = float(np.log1p((total - frequency + 0.5) / (frequency + 0.5)))
            expected += weight if frequency else absent_share * weight
            for rows, counts in postings:
                scores[rows] += weight * (K1 + 1) * counts / (counts + norm[rows])
        return scores / np.float32(expected)


def _sort_segment(keys: Keys, rows: Rows, counts: Counts) -> _Segment:
    order = np.argsort(keys)
    return _Segment(keys[order], rows[order], counts[order])


def _postings_of(segment: _Segment, key: np.uint32) -> tuple[Rows, Counts]:
    start = np.searchsorted(segment.keys, key, side="left")
    end = np.searchsorted(segment.keys, key, side="right")
    return segment.rows[start:end], segment.counts[start:end]
