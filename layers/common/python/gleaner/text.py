"""Pure functions on strings: cleaning, keyword identity, terms and stems."""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import cache, lru_cache

import snowballstemmer
from stop_words import get_stop_words

# A word: letters and digits, with a trailing + or # kept ("c++", "c#").
_WORD = re.compile(r"[^\W_]+[+#]*")
_SPACES = re.compile(r"\s+")
# Characters that carry no text and serve only to hide or reorder it: bidirectional controls and tags
# (Unicode Technical Report 36, section 2.10.5).
_INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")

# Words of the stop-words list that name topics all the same: it was made from web pages, not for keywords.
_TOPICAL = frozenset(
    "area areas arpa auth bill biol call case cases cause causes computer copy effect empty face "
    "faces fire group groups home homepage html http index info interest interests invention join key "
    "keys line member members microsoft mill mine move msie name netscape novel null number numbers "
    "order orders page pages part parts point points problem problems research result results ring "
    "room rooms side site state states system test text uucp value webpage website width word words "
    "world www year years zero".split()
)
# Words that every question and every answer might hold, so that they tell nothing about its topic.
_GENERIC = frozenset(
    "answer answers data details explanation guide info information introduction issue issues item "
    "items list lists overview question questions stuff summary things topic topics tutorial various "
    "way".split()
)

_stemmer = snowballstemmer.stemmer("english")
_stemmer_lock = threading.Lock()  # a Snowball stemmer keeps the word it works on in itself


def clean(text: str) -> str:
    """`text` in NFC without control characters (but tab and newline), lone surrogates and invisible controls."""
    kept = "".join(c for c in text if c in "\t\n" or unicodedata.category(c) not in ("Cc", "Cs"))
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", kept))


def encodable(text: str) -> str:
    """`text` without lone surrogates, which no encoding of the wire or the store can hold."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def collapse(text: str) -> str:
    """`text` trimmed, with every run of white space made one space."""
    return _SPACES.sub(" ", text).strip()


def fold(text: str) -> str:
    """The identity of a keyword: two texts are the same keyword exactly when their folds are equal.

    Compatibility caseless form (Unicode Standard, section 3.13, definition D146) in NFKC, with white space
    collapsed. "Straße" = "STRASSE", full-width = ASCII, NFC = NFD; dotless "ı" stays distinct from "i".
    Folding twice changes nothing.
    """
    nfd = unicodedata.normalize("NFD", clean(text))
    once = unicodedata.normalize("NFKD", nfd.casefold())
    return collapse(unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", once.casefold())))


@cache
def stop_words() -> frozenset[str]:
    """English words that carry no topic, folded: the list of the stop-words package, corrected."""
    listed = frozenset(part for word in get_stop_words("english") for part in _WORD.findall(fold(word)))
    return (listed - _TOPICAL) | _GENERIC


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The English Snowball (Porter 2) stem of a folded word."""
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))


def words(text: str) -> list[str]:
    """The words of `text`, folded, in order, stop words included."""
    return _WORD.findall(fold(text))


def terms(text: str) -> list[str]:
    """The words of `text` that carry a topic, folded, in order, without repeats."""
    return [word for word in dict.fromkeys(words(text)) if word not in stop_words()]


def stems(text: str) -> list[str]:
    """The stems of the terms of `text`, in order, without repeats."""
    return list(dict.fromkeys(stem(term) for term in terms(text)))
