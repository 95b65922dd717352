"""Judges by words and numbers whether the cited passages support the statements of an answer, and by which sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gleaner import text
from gleaner.guards._markdown_code import shield_code, unshield_code
from gleaner.guards._own_addresses import collect_addresses, extract_addresses
from gleaner.guards.numbers import NUMBER_WORDS, read_numbers
from gleaner.model import Passage, Support
from gleaner.sentences import CLOSERS, TERMINATORS, split_sentences

# Minimum shares of a statement's key terms; docs/decisions/0011-untrusted-text.md explains the values.
_MIN_FOUND = 0.6
_MIN_WEAK = 0.3

_NUMBER_WEIGHT = 2.0  # a term weighs 1

_MAX_TEXT = 300  # characters of a supporting sentence: enough to find it in its passage
_MAX_TEXTS = 20  # of one source

_MARK = r"\[((?:kb|web)-\d+)\]"
_MARKS = re.compile(rf"(?<!\s)\s*+{_MARK}")
# The marks after the full stop belong to the sentence before it.
_MARKS_AFTER_END = re.compile(rf"((?<![{TERMINATORS}])[{TERMINATORS}]++[{CLOSERS}]*+)((?:\s*+\[(?:kb|web)-\d+\])+)")
_LIST_NUMBER = re.compile(r"^\s*\d{1,3}[.)]\s+")
# Lines that start a block of their own: items, rows, headings and underlines.
_BLOCK = re.compile(r"[-*+•]\s|\d{1,9}[.)]\s|#{1,6}\s|[=*-]{2,}\s*$|[^|\n]*\|")
_ONE_LINE = re.compile(r"#{1,6}\s|[=*-]{2,}\s*$|[^|\n]*\|")  # blocks that end with their line


@dataclass(frozen=True, slots=True)
class _Content:
    """The content that is compared: stems of key terms, and numbers in a normal form.

    An address is one term, beside the words of its host: the words and numbers in its path state nothing.
    """

    terms: frozenset[str]
    numbers: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Statement:
    """One sentence of an answer, and the ids in its marks."""

    content: _Content
    marks: tuple[str, ...]


def judge_support(answer: str, sources: Sequence[Passage]) -> dict[str, Support]:
    """Return a verdict on each source, by its id. Each mark in `answer` must have one id.

    A source is judged by the sentences with its mark: `found` if it supports all of them, `none` if it supports
    none, otherwise `weak`. A source without a mark is judged by the sentence that it supports best. Only words and
    numbers are compared, so a passage in another language than the answer is rarely `found`.

    A stored web answer supports nothing by its own words, or what its pages did not say would be `found` once it is
    learned: what is kept of its pages is compared. If nothing is, it is judged by its words, as `weak` at most.
    """
    sentences = _split_answer(answer)
    # An answer such as "Seven." consists of common words only.
    statements = _read_statements(sentences, common=False) or _read_statements(sentences, common=True)
    contents = {source.id: _read_source(source) for source in sources}
    return {source.id: _limit(_judge_source(source.id, statements, contents), source) for source in sources}


def find_supporting_texts(answer: str, sources: Sequence[Passage]) -> dict[str, tuple[str | None, ...]]:
    """Return for each source, by its id, the sentences of its passage that the statements with its marks rest on.

    There is one for each mark of the source outside code, in their order and for at most 20: None if no sentence has
    enough of the statement. A source without a mark has the sentence that supports any of the answer best.
    """
    sentences = _split_answer(answer)
    marked = [(_read_statements([one], common=False), _MARKS.findall(one)) for one in sentences]
    has_numbers = any(statement.content.numbers for read, _ in marked for statement in read)
    found: dict[str, tuple[str | None, ...]] = {}
    for source in sources:
        texts = _read_texts(source, with_numbers=has_numbers)
        by_mark = [read for read, marks in marked for mark in marks if mark == source.id]
        whole = [statement for read, _ in marked for statement in read]
        found[source.id] = tuple(_find_text(read, texts) for read in by_mark or [whole])[:_MAX_TEXTS]
    return found


def _read_texts(source: Passage, *, with_numbers: bool) -> list[tuple[str, _Content]]:
    """The sentences of a passage with their contents. Headings name a topic but state nothing."""
    sentences = [one.strip() for one in split_sentences(_join_lines(source.content))]
    return [
        (one, _read_content(one, with_numbers=with_numbers)) for one in sentences if one and not one.startswith("#")
    ]


def _find_text(statements: Sequence[_Statement], texts: Sequence[tuple[str, _Content]]) -> str | None:
    """The sentence with the largest share of any of the statements; of two, the one with less else."""
    shares = [
        (_measure_share(statement.content, content), -len(content.terms), sentence)
        for statement in statements
        for sentence, content in texts
    ]
    share, _, sentence = max(shares, key=lambda rated: rated[:2], default=(0.0, 0, ""))
    return sentence[:_MAX_TEXT] if share >= _MIN_WEAK else None


def _split_answer(answer: str) -> list[str]:
    """The sentences of an answer, each with its marks before its end."""
    return split_sentences(_MARKS_AFTER_END.sub(r"\2\1", _join_lines(answer)))


def _join_lines(answer: str) -> str:
    """Put each paragraph and item of `answer` on one line, and remove the marks in code."""
    prose, code = shield_code(answer)
    blocks = [f"\n\n{placeholder}\n\n" if "\n" in piece else placeholder for placeholder, piece in _number(code)]
    joined: list[list[str]] = []
    is_open = False
    for line in unshield_code(prose, blocks).split("\n"):
        bare = line.lstrip(" \t>").rstrip(" \t")
        starts_block = not bare or _BLOCK.match(bare) is not None
        if is_open and not starts_block:
            joined[-1].append(bare)
        else:
            joined.append([bare])
        is_open = bool(bare) and not _ONE_LINE.match(bare)
    return unshield_code("\n".join(map(" ".join, joined)), [_MARKS.sub("", piece) for piece in code])


def _number(code: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each piece of code with its placeholder."""
    return [(f"\x00{number}\x00", piece) for number, piece in enumerate(code)]


