"""Passages of a text that the user selected: what is searched in the mode selected_text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.model import Passage, SourceType

_LONGEST_PASSAGE = 900  # characters, about what a chunk of a document holds
_TITLE = "Selected text"
# Where a passage may end, best first: after a paragraph, a line, a sentence, a word.
_BORDERS = tuple(
    re.compile(border)
    for border in (r"\n\s*\n|\r\s*\r", r"\n|\r(?!\n)|[\x85\u2028\u2029]", r"(?<=[.!?…。！？])\s+", r"\s+")
)


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int  # in the text as it was sent, in characters (code points)
    content: str  # cleaned


class Selection:
    """A selected text as it was sent, cut into cleaned passages that are ranked for a query."""

    def __init__(self, selected: str, chapter_origin: str | None) -> None:
        self._chapter_origin = chapter_origin
        self._pieces = list(_pieces(selected))
        self._stems = [Counter(map(text.stem, text.words(piece.content))) for piece in self._pieces]

    def search(self, query: str, *, top_k: int) -> list[Passage]:
        """The `top_k` passages that cover the query best, best first.

        A selection is all there is to answer from, so passages that share no word with the query follow in
        their order: "summarise this" names nothing in it.
        """
        weights = self._weights(text.stems(query))
        scores = [_covered(stems, weights) for stems in self._stems]
        ranked = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [self._to_passage(place, scores[place]) for place in ranked[:top_k]]

    def _weights(self, stems: Sequence[str]) -> dict[str, float]:
        """Inverse document frequency over the passages (Robertson and Sparck Jones, 1976), smoothed above 0."""
        total = len(self._pieces)
        holding = {stem: sum(stem in piece for piece in self._stems) for stem in stems}
        return {stem: math.log(1 + (total + 1) / (count + 0.5)) for stem, count in holding.items()}

    def _to_passage(self, place: int, score: float) -> Passage:
        piece = self._pieces[place]
        return Passage(
            key=f"selection#{place}",
            content=piece.content,
            score=score,
            source_type=SourceType.KNOWLEDGE_BASE,
            title=_TITLE,
            chapter=self._chapter_origin,
            chunk_index=place,
            position=piece.start,
        )


def _covered(stems: Counter[str], weights: dict[str, float]) -> float:
    """The weighted share of the query's stems that a passage holds, from 0 to 1."""
    if not weights:
        return 0.0
    return sum(weight for stem, weight in weights.items() if stem in stems) / sum(weights.values())


def _pieces(selected: str) -> Iterator[_Piece]:
    """Pieces of bounded length with their offsets; together they hold all that can be seen.

    Each is cleaned by itself: were the whole, its positions would not be those of the text that the client has.
    """
    start = 0
    while start < len(selected):
        end = _end_of_piece(selected, start)
        sent = selected[start:end]
        if content := text.clean(sent).strip():
            yield _Piece(start + text.find_visible_start(sent), content)
        start = end


def _end_of_piece(selected: str, start: int) -> int:
    limit = start + _LONGEST_PASSAGE
    if limit >= len(selected):
        return len(selected)
    for border in _BORDERS:
        # The last border in the second half of what fits: earlier ones would make crumbs.
        ends = [match.end() for match in border.finditer(selected, start + _LONGEST_PASSAGE // 2, limit)]
        if ends:
            return ends[-1]
    return limit
