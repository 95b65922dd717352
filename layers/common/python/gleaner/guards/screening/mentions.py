"""Tells a search for a piece of code, a message of a program or a token of a model from an order to a model.

It works on plain readings (see `unmasking`), in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

# A word of prose, which must not touch characters of code, URLs or options.
WORD = re.compile(r"(?<![\w./@:=<>$%&\\'\"(-])[^\W\d_]{2,}\d{0,4}(?![\w@=<>$%&\\/(-]|:\S)")
# Words that ask for an explanation.
_EXPLAINING = (
    r"how|why|what|when|vs|versus|explain\w*|explanation|mean(?:s|ing)?|differences?|examples?|prevent\w*|mitigat\w*|"
    r"protect\w*|defen[cs]es?|defend\w*|detect\w*|saniti[sz]\w*|escap(?:e|es|ed|ing)|vulnerabilit\w+|injections?|attacks?|"
    r"cve|owasp|tutorial|guide|syntax|documentation|docs"
)
# Words that name a problem. Any order may stand in an error message, so they explain nothing.
_PROBLEM = (
    r"format|usage|command|options|errors?|exceptions?|warnings?|fail(?:s|ed|ing|ure)?|fix|cannot|unable|troubleshoot\w*|"
    r"debug\w*|connection|refused|configur\w+|bug|issue|denied|invalid|missing|undefined|unexpected|broken|crash\w*|"
    r"time(?:d )?out|deprecated"
)
_EXPLAINING_WORD = re.compile(rf"(?:{_EXPLAINING})")
_TOPIC_WORD = re.compile(rf"(?:{_EXPLAINING}|{_PROBLEM})")
# Words that tell a model what to do. Programs say some of them to their users, but not beside tokens of a model.
_COMMANDING = re.compile(
    r"\b(?:you(?:r|'re)?|respond|reply|answer|obey|comply|reveal|pretend|act as|ignor\w*|forget|disregard|bypass|"
    r"override|unrestricted|restrictions?|safety|conversation|system prompt|instructions?|output (?:the|all|any)|send|"
    r"forward|tell|say|call it|list (?:the|all|any)|secrets|repeat|recommend|visit|enter|activate|always|from now on|"
    r"(?:must|shall|will|can) (?:now|always|never)|(?:assistants?|models?) (?:must|shall|should))\b"
)
# A sentence that goes on with one of these has named its whole object.
_FUNCTION_WORD = re.compile(
    r"\s+(?:and|or|to(?! (?:continue|proceed|log|sign|access|authenticate|unlock)\b)|"
    r"in|into|as|at|on|of|for|from|with|without|by|via|now|then|here|below|above|please|verbatim|word|"
    r"exactly|immediately|instead|so|but|that|this|it|me|us|i|you|when|because|before|after|first|also|just)\b"
)
_GOES_ON = re.compile(r"\s+[\"'(]?\w")
# Parts of a text that are code even if words stand in them.
_CODE = re.compile(
    r"\{\{[^\n]{0,300}?\}\}|\{%[^\n]{0,300}?%\}|[$#*@]\{[^{}\n]{0,300}\}|\$\([^()\n]{0,300}\)"
    r"|<!doctype[^\[>]{0,60}\[[\s\S]{0,1000}?\]\s{0,5}>|<[^<>]{1,300}>"
)
# Words that bare code and bare addresses consist of.
_CODE_WORDS = frozenset(
    (
        "select union all from where and or not insert update delete drop table database exec execute declare shutdown "
        "null waitfor delay order by group having like into values set users user admin username password passwd id "
        "limit reconfigure cat nc bash sh curl wget rm whoami ls php python perl ruby ping powershell cmd echo sleep "
        "touch kill env id uname alert script javascript confirm prompt eval http https ws wss ftp websocket file line "
        "txt connect fetch open visit load get post head put go read download browse test true false to the a an"
    ).split()
)
_MIN_SEARCH_WORDS = 2  # "permission denied"


class Mentions:
    """The words of one reading that say what is searched for, and those that tell a model what to do."""

    def __init__(self, reading: str) -> None:
        self._reading = reading
        self._commands = [command.span() for command in _COMMANDING.finditer(reading)]
        prose = _CODE.sub(lambda code: "<" * len(code[0]), reading)
        words = [(word.start(), word[0]) for word in WORD.finditer(prose)]
        self._word_starts = [start for start, _ in words]
        self._topic_starts = [start for start, word in words if _TOPIC_WORD.fullmatch(word)]
        self._named_starts = [start for start, word in words if word not in _CODE_WORDS]

    def has_search_words(self) -> bool:
        """Return whether words other than those of code stand in the text; one topic word suffices."""
        return len(self._named_starts) >= _MIN_SEARCH_WORDS or bool(self._topic_starts)

    def covers(self, sign: re.Match[str]) -> bool:
        """Return whether the text is a search for `sign`: words are about it, and none tells a model what to do."""
        if self._commands_beside(sign):
            return False
        named, topics = (_count_beside(starts, sign) for starts in (self._named_starts, self._topic_starts))
        return named >= _MIN_SEARCH_WORDS or topics > 0

    def begins_with(self, sign: re.Match[str]) -> bool:
        """Return whether `sign` is the beginning of a phrase, as in "print your environment variables linux"."""
        end = sign.end()
        if not _GOES_ON.match(self._reading, end) or _FUNCTION_WORD.match(self._reading, end):
            return False
        words, topics = (_count_behind(starts, sign) for starts in (self._word_starts, self._topic_starts))
        return (words >= _MIN_SEARCH_WORDS or topics > 0) and not self._commands_beside(sign)

    def _commands_beside(self, sign: re.Match[str]) -> bool:
        commands = self._commands
        return bool(commands) and (commands[0][0] < sign.start() or commands[-1][1] > sign.end())


def has_explaining_word(passage: str) -> bool:
    """Return whether a word of the passage asks for an explanation."""
    return any(_EXPLAINING_WORD.fullmatch(word) for word in WORD.findall(passage))


def _count_beside(starts: Sequence[int], sign: re.Match[str]) -> int:
    return bisect_left(starts, sign.start()) + _count_behind(starts, sign)


def _count_behind(starts: Sequence[int], sign: re.Match[str]) -> int:
    return len(starts) - bisect_left(starts, sign.end())
