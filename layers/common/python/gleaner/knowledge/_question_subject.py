"""Finds content words that one question has and the other lacks, apart from inflections, spellings and synonyms."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from gleaner import text
from gleaner.knowledge._question_form import QuestionForm, Word
from gleaner.knowledge._word_tables import read_tables

_MAX_SHORT = 6  # content words of a short question
_MAX_SHORT_CHARACTERS = 16  # characters of a short question in a script without spaces
_MAX_SHORT_ANSWER = 60  # words
_MAX_SHORT_CHARS = 1_000
_MAX_LONG_SHARE = 0.6  # of the words of a long question that the stored answer may lack
_MAX_EXTRA_SHARE = 0.4  # of the words of a short stored question that the asked one may lack
_MIN_VARIANT = 4
_MIN_PART = 3
_ENDINGS = frozenset(
    " e n s t en em er es et ed ing d st te ten ung ungen 's a o as os ar ir ado ada ados adas i io re ly ies y ion"
    " ions tion er ers ern se ens ung ies ied al ally ation ations ment ments ant ent ance ence ness able".split(" ")
)
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "dés", "des", "dé", "mis", "ent", "не")
_SHORT_ENDINGS = frozenset(("", "s", "es", "d", "ed", "ing"))  # of words of three letters
_NAME_ENDINGS = frozenset(" s es n e".split(" "))
_SPELLINGS = (
    (re.compile("our"), "or"),
    (re.compile("is(?=e|ing|ation|able)"), "iz"),
    (re.compile("(?<=[bt])re$"), "er"),
    (re.compile("ogue"), "og"),
    (re.compile("(?:ae|oe|ue)"), "e"),
    (re.compile("[äöü]"), "e"),
    (re.compile("grey"), "gray"),
    (re.compile("ence"), "ense"),
    (re.compile("amme"), "am"),
    (re.compile("(.)\\1"), "\\1"),
)


def find_subject_difference(form: QuestionForm, other: QuestionForm, answer: str, around: Sequence[str]) -> bool:
    """Whether `form` asks about something else than `other`, to which `answer` was given.

    A short answer answers one question only: a word that neither it nor its question has is about something else. A
    long one covers more than its question, and only a question that is the same but for one word certainly differs.
    """
    missing = _find_missing(form, other)
    extra = _find_missing(other, form)
    if not missing and not extra:
        return False
    if _is_replaced(missing, extra, form, other):
        return True
    if not is_short_answer(answer):
        return False
    elsewhere = frozenset(text.words(answer)).union(*map(text.words, around))
    light_words = read_tables().light_words
    missing, extra = ([word for word in words if word.written not in light_words] for words in (missing, extra))
    absent = [word for word in missing if not _is_elsewhere(word, elsewhere)]
    if not _is_short(form, other):
        return len(absent) > _MAX_LONG_SHARE * len(form.content)
    return bool(absent) or _has_other_name(missing, extra) or _is_more_general(missing, extra, other)


def _find_missing(form: QuestionForm, other: QuestionForm) -> list[Word]:
    """The content words of one question that the other has in no form; "can" stands for "allowed"."""
    groups = frozenset[str]().union(*map(read_tables().synonyms.labels, other.words))
    return [
        word
        for word in form.content
        if not word.names_kind and not word.groups & groups and not _is_in(word, other.content)
    ]


def is_short_answer(answer: str) -> bool:
    """Whether an answer is too short to cover more than its question."""
    return len(answer) <= _MAX_SHORT_CHARS and len(text.words(answer)) <= _MAX_SHORT_ANSWER


def count_prefixed(form: QuestionForm, other: QuestionForm) -> int:
    """How many words of one question the other has with a prefix that negates: "replied" and "unreplied"."""
    one, two = (
        {word.written for word in question.content if not any(group.startswith("=") for group in word.groups)}
        for question in (form, other)
    )
    return sum(_is_prefixed(word, two) for word in one - two) + sum(_is_prefixed(word, one) for word in two - one)


def _is_prefixed(word: str, others: Collection[str]) -> bool:
    bare = [word.removeprefix(prefix) for prefix in _PREFIXES if word.startswith(prefix)]
    return any(len(rest) >= _MIN_VARIANT and _is_variant(rest, other, _ENDINGS) for rest in bare for other in others)


def share_of_content(form: QuestionForm, other: QuestionForm) -> float:
    """The share of the content words of the longer question that the shorter one has, too."""
    if not form.content or not other.content:
        return 1.0
    small, large = sorted((form, other), key=lambda question: len(question.content))
    return sum(_is_in(word, small.content) for word in large.content) / len(large.content)


def _is_short(form: QuestionForm, other: QuestionForm) -> bool:
    limit = _MAX_SHORT_CHARACTERS if form.is_unspaced else _MAX_SHORT
    return max(len(form.content), len(other.content)) <= limit


def _is_replaced(missing: list[Word], extra: list[Word], form: QuestionForm, other: QuestionForm) -> bool:
    """Whether the questions are the same but for one word."""
    return (
        len(missing) == len(extra) == 1
        and len(form.content) == len(other.content)
        and _have_same_frame(form, other, missing[0], extra[0])
    )


def _has_other_name(missing: list[Word], extra: list[Word]) -> bool:
    return any(word.is_name for word in missing) and any(word.is_name for word in extra)


def _have_same_frame(form: QuestionForm, other: QuestionForm, one: Word, two: Word) -> bool:
    rest = [word for word in form.words if word != one.written]
    return rest == [word for word in other.words if word != two.written]


def _is_more_general(missing: list[Word], extra: list[Word], other: QuestionForm) -> bool:
    """Whether the asked question leaves out a name, or much of the stored question."""
    if any(word.is_name for word in extra) and other.language != "german":
        return True
    return not missing and len(extra) > _MAX_EXTRA_SHARE * len(other.content)


def _is_in(word: Word, content: Sequence[Word]) -> bool:
    if any(_is_same(word, other) for other in content):
        return True
    joined = {one.written + two.written for one in content for two in content if two.position - one.position == 1}
    return word.written in joined or any(_is_compound(word.written, content, other) for other in content)


def _is_same(word: Word, other: Word) -> bool:
    if word.stem == other.stem or word.groups & other.groups:
        return True
    return _is_variant(word.written, other.written, _NAME_ENDINGS if word.is_name and other.is_name else _ENDINGS)


def _is_variant(one: str, two: str, endings: Collection[str]) -> bool:
    """Whether two words are inflections or spellings of one."""
    return _is_inflection(one, two, endings) or _is_inflection(_spell(one), _spell(two), endings)


def _is_inflection(one: str, two: str, endings: Collection[str]) -> bool:
    if one == two:
        return True
    length = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    if length == _MIN_VARIANT - 1:
        return {one[length:], two[length:]} <= _SHORT_ENDINGS
    return length >= _MIN_VARIANT and one[length:] in endings and two[length:] in endings


@lru_cache(maxsize=10_000)
def _spell(word: str) -> str:
    if not word.isalpha() or ord(word[0]) > 0x24F:  # noqa: PLR2004 - the end of the Latin letters
        return word
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    return word


def _is_compound(written: str, content: Sequence[Word], other: Word) -> bool:
    """Whether one word is written together from the other and what is beside it: "ticket price", "Ticketpreis"."""
    if len(other.written) >= _MIN_VARIANT and len(written) > len(other.written):
        rest = written.removeprefix(other.written)
        if rest != written and any(
            rest.lstrip("s").startswith(word.written) for word in content if len(word.written) >= _MIN_PART
        ):
            return True
        return any(
            written.endswith(other.written) and written.startswith(word.written)
            for word in content
            if word is not other and len(word.written) >= _MIN_PART
        )
    return False


def _is_elsewhere(word: Word, elsewhere: frozenset[str]) -> bool:
    if word.written in elsewhere or word.stem in {text.stem(other) for other in elsewhere}:
        return True
    if len(word.written) == 1:
        return any(word.written in other for other in elsewhere)
    return any(_is_variant(word.written, other, _NAME_ENDINGS if word.is_name else _ENDINGS) for other in elsewhere)
