"""Judges how far an answer answers its question, by the words and numbers of the question.

The model's judgement comes first, and this one can only lower it. docs/decisions/0022-how-far-an-answer-answers.md says
how the bounds were measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from gleaner import text
from gleaner.guards._asked_numbers import lacks_number
from gleaner.guards.numbers import read_numbers
from gleaner.model import Answered, Passage

_MIN_SHARE = 0.3  # of the question's terms that the sources contain
_MIN_SHARED_LANGUAGE = 1 / 3  # of the question's common words that sources in its language contain
_MIN_TERMS, _MAX_TERMS = 2, 20  # one word may have a synonym; a long question is mostly pasted text
_MIN_DIGITS = 3  # of a number that identifies something, such as a year or a version; "in 3 sentences" does not


def judge_answered(
    question: str, answer: str, sources: Sequence[Passage], *, claim: Answered | None, stands_alone: bool
) -> Answered:
    """Return the lower of the model's judgement `claim` (None counts as found) and the service's.

    Without sources the answer is `not_found`. It is at most `partly` if the sources lack the terms or a number of the
    question, or the answer lacks the number that was asked for. A question that does not stand alone, such as one
    about earlier turns or a selection, need not name its topic, so its words and numbers are not looked for.
    """
    if not sources:
        return Answered.NOT_FOUND
    judgement = claim or Answered.FOUND
    if judgement is not Answered.FOUND:
        return judgement
    is_lacking = lacks_number(question, answer) or (
        stands_alone and _lack_topic(question, "\n".join(map(_read, sources)))
    )
    return Answered.PARTLY if is_lacking else judgement


def _read(source: Passage) -> str:
    return "\n".join((source.title, source.chapter or "", *source.keywords, source.content))


def _lack_topic(question: str, passages: str) -> bool:
    """Whether the passages, in the question's language, lack most of its terms, or one of its numbers."""
    beginnings = text.beginnings(question)
    if len(beginnings) > _MAX_TERMS:
        return False
    numbers = {number for number in read_numbers(question, pronouns=False) if len(number) >= _MIN_DIGITS}
    if not numbers <= read_numbers(passages, pronouns=True):
        return True
    if len(beginnings) < _MIN_TERMS or not _share_language(question, passages):
        return False
    stems = set(text.stems(passages))
    hits = sum(
        stem in stems or (start != stem and any(other.startswith(start) for other in stems))
        for stem, start in beginnings.items()
    )
    return hits < _MIN_SHARE * len(beginnings)


def _share_language(question: str, passages: str) -> bool:
    common_words = text.find_stop_words(text.words(question))
    return len(common_words & set(text.words(passages))) >= _MIN_SHARED_LANGUAGE * len(common_words)
