"""Recognizes messages that ask nothing of the documents: greetings, thanks, "Who are you?", messages without words."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files

from gleaner.text import WORD, fold

MAX_CHARS = 120  # a longer message is not looked at: small talk is short
_FILLER = "filler"
_WORDS = re.compile(rf"{WORD}(?:['’]{WORD})*")
# Letters that are written without spaces between words: there a phrase may end anywhere.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_LENGTHENED = re.compile(r"([^\W\d_])\1{2,}")  # "hellooo", "哈哈哈"
_EMOTICON = re.compile(r"(?i)(?<!\w)(?:[:;=]['-]?[)(dpo3/\\|*]|x-?d+|<3|\^_*\^)(?!\w)")
# Marks end a clause before a space. Their runs are read once, as a whole, which takes linear time.
_CLAUSE = re.compile(
    r"(?:(?<![.!?,;:…])[.!?,;:…]++(?!\s|$)|(?!\s[-–—]\s)[^.!?,;:…。！？，、؟،।\n])+"
    r"(?:[.!?,;:…。！？，、؟،।]+|\s[-–—]\s)?"
)


class SmallTalk(StrEnum):
    """The kinds of messages that ask nothing of the documents."""

    GREETING = "greeting"
    THANKS = "thanks"
    FAREWELL = "farewell"
    REACTION = "reaction"
    ASSISTANT = "assistant"  # "Who are you?", "What can you do?", "Help!"
    WORDLESS = "wordless"  # "?", "…", emoji


_PRECEDENCE = (SmallTalk.ASSISTANT, SmallTalk.THANKS, SmallTalk.FAREWELL, SmallTalk.GREETING, SmallTalk.REACTION)


def recognize(message: str) -> SmallTalk | None:
    """Return the kind of small talk that `message` consists of, None if it holds any other word.

    Questions about the assistant decide before thanks and farewells, these before greetings, and these before
    reactions: "Hello, thanks!" thanks.
    """
    return None if len(message) > MAX_CHARS else _recognize(message)


@lru_cache(maxsize=64)  # each step of a question asks for it
def _recognize(message: str) -> SmallTalk | None:
    words = " ".join(_WORDS.findall(fold(_EMOTICON.sub(" ", message)).replace("’", "'")))
    if not words:
        return SmallTalk.WORDLESS
    spellings = dict.fromkeys((words, _LENGTHENED.sub(r"\1", words), _LENGTHENED.sub(r"\1\1", words)))
    kinds = next(filter(None, map(_split, spellings)), set[str]())
    return next((kind for kind in _PRECEDENCE if kind in kinds), None)


def without_small_talk(message: str) -> str:
    """Return `message` without small talk before and after what it asks: "Hi, when …? Thanks!" becomes "when …?".

    A question about the assistant may be half of a real one: "What can you do, if the door is locked?" stays whole.
    """
    asking = [clause for clause in _CLAUSE.finditer(message) if recognize(clause[0]) in (None, SmallTalk.ASSISTANT)]
    return message[asking[0].start() : asking[-1].end()].strip() if asking else message


def _split(words: str) -> set[str]:
    """The kinds of the phrases that `words` consists of, without fillers; empty if anything is left."""
    phrases, longest = _read_phrases()
    kinds: set[str] = set()
    position = 0
    while position < len(words):
        ends = range(min(len(words), position + longest), position, -1)
        end = next((end for end in ends if words[position:end] in phrases and _is_border(words, end)), None)
        if end is None:
            return set()
        kinds.add(phrases[words[position:end]])
        position = end + words[end : end + 1].count(" ")
    return kinds - {_FILLER}


def _is_border(words: str, end: int) -> bool:
    return end == len(words) or words[end] == " " or _UNSPACED.match(words, end - 1) is not None


@cache
def _read_phrases() -> tuple[dict[str, str], int]:
    """The kind of each phrase, and the length of the longest. A phrase of several kinds has the first."""
    source = re.sub("(?m)^#.*$", "", (files("gleaner") / "small_talk.txt").read_text(encoding="utf-8"))
    phrases: dict[str, str] = {}
    for section in re.split(r"(?m)^>\s*", source)[1:]:
        kind, _, lines = section.partition("\n")
        for phrase in re.split(r"[,\n]", lines):
            words = " ".join(_WORDS.findall(fold(phrase)))
            if words:
                phrases.setdefault(words, kind.strip())
    return phrases, max(map(len, phrases))
