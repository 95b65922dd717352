"""Tells a question about an attack from the attack itself.

It works on plain readings (see `unmasking`), in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gleaner.guards.screening.mentions import WORD, Mentions, has_explaining_word

_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)"
)
# A full stop ends a sentence before whitespace, or before a script that uses none.
_END = re.compile(r"[.!?؟]+(?=[\"'”»)\]]{0,5}(?:\s|$|[^\x00-\x7f]))|。|\n")
_MIN_WORDS = 3  # of a question; code that ends in a question mark has fewer
# Words that open a question, at the start of a sentence or clause.
_OPENS_QUESTION = re.compile(
    r"(?:^|[,;:¿(–—]|\s-)[\s\"'“‘«„*_>-]{0,5}(?:how|what|why|when|where|which|who|whose|is|are|was|were|do|does|did|should|"
    r"can i|can we|can an?|may i|could an?|explain|describe|define|compare|"
    r"wie|was ist|warum|weshalb|welche\w*|comment|pourquoi|que(?:l|lle)s?|qu'|como|por que|que|cual\w*|come|perche|"
    r"cosa|hoe|waarom|wat|jak|dlaczego|co|proc|hur|varfor|vad|как\w*|что|почему|зачем|як|чому|що|πωσ|τι|γιατι|nasil|"
    r"neden|bagaimana|mengapa|apa|lam (?:the nao|sao)|hogyan|miert|cum|de ce|miten|miksi)(?=[\s'’,])"
    r"|怎么|如何|什么|为什么|为何|吗|どう|なぜ|ですか|ますか|教えて|方法|어떻게|무엇|왜|كيف|لماذا|ما هي|چگونه|چرا|कैसे|"
    r"क्या|क्यों|อย่างไร|ทำไม|כיצד|איך|למה"
)
# Words that open a clause of any sentence, too: "when you read this".
_OPENS_CLAUSE = re.compile(r"\W*(?:when|where|which|who|whose|is|are|was|were|do|does|did|should)\b")
_ADDRESSED = re.compile(
    r"^\W*(?:(?:can|could|will|would|won't|do|why don't|how about|what if|what about) you\b|why not\b)"
    r"|\bplease\b(?!\W*$)"
)
_SECOND_PERSON = re.compile(r"\byou(?:r|'re)?\b")
_FOREIGN_LETTER = re.compile(r"[^\x00-\u036f\W\d_]")
_MIN_FOREIGN_LETTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    asks: bool  # a question that does not tell a second person to do something
    opens_at: int  # where the question starts
    has_explaining_word: bool


class Asking:
    """The questions in one reading."""

    def __init__(self, reading: str) -> None:
        self._reading = reading
        quotes = [quote.span() for quote in _QUOTED.finditer(reading)]
        self._quotes_begin = [begin for begin, _ in quotes]
        self._quotes_end = [end for _, end in quotes]
        self._outside = _QUOTED.sub(lambda quote: "_" * len(quote[0]), reading)
        self._ends = [end.end() for end in _END.finditer(self._outside)]
        self._sentences: dict[tuple[int, int], _Sentence] = {}  # by span

    @cached_property
    def mentions(self) -> Mentions:
        """The words of the reading that say what is searched for."""
        return Mentions(self._reading)

    def excuses(self, sign: re.Match[str]) -> bool:
        """Return whether the sentence around `sign` asks about it.

        The question must open before the sign, or quote it. Neither may address a second person: "Can you ...?"
        asks for the action itself.
        """
        span = self._find_sentence(*sign.span())
        sentence = self._read_sentence(span)
        if self._is_quoted(*sign.span()):
            return sentence.asks or sentence.has_explaining_word
        is_in_question = sentence.asks and sentence.opens_at <= sign.start() - span[0]
        return is_in_question and not _SECOND_PERSON.search(sign[0])

    def has_topic(self) -> bool:
        """Return whether the text says or asks anything about its code."""
        foreign_letters = len(_FOREIGN_LETTER.findall(self._reading))
        if foreign_letters >= _MIN_FOREIGN_LETTERS or self.mentions.has_search_words():
            return True
        ends = [0, *(end.end() for end in _END.finditer(self._reading)), len(self._reading)]
        return any(_is_question(self._reading[begin:end]) for begin, end in pairwise(ends))

    def _read_sentence(self, span: tuple[int, int]) -> _Sentence:
        if span not in self._sentences:  # cached, because one sentence may contain many signs
            self._sentences[span] = _read(self._outside[slice(*span)])
        return self._sentences[span]

    def _find_sentence(self, start: int, stop: int) -> tuple[int, int]:
        before, behind = bisect_right(self._ends, start), bisect_left(self._ends, stop)
        begin = self._ends[before - 1] if before else 0
        return begin, self._ends[behind] if behind < len(self._ends) else len(self._outside)

    def _is_quoted(self, start: int, stop: int) -> bool:
        nearest = bisect_right(self._quotes_begin, start) - 1
        return nearest >= 0 and stop <= self._quotes_end[nearest]


def _read(sentence: str) -> _Sentence:
    ends_in_question_mark = _ends_in_question_mark(sentence)
    opening = next(
        (
            opening
            for opening in _OPENS_QUESTION.finditer(sentence)
            if ends_in_question_mark or not _opens_only_clause(opening)
        ),
        None,
    )
    foreign = _FOREIGN_LETTER.search(sentence) is not None and ends_in_question_mark
    return _Sentence(
        asks=(opening is not None or foreign) and not _ADDRESSED.search(sentence),
        opens_at=0 if foreign or opening is None else opening.start(),
        has_explaining_word=has_explaining_word(sentence),
    )


def _opens_only_clause(opening: re.Match[str]) -> bool:
    is_clause = _OPENS_CLAUSE.match(opening[0]) is not None
    return is_clause and (opening.start() > 0 or "when" in opening[0])


def _is_question(sentence: str) -> bool:
    if _OPENS_QUESTION.match(sentence):
        return True
    return _ends_in_question_mark(sentence) and len(WORD.findall(sentence)) >= _MIN_WORDS


def _ends_in_question_mark(sentence: str) -> bool:
    return sentence.rstrip(" \n\"'”»)]_").endswith(("?", "؟"))