def _limit(verdict: Support, source: Passage) -> Support:
    return Support.WEAK if verdict is Support.FOUND and source.backing == "" else verdict


def _judge_source(source_id: str, statements: Sequence[_Statement], contents: dict[str, _Content]) -> Support:
    verdicts = {_judge(statement, source_id, contents) for statement in statements if source_id in statement.marks}
    if not verdicts:
        others = [_judge(statement, source_id, contents) for statement in statements]
        return min(others, key=list(Support).index, default=Support.NONE)
    return verdicts.pop() if len(verdicts) == 1 else Support.WEAK


def _judge(statement: _Statement, source_id: str, contents: dict[str, _Content]) -> Support:
    claim, passage = statement.content, contents[source_id]
    # If a sentence cites several passages, each must support it in part, and all of them together in full.
    marks = statement.marks if source_id in statement.marks else ()
    combined = _combine([passage, *(contents[mark] for mark in marks if mark in contents)])
    if _measure_share(claim, passage) < _MIN_WEAK:
        return Support.NONE
    is_found = _measure_share(claim, combined) >= _MIN_FOUND and claim.numbers <= combined.numbers
    return Support.FOUND if is_found else Support.WEAK


def _combine(contents: Sequence[_Content]) -> _Content:
    return _Content(
        frozenset().union(*(content.terms for content in contents)),
        frozenset().union(*(content.numbers for content in contents)),
    )


def _measure_share(claim: _Content, source: _Content) -> float:
    """Return the weighted share of `claim` that occurs in `source`; `claim` must not be empty."""
    hits = len(claim.terms & source.terms) + _NUMBER_WEIGHT * len(claim.numbers & source.numbers)
    return hits / (len(claim.terms) + _NUMBER_WEIGHT * len(claim.numbers))


def _read_statements(sentences: Sequence[str], *, common: bool) -> list[_Statement]:
    """Return the sentences that have words to compare, which common words are only if `common` is set."""
    statements = []
    for sentence in sentences:
        plain, addresses = extract_addresses(_LIST_NUMBER.sub("", _MARKS.sub("", sentence)))
        words = text.words(plain)
        not_terms = NUMBER_WORDS if common else NUMBER_WORDS | text.find_stop_words(words)
        terms = _extract_terms([word for word in words if word not in not_terms])
        content = _Content(terms | addresses, read_numbers(plain, pronouns=False))
        if content.terms or content.numbers:
            statements.append(_Statement(content, tuple(_MARKS.findall(sentence))))
    return statements


def _read_source(source: Passage) -> _Content:
    return _read_content(
        "\n".join((source.title, source.chapter or "", source.backing or source.content, *source.urls))
    )


def _read_content(passage: str, *, with_numbers: bool = True) -> _Content:
    """`with_numbers`: to read them takes most of the time, which is spared where no statement has any."""
    terms = _extract_terms(text.words(passage)) | collect_addresses([passage])
    numbers = read_numbers(extract_addresses(passage)[0], pronouns=True) if with_numbers else frozenset()
    return _Content(terms, numbers)


def _extract_terms(words: Sequence[str]) -> frozenset[str]:
    return frozenset(text.stem(word) for word in words if not word.isdecimal())
