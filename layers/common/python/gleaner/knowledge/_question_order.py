"""Finds out whether two questions name the same things in reversed roles: "from A to B" and "from B to A"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gleaner import text
from gleaner.knowledge._question_form import QuestionForm
from gleaner.knowledge._word_forms import NAME_ENDINGS, is_variant
from gleaner.knowledge._word_tables import is_foreign, read_tables

_MIN_WORDS = 2
_MAX_WORDS = 12  # of a question whose words are compared three by three
_WHO_IS_OBJECT = re.compile(
    r"\bwhom?\s+(?:did|does|do|will|has|have|had|can)\b|\b(?:wen|wem|кого|кому)\b|\ba quién|\bà qui\b", re.IGNORECASE
)


def is_reversed(form: QuestionForm, other: QuestionForm) -> bool:
    """Whether the roles are reversed; words such as "and" and "between" make the order irrelevant."""
    if _is_symmetric(form) or _is_symmetric(other):
        return False
    if _has_reversed_ends(_order(form), _order(other)) or _has_reversed_ends(_order(other), _order(form)):
        return True
    return _has_reversed_sides(form, other) or _has_same_words_in_other_order(form, other)


def _is_symmetric(question: QuestionForm) -> bool:
    """Whether a word that joins or compares equals stands between other words."""
    symmetric = read_tables().directions["in either order"]
    return any(word in symmetric and not is_foreign(word, question.language) for word in question.words[1:])


def _order(question: QuestionForm) -> list[tuple[str, str]]:
    """Each word with its stem; the stem is empty for words that are neither content nor numbers."""
    content = {word.written: word.stem for word in question.content}
    return [(word, word if word.isdecimal() else content.get(word, "")) for word in question.words]


def _has_reversed_ends(order: list[tuple[str, str]], other: list[tuple[str, str]]) -> bool:
    """Whether what one question goes from is what the other goes to, and the other way round where both are known."""
    starts, ends = _role(order, "from"), _role(order, "to")
    other_starts, other_ends = _role(other, "from"), _role(other, "to")
    if starts and ends and other_starts and other_ends:
        return _are_same(starts, other_ends) and _are_same(ends, other_starts) and not _are_same(starts, ends)
    return False


def _are_same(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    """Whether two phrases have the same words, of which names may be declined."""
    return len(one) == len(two) and all(
        text.stem(first) == text.stem(second) or is_variant(first, second, NAME_ENDINGS)
        for first, second in zip(one, two, strict=True)
    )


def _role(order: list[tuple[str, str]], role: str) -> tuple[str, ...]:
    """The content words after the first preposition of a role, until another function word."""
    listed = read_tables().directions[role]
    for position, (word, stem) in enumerate(order):
        if word in listed and not stem:
            phrase = tuple(_phrase_after(order, position + 1))
            if phrase:
                return phrase
    return ()


def _phrase_after(order: list[tuple[str, str]], start: int) -> Iterator[str]:
    begun = False
    for word, stem in order[start:]:
        if not stem and begun:
            return
        if stem:
            begun = True
            yield word


def _has_reversed_sides(form: QuestionForm, other: QuestionForm) -> bool:
    """Whether two content words stand on opposite sides of the same word, or "who" is the subject in one only.

    A passive undoes the former: "A was sued by B" and "B sued A" say the same.
    """
    order, other_order = [_places(question) for question in (form, other)]
    common = [word for word in order if word in other_order]
    if len(common) < len(order) or len(common) < len(other_order) or len(common) > _MAX_WORDS:
        return False  # other words may restructure the question
    names = {min(word.groups, default=word.stem): word.is_name for word in form.content}
    reversed_pairs = any(
        order[first] < order[pivot] < order[second] and other_order[second] < other_order[pivot] < other_order[first]
        for pivot in common
        for first in common
        for second in common
        # A verb and a name change places in German, and in other orders of words.
        if pivot not in (first, second) and names.get(first) == names.get(second)
    )
    changes_voice = _is_passive(form) ^ _is_passive(other)
    changes_object = bool(_WHO_IS_OBJECT.search(form.text)) ^ bool(_WHO_IS_OBJECT.search(other.text))
    return (reversed_pairs and not changes_voice) or (changes_object and not changes_voice and len(order) > _MIN_WORDS)


def _places(question: QuestionForm) -> dict[str, int]:
    """The first place of each content word, number and direction word."""
    roles = read_tables().directions["to"] | {"in", "than", "als", "que"}
    content = {word.written: min(word.groups, default=word.stem) for word in question.content}
    places: dict[str, int] = {}
    for position, word in enumerate(question.words):
        if word in content or word.isdecimal() or word in roles:
            places.setdefault(content.get(word, word), position)
    return places


def _is_passive(question: QuestionForm) -> bool:
    return not read_tables().directions["passive"].isdisjoint(question.words)


def _has_same_words_in_other_order(form: QuestionForm, other: QuestionForm) -> bool:
    if form.is_unspaced and other.is_unspaced:
        one, two = ("".join(text.find_words(text.fold(question.text))) for question in (form, other))
        return one != two and sorted(one) == sorted(two)
    if sorted(form.words) != sorted(other.words) or form.words == other.words:
        return False
    stems = [[text.stem(word.written) for word in question.content] for question in (form, other)]
    return stems[0] != stems[1] and len(stems[0]) >= _MIN_WORDS
