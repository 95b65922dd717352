"""Searches a text that the user selected, in the mode selected_text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.model import Passage, SourceType

_MAX_PASSAGE_LENGTH = 900  # characters, about as many as a chunk of a document has
_TITLE = "Selected text"
# Where a passage may end, in order of preference: after a paragraph, a line, a sentence, a word.
_SENTENCE_END = r"(?<=[.!?…])\s+|(?<=[。！？｡।॥۔؟])[”’」』）]*\s*"
_BORDERS = tuple(
    re.compile(border) for border in (r"\n\s*\n|\r\s*\r", r"\n|\r(?!\n)|[\x85\u2028\u2029]", _SENTENCE_END, r"\s+")
)


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int  # offset in the original text, in code points
    content: str  # cleaned text


class Selection:
    """A selected text, cut into cleaned passages that are ranked for a query."""

    def __init__(self, selected: str, chapter_origin: str | None) -> None:
        self._chapter_origin = chapter_origin
        self._pieces = list(_pieces(selected))
        self._stems = [Counter(map(text.stem, text.words(piece.content))) for piece in self._pieces]

    def search(self, query: str, *, top_k: int) -> list[Passage]:
        """The `top_k` passages that cover the query best, best first.

        Passages that share no word with the query follow in their original order: the selection is the only
        source, and a query such as "summarise this" shares no word with it.
        """
        weights = self._weigh(text.stems(query))
        scores = [_score(stems, weights) for stems in self._stems]
        ranked = sorted(range(len(scores)), key=lambda index: (-scores[index], index))
        return [self._to_passage(index, scores[index]) for index in ranked[:top_k]]

    def _weigh(self, stems: Sequence[str]) -> dict[str, float]:
        """Inverse document frequency over the passages (Robertson and Sparck Jones, 1976), smoothed above 0."""
        total = len(self._pieces)
        counts = {stem: sum(stem in piece for piece in self._stems) for stem in stems}
        return {stem: math.log(1 + (total + 1) / (count + 0.5)) for stem, count in counts.items()}

    def _to_passage(self, index: int, score: float) -> Passage:
        piece = self._pieces[index]
        return Passage(
            key=f"selection#{index}",
            content=piece.content,
            score=score,
            source_type=SourceType.KNOWLEDGE_BASE,
            title=_TITLE,
            chapter=self._chapter_origin,
            chunk_index=index,
            position=piece.start,
        )


def _score(stems: Counter[str], weights: dict[str, float]) -> float:
    """The weighted share of the query's stems that a passage contains, from 0 to 1."""
    if not weights:
        return 0.0
    return sum(weight for stem, weight in weights.items() if stem in stems) / sum(weights.values())


def _pieces(selected: str) -> Iterator[_Piece]:
    """Cut into pieces of bounded length, with their offsets. Together they contain all visible text.

    Each piece is cleaned separately: offsets in the cleaned text would not match the client's text.
    """
    start = 0
    while start < len(selected):
        end = _end_of_piece(selected, start)
        original = selected[start:end]
        if content := text.clean(original).strip():
            yield _Piece(start + text.find_visible_start(original), content)
        start = end


def _end_of_piece(selected: str, start: int) -> int:
    limit = start + _MAX_PASSAGE_LENGTH
    if limit >= len(selected):
        return len(selected)
    for border in _BORDERS:
        # Use the last border in the second half: an earlier one would make the piece too short.
        ends = [match.end() for match in border.finditer(selected, start + _MAX_PASSAGE_LENGTH // 2, limit)]
        if ends:
            return ends[-1]
    return limit
