"""Tells a search for an attack, or for code that looks like one, from the attack itself.

It works on plain readings (see `unmasking`), in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise

_QUOTED = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{1,300}'(?!\w)"
)
# A full stop ends a sentence before whitespace, or before a script that uses none.
_END = re.compile(r"[.!?؟]+(?=[\"'”»)\]]{0,5}(?:\s|$|[^\x00-\x7f]))|。|\n")
# A word of prose, which must not touch characters of code, URLs or options.
_WORD = re.compile(r"(?<![\w./@:=<>$%&\\'\"(-])[^\W\d_]{2,}(?![\w@:=<>$%&\\/(-])")
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
_ADDRESSED = re.compile(
    r"^\W*(?:(?:can|could|will|would|won't|do|why don't|how about|what if|what about) you\b|why not\b)"
    r"|\bplease\b(?!\W*$)"
)
_SECOND_PERSON = re.compile(r"\byou(?:r|'re)?\b")
_TOPIC_WORD = re.compile(
    r"(?:how|why|what|when|vs|versus|explain\w*|explanation|mean(?:s|ing)?|differences?|examples?|prevent\w*|mitigat\w*|"
    r"protect\w*|defen[cs]es?|defend\w*|detect\w*|saniti[sz]\w*|escap(?:e|es|ed|ing)|vulnerabilit\w+|injections?|attacks?|"
    r"cve|owasp|tutorial|guide|syntax|format|documentation|docs|usage|command|options|errors?|exceptions?|warnings?|"
    r"fail(?:s|ed|ing|ure)?|fix|cannot|unable|troubleshoot\w*|debug\w*|connection|refused|configur\w+|bug|issue|"
    r"denied|invalid|missing|undefined|unexpected|broken|crash\w*|time(?:d )?out|deprecated)"
)
# Words that tell a model what to do. Programs say some of them to their users, but not beside tokens of a model.
_COMMANDING = re.compile(
    r"\b(?:you(?:r|'re)?|respond|reply|answer|obey|comply|reveal|pretend|act as|ignor\w*|forget|disregard|bypass|"
    r"override|unrestricted|restrictions?|safety|conversation|system prompt|instructions?|output (?:the|all|any)|send|"
    r"forward|tell|repeat|recommend|visit|enter|activate|always|from now on|"
    r"(?:must|shall|will|can) (?:now|always|never)|(?:assistants?|models?) (?:must|shall|should))\b"
)
# A sentence that goes on with one of these has named its whole object.
_FUNCTION_WORD = re.compile(
    r"\s+(?:and|or|to|in|into|as|at|on|of|for|from|with|without|by|via|now|then|here|below|above|please|verbatim|word|"
    r"exactly|immediately|instead|so|but|that|this|it|me|us|i|you|when|because|before|after|first|also|just)\b"
)
_GOES_ON = re.compile(r"\s+[\"'(]?\w")
# Parts of a text that are code even if words stand in them.
_CODE = re.compile(r"\{\{[^\n]{0,300}?\}\}|\{%[^\n]{0,300}?%\}|<!doctype[^\[>]{0,60}\[[\s\S]{0,1000}?\]\s{0,5}>|<[^<>]{1,300}>|[$#*@]\{[^{}\n]{0,300}\}|\$\([^()\n]{0,300}\)")
# Words that bare code and bare addresses consist of.
_CODE_WORDS = frozenset(
    "select union all from where and or not insert update delete drop table database exec execute declare shutdown null "
    "waitfor delay order by group having like into values set users user admin username password passwd id limit reconfigure "
    "cat nc bash sh curl wget rm whoami ls php python perl ruby ping powershell cmd echo sleep touch kill env id uname "
    "alert script javascript confirm prompt eval http https ws wss ftp websocket file line txt connect fetch open visit "
    "load get post head put go read download browse test true false to the a an".split()
)
_MIN_SEARCH_WORDS = 2  # "permission denied"
_FOREIGN_LETTER = re.compile(r"[^\x00-\u036f\W\d_]")
_MIN_FOREIGN_LETTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    asks: bool  # a question that does not tell a second person to do something
    opens_at: int  # where the question starts
    has_topic_word: bool


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

    def excuses(self, sign: re.Match[str]) -> bool:
        """Return whether the sentence around `sign` asks about it.

        The question must open before the sign, or quote it. Neither may address a second person: "Can you ...?"
        asks for the action itself.
        """
        span = self._find_sentence(*sign.span())
        sentence = self._read_sentence(span)
        if self._is_quoted(*sign.span()):
            return sentence.asks or sentence.has_topic_word
        is_in_question = sentence.asks and sentence.opens_at <= sign.start() - span[0]
        return is_in_question and not _SECOND_PERSON.search(sign[0])

    def mentions(self, sign: re.Match[str]) -> bool:
        """Return whether the text is a search for `sign`: words are about it, and none tells a model what to do."""
        return not self._commands_beside(sign) and has_search_words(f"{self._before(sign)} {self._behind(sign)}")

    def continues(self, sign: re.Match[str]) -> bool:
        """Return whether `sign` is the beginning of a phrase, as in "print your environment variables linux"."""
        rest = self._behind(sign)
        goes_on = _GOES_ON.match(rest) is not None and not _FUNCTION_WORD.match(rest)
        named = len(_WORD.findall(rest)) >= _MIN_SEARCH_WORDS or _has_topic_word(rest)
        return goes_on and named and not self._commands_beside(sign)

    def has_topic(self) -> bool:
        """Return whether the text says or asks anything about its code."""
        if len(_FOREIGN_LETTER.findall(self._reading)) >= _MIN_FOREIGN_LETTERS or has_search_words(self._reading):
            return True
        ends = [0, *(end.end() for end in _END.finditer(self._reading)), len(self._reading)]
        return any(_is_question(self._reading[begin:end]) for begin, end in pairwise(ends))

    def _before(self, sign: re.Match[str]) -> str:
        return self._reading[: sign.start()]

    def _behind(self, sign: re.Match[str]) -> str:
        return self._reading[sign.end() :]

    def _commands_beside(self, sign: re.Match[str]) -> bool:
        return bool(_COMMANDING.search(self._before(sign)) or _COMMANDING.search(self._behind(sign)))

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


def has_search_words(passage: str) -> bool:
    """Return whether words other than those of code stand in the passage; one topic word suffices."""
    words = _WORD.findall(_CODE.sub("<>", passage))
    named = sum(word not in _CODE_WORDS for word in words)
    return named >= _MIN_SEARCH_WORDS or any(_TOPIC_WORD.fullmatch(word) for word in words)


def _read(sentence: str) -> _Sentence:
    opening = _OPENS_QUESTION.search(sentence)
    foreign = _FOREIGN_LETTER.search(sentence) is not None and _ends_in_question_mark(sentence)
    return _Sentence(
        asks=(opening is not None or foreign) and not _ADDRESSED.search(sentence),
        opens_at=0 if foreign or opening is None else opening.start(),
        has_topic_word=_has_topic_word(sentence),
    )


def _is_question(sentence: str) -> bool:
    if _OPENS_QUESTION.match(sentence):
        return True
    return _ends_in_question_mark(sentence) and len(_WORD.findall(sentence)) >= _MIN_WORDS


def _has_topic_word(passage: str) -> bool:
    return any(_TOPIC_WORD.fullmatch(word) for word in _WORD.findall(passage))


def _ends_in_question_mark(sentence: str) -> bool:
    return sentence.rstrip(" \n\"'”»)]_").endswith(("?", "؟"))
