"""Whether an answer's statements are supported by the passages they cite, judged by words and numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gleaner import text
from gleaner.guards._markdown_code import shielded, unshielded
from gleaner.model import Passage, Support

# Shares of a statement's key terms. How they were chosen is in docs/decisions/0011-untrusted-text.md.
_FOUND = 0.6
_WEAK = 0.3

_NUMBER_WEIGHT = 2.0  # of a number among the key terms, each of which weighs 1

_MARK = r"\[((?:kb|web)-\d+)\]"
_MARKS = re.compile(rf"(?<!\s)\s*+{_MARK}")
# A sentence with the marks that follow its stop; a line ends a sentence too.
_SENTENCE = re.compile(rf".+?(?:(?<![.!?…])[.!?…]++[\"'”’)*_]*+(?:\s*{_MARK})*(?=\s|$)|[。！？]|$)", re.MULTILINE)
_LIST_NUMBER = re.compile(r"^\s*\d{1,3}[.)]\s+")
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:[.,'\u00a0\u202f]\d+)*")
_GROUPED = re.compile(r"\d{1,3}(?:[,.'\u00a0\u202f]\d{3})+")
# Scripts that put no spaces between words; their words are compared by pairs of characters.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNITS = "zero one two three four five six seven eight nine".split()
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBER_WORDS = {word: value for value, word in enumerate((*_UNITS, *_TEENS))} | {
    word: 10 * value for value, word in enumerate(_TENS, start=2)
}
_NUMBER_TENS = frozenset(_NUMBER_WORDS[word] for word in _TENS)


@dataclass(frozen=True, slots=True)
class _Content:
    """What is compared: key terms as stems, and numbers in one spelling."""

    terms: frozenset[str]
    numbers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Statement:
    """One sentence of an answer, and the ids that it marks."""

    content: _Content
    marks: tuple[str, ...]


def supports(answer: str, sources: Sequence[Passage]) -> dict[str, Support]:
    """The verdict on each source, by its id. `answer` has plain marks.

    A source is judged by the sentences that carry its mark: `found` when it supports all of them, `none` when it
    supports none, else `weak`. A source without a mark is judged by the sentence that it supports best. Only words
    and numbers are compared, so a passage in another language than the answer seldom comes out as `found`.
    """
    prose, code = shielded(answer)
    without_marks_in_code = unshielded(prose, [_MARKS.sub("", piece) for piece in code])
    sentences = [sentence[0] for sentence in _SENTENCE.finditer(without_marks_in_code)]
    # An answer such as "Seven." has none but common words.
    said = _statements(sentences, common=text.stop_words()) or _statements(sentences, common=frozenset())
    held = {source.id: _held(source) for source in sources}
    return {source.id: _verdict(source.id, said, held) for source in sources}


def _verdict(source_id: str, said: Sequence[_Statement], held: dict[str, _Content]) -> Support:
    marked = [_judged(statement, source_id, held) for statement in said if source_id in statement.marks]
    if not marked:
        others = [_judged(statement, source_id, held) for statement in said]
        return min(others, key=list(Support).index, default=Support.NONE)
    return marked[0] if len(set(marked)) == 1 else Support.WEAK


def _judged(statement: _Statement, source_id: str, held: dict[str, _Content]) -> Support:
    said, passage = statement.content, held[source_id]
    # A sentence that rests on several passages must be held by them together, and in part by each.
    beside = statement.marks if source_id in statement.marks else ()
    together = _joined([passage, *(held[mark] for mark in beside if mark in held)])
    if _share(said, passage) < _WEAK:
        return Support.NONE
    enough = _share(said, together) >= _FOUND and said.numbers <= together.numbers
    return Support.FOUND if enough else Support.WEAK


def _joined(contents: Sequence[_Content]) -> _Content:
    return _Content(
        frozenset().union(*(content.terms for content in contents)),
        frozenset().union(*(content.numbers for content in contents)),
    )


def _share(said: _Content, held: _Content) -> float:
    """The weighted share of what is said that is held; something is said."""
    found = len(said.terms & held.terms) + _NUMBER_WEIGHT * len(said.numbers & held.numbers)
    return found / (len(said.terms) + _NUMBER_WEIGHT * len(said.numbers))


def _statements(sentences: Sequence[str], *, common: frozenset[str]) -> list[_Statement]:
    """The sentences that say something in other than `common` words."""
    statements = []
    for sentence in sentences:
        plain = _LIST_NUMBER.sub("", _MARKS.sub("", sentence))
        content = _Content(_terms([word for word in text.words(plain) if word not in common]), _numbers(plain))
        if content.terms or content.numbers:
            statements.append(_Statement(content, tuple(_MARKS.findall(sentence))))
    return statements


def _held(source: Passage) -> _Content:
    passage = "\n".join((source.title, source.chapter or "", source.content))
    words = text.words(passage)
    return _Content(_terms(words), _numbers(passage) | _spelt_numbers(words))


def _terms(words: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for word in words:
        if _UNSPACED.search(word):
            found.update(word[place : place + 2] for place in range(max(1, len(word) - 1)))
        elif not word.isdecimal():
            found.add(text.stem(word))
    return frozenset(found)


def _numbers(passage: str) -> frozenset[str]:
    return frozenset(map(_plain_number, _NUMBER.findall(passage)))


def _plain_number(number: str) -> str:
    """One spelling for 1,000 and 1000, for 2,50 and 2.5, and for the digits of all scripts."""
    if _GROUPED.fullmatch(number):
        return _with_ascii_digits(re.sub(r"\D", "", number))
    whole, separator, rest = _with_ascii_digits(number).replace(",", ".").partition(".")
    if not separator or not rest.isdecimal():
        return whole + separator + rest
    return f"{whole}.{rest.rstrip('0')}".rstrip(".")


def _with_ascii_digits(number: str) -> str:
    return "".join(str(unicodedata.digit(character, character)) for character in number)


def _spelt_numbers(words: Sequence[str]) -> frozenset[str]:
    """The numbers up to 99 among `words`."""
    values = [_NUMBER_WORDS.get(word) for word in words]
    found = {value for value in values if value is not None}
    for tens, unit in pairwise(values):
        if tens and unit and tens in _NUMBER_TENS and unit < len(_UNITS):
            found.add(tens + unit)
    return frozenset(map(str, found))
