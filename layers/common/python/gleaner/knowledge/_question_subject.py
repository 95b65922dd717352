"""Finds content words that one question has and the other lacks, apart from inflections, spellings and synonyms."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gleaner import text
from gleaner.knowledge._question_form import QuestionForm, Word
from gleaner.knowledge._unspaced_runs import has_other_runs
from gleaner.knowledge._word_forms import ENDINGS, MIN_VARIANT, NAME_ENDINGS, is_variant
from gleaner.knowledge._word_tables import read_tables

_MAX_SHORT = 6  # content words of a short question
_MAX_SHORT_CHARACTERS = 16  # characters of a short question in a script without spaces
_MAX_SHORT_ANSWER = 60  # words
_MAX_SHORT_CHARS = 1_000
_MAX_LONG_SHARE = 0.6  # of the words of a long question that the stored answer may lack
_MAX_EXTRA_SHARE = 0.4  # of the words of a short stored question that the asked one may lack
_MAX_EXTRA_SHARE_CHARACTERS = 0.6  # the same in a script without spaces, where one word is several
_MAX_ABSENT_SHARE = 0.5  # of the words of a question in other words that nothing stored has
_MIN_TOPIC = 2  # words of a stored question that its answer repeats, to tell what it is about
_MIN_TOPIC_CHARACTERS = 3
_MIN_PART = 3
_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "dés", "des", "dé", "mis", "ent", "не")


def find_subject_difference(form: QuestionForm, other: QuestionForm, answer: str, around: Sequence[str]) -> bool:
    """Whether `form` asks about something else than `other`, to which `answer` was given.

    A short answer answers one question only: a word that neither it nor its question has is about something else. A
    long one covers more than its question, and only a question that is the same but for one word certainly differs.
    In languages whose synonyms are not listed, other words alone are no evidence: see `_is_in_other_words`.
    """
    if form.language == other.language == "thai":
        return is_short_answer(answer) and has_other_runs(form.text, other.text, answer, around)
    missing = _find_missing(form, other)
    extra = _find_missing(other, form)
    if not missing and not extra:
        return False
    if _is_replaced(missing, extra, form, other):
        return True
    return is_short_answer(answer) and _differ_for_short_answer(missing, extra, form, other, [answer, *around])


def _differ_for_short_answer(
    missing: list[Word], extra: list[Word], form: QuestionForm, other: QuestionForm, stored: Sequence[str]
) -> bool:
    """Whether what only one question has makes a difference. `stored` are the answer, and what is around it."""
    elsewhere = frozenset[str]().union(*map(text.words, stored))
    lost = extra
    missing, extra = _drop_light(missing, form), _drop_light(extra, other)
    absent = [word for word in missing if not _is_elsewhere(word, elsewhere)]
    if not _is_short(form, other):
        return len(absent) > _MAX_LONG_SHARE * len(form.content)
    if _has_other_name(missing, extra) or _is_more_general(missing, extra, other):
        return True
    return bool(absent) and not (lost and _is_in_other_words(absent, extra, form, other, stored[0]))


def _is_in_other_words(
    absent: list[Word], extra: list[Word], form: QuestionForm, other: QuestionForm, answer: str
) -> bool:
    """Whether words that nothing else has only say in another way what the stored question and its answer say.

    An answer repeats what its question is about. If the asked question has all of that, it is about the same, unless
    it adds a name, or much that nothing stored has.
    """
    if form.language in (None, "english") or (form.kinds and not other.kinds):
        return False  # English synonyms are listed; who, where and how much are asked for in words that are listed, too
    answered = frozenset(text.words(answer))
    topic = [word for word in other.content if _is_elsewhere(word, answered)]
    return (
        len(topic) >= (_MIN_TOPIC_CHARACTERS if form.is_unspaced else _MIN_TOPIC)
        and len(absent) <= _MAX_ABSENT_SHARE * len(form.content)
        and not any(word.is_name for word in absent)
        and not any(_is_elsewhere(word, answered) for word in extra)
    )


def _drop_light(words: list[Word], form: QuestionForm) -> list[Word]:
    """Leave out words that seldom decide; in scripts without spaces, the characters of such phrases."""
    light_words, light_phrases = read_tables().light_words, read_tables().light_phrases
    written = text.fold(form.text)
    characters = {character for phrase in light_phrases if phrase in written for character in phrase}
    return [word for word in words if word.written not in light_words and word.written not in characters]


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
    return any(len(rest) >= MIN_VARIANT and is_variant(rest, other, ENDINGS) for rest in bare for other in others)


def share_of_content(form: QuestionForm, other: QuestionForm) -> float:
    """The share of the content words of the longer question that the shorter one has, too."""
    if not form.content or not other.content:
        return 1.0
    small, large = sorted((form, other), key=lambda question: len(question.content))
    return sum(_is_in(word, small.content) for word in large.content) / len(large.content)


def leaves_out(form: QuestionForm, other: QuestionForm) -> bool:
    """Whether one question leaves out a thing, "without http2", that the other names and does not leave out or negate.

    This holds between questions that share little else, since the word of leaving out belongs to the thing beside it.
    """
    if not form.excluded or other.excluded or other.negations:
        return False
    return all(_is_in(word, other.content) for word in form.excluded)


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
    limit = _MAX_EXTRA_SHARE_CHARACTERS if other.is_unspaced else _MAX_EXTRA_SHARE
    return not missing and len(extra) > limit * len(other.content)


def _is_in(word: Word, content: Sequence[Word]) -> bool:
    if any(_is_same(word, other) for other in content):
        return True
    joined = {one.written + two.written for one in content for two in content if two.position - one.position == 1}
    return word.written in joined or any(_is_compound(word.written, content, other) for other in content)


def _is_same(word: Word, other: Word) -> bool:
    if word.stem == other.stem or word.groups & other.groups:
        return True
    return is_variant(
        word.written, other.written, NAME_ENDINGS if word.is_name and other.is_name else ENDINGS, word.language
    )


def _is_compound(written: str, content: Sequence[Word], other: Word) -> bool:
    """Whether one word is written together from the other and what is beside it: "ticket price", "Ticketpreis"."""
    if len(other.written) >= MIN_VARIANT and len(written) > len(other.written):
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
    endings = NAME_ENDINGS if word.is_name else ENDINGS
    return any(is_variant(word.written, other, endings, word.language) for other in elsewhere)
