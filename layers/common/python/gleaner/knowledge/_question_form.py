"""Reads a question into what decides its answer: numbers, kind, opposites, negations, names and content words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import dropwhile, takewhile

from gleaner import text
from gleaner.guards.numbers import NUMBER_WORDS, read_numbers
from gleaner.knowledge._question_language import find_question_language
from gleaner.knowledge._word_tables import UNSPACED, Mark, Tables, read_tables

FIRST = "1st"  # the word, among the numbers
_MAX_TEXT = 4_000  # characters that are read of an answer
_MAX_QUESTION = 1_000
_MAX_CONTENT = 40  # content words that are compared, since each is compared with each
_MAX_EXCLUDED = 2  # content words of a thing that is left out: "without hot water"
_DIGIT_BESIDE_LETTER = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_MINUS = re.compile(r"(?<![\w)])[-−](?=\d)")
_PARENTHESES = re.compile(r"\([^()]*\)")
_DECIMALS = re.compile(r"(?<!\d)\d+(?:\.\d+)+")
_SYMBOL = re.compile(r"(?<![\w.])[B-HJ-Z](?![\w'’])[+#]*")  # "vitamin C", "plan B", "C++"
_HIRAGANA = re.compile("[\u3040-\u309f]")
_CHARACTERS = re.compile("[\u30a0-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_QUESTION_WORD_FIRST = (
    *("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish", "danish", "polish"),
    None,
)
_CLAUSE_END = re.compile(r"[.,;:!?¿¡]\s|[¿¡]")
# Words that decide, although they are function words of their language.
_DECIDING = frozenset(("ohne", "sans", "senza", "sem", "außer", "ausser", "sauf", "без", "кроме"))


@dataclass(frozen=True, slots=True)
class Word:
    """A content word of a question; `groups` are its entries among the synonyms."""

    written: str  # folded
    stem: str
    groups: frozenset[str]
    is_name: bool
    names_kind: bool  # it only says what kind of thing is asked for: "price", "hours"
    position: int
    language: str | None  # of its question


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """What decides the answer to a question."""

    text: str
    words: tuple[str, ...]
    content: tuple[Word, ...]
    numbers: frozenset[str]
    decimals: frozenset[str]  # as they are written: version 3.1 is not 3.10
    kinds: frozenset[str]
    sides: dict[str, frozenset[str]]  # "+" and "-", by the number of the opposites
    negations: int
    excluded: tuple[Word, ...]  # content words of what is left out: "without http2", "except dogs"
    language: str | None
    is_unspaced: bool


@lru_cache(maxsize=256)
def read_question(question: str) -> QuestionForm:
    """Read a question or a phrase that is searched for."""
    tables = read_tables()
    language = find_question_language(question)
    plain = _DIGIT_BESIDE_LETTER.sub(" ", _MINUS.sub(" minus ", text.clean(question[:_MAX_QUESTION])))
    words = text.words(plain)
    spoken = text.find_words(text.fold(plain))
    kinds = _leading(tables.kinds.find(spoken, language), plain, spoken, language)
    opposites = tables.opposites.find(spoken, language)
    content = tuple(_read_content(plain, words, spoken, kinds, opposites, tables, language))
    return QuestionForm(
        text=question,
        words=tuple(words),
        content=content,
        numbers=find_numbers(plain, language),
        decimals=frozenset(_DECIMALS.findall(text.fold(question[:_MAX_QUESTION]))),
        kinds=_read_kinds(kinds),
        sides=_read_sides(opposites),
        negations=_count_negations(text.find_words(text.fold(_PARENTHESES.sub(" ", plain))), language, tables),
        excluded=_find_excluded(words, content, language, tables),
        language=language,
        is_unspaced=UNSPACED.search(plain) is not None,
    )


@lru_cache(maxsize=256)
def find_numbers(passage: str, language: str | None) -> frozenset[str]:
    """Return the numbers of a text in normal form, in digits and in words."""
    plain = _DIGIT_BESIDE_LETTER.sub(" ", passage[:_MAX_TEXT])
    marks = read_tables().numbers.find(text.words(plain), language)
    return read_numbers(plain, pronouns=False) | {mark.label for mark in marks}


def _leading(marks: list[Mark], plain: str, spoken: list[str], language: str | None) -> list[Mark]:
    """Leave out the question words of subordinate clauses, in languages whose question words come first."""
    if language not in _QUESTION_WORD_FIRST:
        return marks
    fillers = _find_fillers(spoken, language)
    starts = _clause_starts(plain)
    return [
        mark
        for mark in marks
        if mark.phrase not in read_tables().question_words
        or fillers.issuperset(spoken[max((start for start in starts if start <= mark.start), default=0) : mark.start])
    ]


def _clause_starts(plain: str) -> list[int]:
    """The numbers of the words at which clauses begin."""
    counts = [len(text.find_words(text.fold(part))) for part in _CLAUSE_END.split(plain)]
    return [sum(counts[:position]) for position in range(len(counts))]


def _read_kinds(marks: list[Mark]) -> frozenset[str]:
    """The kinds that a question asks for; a precise one replaces "how much"."""
    kinds = frozenset(mark.label for mark in marks)
    is_precise = bool(kinds - {"name", "method", "amount", "quantity", "count", "where", "who", "when", "why"})
    return kinds - ({"name", "amount", "quantity", "count"} if is_precise else {"name"})


def _read_sides(marks: list[Mark]) -> dict[str, frozenset[str]]:
    sides: dict[str, frozenset[str]] = {}
    strong = {mark.label[:-1] for mark in marks if not mark.is_weak}
    for mark in marks:
        if mark.is_weak and mark.label[:-1] in strong:
            continue
        number, side = mark.label[:-1], mark.label[-1]
        sides[number] = sides.get(number, frozenset()) | {side}
    return sides


def _count_negations(words: list[str], language: str | None, tables: Tables) -> int:
    spurious = tables.no_negations.find(words, language)
    removed = {position for mark in spurious for position in range(mark.start, mark.end)}
    plain = [word for position, word in enumerate(words) if position not in removed]
    joined = " ".join(plain)
    for mark in spurious:
        if mark.start < 0:
            joined = joined.replace(mark.phrase, " ")
    return len(tables.negations.find(joined.split(), language))


def _find_excluded(
    words: list[str], content: tuple[Word, ...], language: str | None, tables: Tables
) -> tuple[Word, ...]:
    """The words of the things that are left out: after "without", or before "olmadan".

    They are the next content words in a row, apart from function words on the way to them.
    """
    by_position = {word.position: word for word in content}
    after = [range(mark.end, len(words)) for mark in tables.excluding.find(words, language)]
    before = [range(mark.start - 1, -1, -1) for mark in tables.excluding_before.find(words, language)]
    found = [_first_in_a_row(positions, by_position, _MAX_EXCLUDED) for positions in after]
    found += [_first_in_a_row(positions, by_position, 1) for positions in before]  # further words may be of the rest
    return tuple(word for row in found for word in row)


def _first_in_a_row(positions: range, by_position: dict[int, Word], most: int) -> list[Word]:
    rest = list(dropwhile(lambda position: position not in by_position, positions))
    return [by_position[position] for position in takewhile(by_position.__contains__, rest[:most])]


def _read_content(
    plain: str,
    words: list[str],
    spoken: list[str],
    kinds: list[Mark],
    opposites: list[Mark],
    tables: Tables,
    language: str | None,
) -> list[Word]:
    names, symbols = _find_names(plain), {text.fold(symbol) for symbol in _SYMBOL.findall(plain)}
    kind_words = {word for mark in kinds if mark.label not in ("who", "where") for word in _words_of(mark, spoken)}
    # Of opposites only the side differs, which is compared elsewhere: here both are the same word.
    strong = {word: f"={mark.label[:-1]}" for mark in opposites if not mark.is_weak for word in _words_of(mark, spoken)}
    fillers = _find_fillers(words, language)
    phrases = _label_phrases(tables.synonyms.find(words, language))
    unspaced = _label_characters(tables.synonyms.find(spoken, language))
    light_marks = [*kinds, *(mark for mark in opposites if mark.is_weak)]
    unspaced_phrases = "".join(mark.phrase for mark in light_marks if mark.start < 0)
    content: list[Word] = []
    for position, word in enumerate(words):
        if word not in symbols and ((word in fillers and word not in strong) or _is_number(word, tables)):
            continue
        if tables.negations.labels(word):
            continue
        for part in _CHARACTERS.findall(word) if UNSPACED.search(word) and _CHARACTERS.search(word) else [word]:
            if _HIRAGANA.match(part):
                continue
            content.append(
                Word(
                    written=part,
                    stem=text.stem(part),
                    groups=tables.synonyms.labels(part)
                    | phrases.get(position, set())
                    | unspaced.get(part, set())
                    | ({strong[word]} if word in strong else set()),
                    is_name=part in names or part in symbols,
                    names_kind=part in kind_words or part in unspaced_phrases,
                    position=position,
                    language=language,
                )
            )
    return list({word.written: word for word in content}.values())[:_MAX_CONTENT]


def _label_phrases(marks: list[Mark]) -> dict[int, set[str]]:
    """The entries of phrases of several words, by the positions of their words."""
    labels: dict[int, set[str]] = {}
    for mark in marks:
        for position in range(mark.start, mark.end) if mark.end - mark.start > 1 else ():
            labels.setdefault(position, set()).add(mark.label)
    return labels


def _label_characters(marks: list[Mark]) -> dict[str, set[str]]:
    """The entries of phrases in scripts without spaces, by their characters."""
    labels: dict[str, set[str]] = {}
    for mark in marks:
        for character in mark.phrase if mark.start < 0 else ():
            labels.setdefault(character, set()).add(mark.label)
    return labels


def _words_of(mark: Mark, spoken: list[str]) -> list[str]:
    return spoken[mark.start : mark.end] if mark.start >= 0 else list(mark.phrase)


def _is_number(word: str, tables: Tables) -> bool:
    return word.isdecimal() or word in NUMBER_WORDS or bool(tables.numbers.labels(word))


def _find_names(plain: str) -> frozenset[str]:
    """The words that are written with a capital; the first word may be any word."""
    written = text.find_words(plain)
    capitals = {part for word in written[1:] if word != word.lower() for part in text.words(word)}
    return frozenset(capitals)


def _find_fillers(words: list[str], language: str | None) -> frozenset[str]:
    others = text.find_stop_words(frozenset(words)) - text.english_stop_words()
    return _fillers(language or "") | (others - _DECIDING)


@cache
def _fillers(language: str) -> frozenset[str]:
    """The words that say nothing in a language or in English."""
    tables = read_tables()
    of_language = tables.fillers.get(language, frozenset()) | tables.languages.get(language, frozenset())
    return (tables.fillers["english"] | of_language) - _DECIDING
