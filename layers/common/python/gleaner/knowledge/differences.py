"""Finds what makes a stored answer wrong for a question that is similar to the one that it was given to.

Similar questions share nearly all of their words, and so do the same question in other words: no measure of similarity
separates them. What separates them are the words that decide: numbers, negations, opposites, the order of names, the
kind of thing asked for, and names that only one side has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gleaner import text
from gleaner.knowledge._expiry import is_expired
from gleaner.knowledge._question_form import FIRST, QuestionForm, find_numbers, read_question
from gleaner.knowledge._question_language import find_language
from gleaner.knowledge._question_order import is_reversed
from gleaner.knowledge._question_subject import (
    count_prefixed,
    find_subject_difference,
    leaves_out,
    share_of_content,
)
from gleaner.knowledge._word_tables import read_tables

# Below this share of common words, two questions are not similar enough for one word to be the only difference.
_MIN_COMMON = 0.75
_MAX_BEGINNING = 160  # characters in which an answer says that there is none
_MAX_NO_ANSWER = 800


class DifferenceKind(StrEnum):
    """Why a stored answer is not handed out."""

    NO_ANSWER = "no_answer"
    LANGUAGE = "language"
    TIME = "time"
    NUMBER = "number"
    KIND = "kind"
    POLARITY = "polarity"
    ORDER = "order"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAnswer:
    """What is compared with a question: the question that an answer was given to, and the answer."""

    question: str
    answer: str
    around: Sequence[str] = ()  # titles of its pages, its keywords
    created_at: datetime
    valid_for_hours: int | None = None


def load_words() -> None:
    """Read the tables of words, which takes time once per process."""
    read_tables()


def find_difference(asked: str, stored: StoredAnswer, *, now: datetime) -> DifferenceKind | None:
    """Return what makes the stored answer no answer to `asked`, or None."""
    form, other = read_question(asked), read_question(stored.question)
    checks: tuple[tuple[DifferenceKind, Callable[[], bool]], ...] = (
        (DifferenceKind.NO_ANSWER, lambda: holds_no_answer(stored.answer)),
        (DifferenceKind.LANGUAGE, lambda: _is_foreign(form, other, stored.answer)),
        (DifferenceKind.NUMBER, lambda: _differ_in_numbers(form, other, stored)),
        (DifferenceKind.KIND, lambda: _differ_in_kind(form, other, stored.answer)),
        (DifferenceKind.POLARITY, lambda: _differ_in_polarity(form, other)),
        (DifferenceKind.ORDER, lambda: is_reversed(form, other)),
        (DifferenceKind.SUBJECT, lambda: find_subject_difference(form, other, stored.answer, stored.around)),
        # Last: an answer that has only expired is background for a new one.
        (
            DifferenceKind.TIME,
            lambda: is_expired(asked, stored.question, stored.created_at, stored.valid_for_hours, now),
        ),
    )
    return next((kind for kind, differs in checks if differs()), None)


def is_same_question(one: str, two: str) -> bool:
    """Whether two stored questions have the same words, in the same order, apart from those that decide nothing."""
    first, second = read_question(one), read_question(two)
    return _key(first) == _key(second) if first.content and second.content else one == two


def _key(form: QuestionForm) -> tuple[object, ...]:
    return [word.stem for word in form.content], form.numbers, form.kinds, form.sides, form.negations


def holds_no_answer(answer: str) -> bool:
    """Whether an answer only says that there is none: it begins so, since a long answer may say so of a detail."""
    if len(answer) > _MAX_NO_ANSWER:
        return False
    words = text.find_words(text.fold(answer[:_MAX_BEGINNING]))
    return bool(read_tables().no_answers.find(words, None))


def _is_foreign(form: QuestionForm, other: QuestionForm, answer: str) -> bool:
    language = find_language(answer) or other.language  # a short answer may not tell
    return form.language is not None and language is not None and language != form.language


def _differ_in_numbers(form: QuestionForm, other: QuestionForm, stored: StoredAnswer) -> bool:
    if _has_other_decimals(form, other):
        return True
    # What the stored question has beyond that is no difference: an answer says itself which year or version it is for.
    missing = form.numbers - other.numbers
    is_replaced = bool(missing and other.numbers - form.numbers)
    # "First" is often left out, and means a number only beside another one: "the first half", "the second half".
    missing -= {FIRST}
    return is_replaced or not missing <= find_numbers("\n".join((stored.answer, *stored.around)), form.language)


def _has_other_decimals(form: QuestionForm, other: QuestionForm) -> bool:
    """Whether versions differ only in a zero at their end, which decimals of one value may."""
    return any(
        one != two and one.rstrip("0") == two.rstrip("0") and not (one.endswith(".0") or two.endswith(".0"))
        for one in form.decimals
        for two in other.decimals
    )


_MEASURES = frozenset(("money", "count", "weight", "size", "height", "length", "depth", "width", "speed", "heat"))
_ALL_MEASURES = _MEASURES | {"duration", "distance", "age", "frequency", "amount"}
# Kinds that may ask for the same.
_COMPATIBLE = (
    frozenset(("amount", *_MEASURES - {"count"})),
    frozenset(("duration", "length")),
    frozenset(("where", "method")),
    frozenset(("distance", "length")),
    frozenset(("height", "money")),  # "wie hoch ist die Gebühr"
    frozenset(("size", "count")),
)
_LANGUAGES_OF_DATES = frozenset(("english", "german", "french", "spanish", "italian", None))
_DATE = re.compile(r"(?<![\d.])(?:1\d|20)\d\d(?![\d.]\d)|\d[:h]\d\d|\d\.\s?\d{1,2}\.\s?\d{4}|\d[-/]\d|[年月日时時点]")
_NEEDS_NUMBER = frozenset(("count", "money", "duration", "height", "weight", "speed", "distance", "depth", "age"))


def _differ_in_kind(form: QuestionForm, other: QuestionForm, answer: str) -> bool:
    if not form.kinds:
        return "count" in other.kinds and not read_tables().which.isdisjoint(form.words[:1])
    if ("age" in form.kinds) != ("age" in other.kinds) and "when" in form.kinds & other.kinds and _DATE.search(answer):
        return True  # how old someone was then is not in a date
    if not other.kinds or (other.kinds == {"method"} and form.kinds == {"when"}):  # how it is done may be when
        if "when" in form.kinds and other.language in _LANGUAGES_OF_DATES:
            return not _DATE.search(answer) and not read_tables().dates.find(text.words(answer), other.language)
        return form.kinds <= _NEEDS_NUMBER and not find_numbers(answer, other.language)
    return not any(_are_compatible(one, two) for one in form.kinds for two in other.kinds)


def _are_compatible(one: str, two: str) -> bool:
    if one == two or any(
        ({one, two} <= group and "amount" in (one, two)) or {one, two} == group for group in _COMPATIBLE
    ):
        return True
    return "quantity" in (one, two) and bool({one, two} & _ALL_MEASURES)


def _differ_in_polarity(form: QuestionForm, other: QuestionForm) -> bool:
    if leaves_out(form, other) or leaves_out(other, form):
        return True
    if share_of_content(form, other) < _MIN_COMMON:
        return False
    common = form.sides.keys() & other.sides.keys()
    flips = sum(not form.sides[number] & other.sides[number] for number in common) + count_prefixed(form, other)
    return bool((flips + form.negations - other.negations) % 2)
