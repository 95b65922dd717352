"""Says how long a stored answer holds: what the model gave, bounded by the words for time in its question."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gleaner import text
from gleaner.knowledge._question_language import find_language
from gleaner.knowledge._word_tables import read_tables

_PERIODS = {"days": "%Y-%j", "weeks": "%G-%V", "months": "%Y-%m", "years": "%Y"}


def bound_hours(question: str) -> int | None:
    """Return how many hours an answer to `question` holds at most, or None for facts that do not change."""
    words, language = text.find_words(text.fold(question)), find_language(question)
    limits = [int(mark.label) for mark in read_tables().hours.find(words, language)]
    return min(limits, default=None)


def is_expired(
    asked: str, stored_question: str, created_at: datetime, valid_for_hours: int | None, now: datetime
) -> bool:
    """Whether an answer of `created_at` has expired, or one of the questions means another day, week, month or year."""
    limits = [
        hours for hours in (valid_for_hours, bound_hours(asked), bound_hours(stored_question)) if hours is not None
    ]
    if limits and now - created_at > timedelta(hours=min(limits)):
        return True
    return any(_is_other_period(question, created_at, now) for question in (asked, stored_question))


def _is_other_period(question: str, created_at: datetime, now: datetime) -> bool:
    words, language = text.find_words(text.fold(question)), find_language(question)
    formats = {_PERIODS[mark.label] for mark in read_tables().periods.find(words, language)}
    return any(f"{created_at.astimezone(UTC):{name}}" != f"{now.astimezone(UTC):{name}}" for name in formats)
