"""Stems of words by their script, in one spelling: inflections and variants of one word have one stem.

The stemmers are Snowball's. The script chooses the language; Latin words are stemmed as English ones without accents,
since single words do not tell their language.
"""

from __future__ import annotations

import math
import re
import threading
import unicodedata
from collections.abc import Callable
from functools import lru_cache

import Stemmer

_ACCENT = re.compile("[\u0300-\u036f]")
# Letters of the Latin script that have no decomposition, as people write them without these letters.
_LATIN = str.maketrans({"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ð": "d", "þ": "th"})
# Arabic letters that are written for each other, with the forms of Persian and Urdu.
_ARABIC = str.maketrans("أإآٱىیېکڪۀہھ", "اااايييككههه")
_NUKTA = re.compile("[\u093c\u09bc\u0a3c\u0abc\u0b3c]")
# A nasal consonant before a consonant of its own class may be written as a dot; so may the moon dot.
_NASAL = re.compile("[नमञणङ]\u094d(?=[क-भ])|\u0901")
_KATAKANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}  # to Hiragana
_HEBREW_PREFIX = re.compile("^[ושהבלמכ]{1,3}(?=[א-ת]{3})")
_HEBREW_ENDING = re.compile("(?<=[א-ת]{3})(?:יים|יות|ים|ות|ית|ה|ת|י)$")
_HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")

# Words are compared by their first letters in languages that the English stemmer does not know: five letters find as
# much in Turkish as a full analysis does (Can et al., "Information retrieval on Turkish texts", 2008).
MIN_BEGINNING = 5
_BEGINNING_SHARE = 0.6

_lock = threading.Lock()  # a Snowball stemmer is not thread-safe
_stemmers: dict[str, Stemmer.Stemmer] = {"english": Stemmer.Stemmer("english")}


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a word, which is folded and split."""
    if word.isascii():
        return _snowball("english", word)
    for scripts, make_stem in _SCRIPTS:
        if scripts.search(word):
            return make_stem(word)
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))
    return _snowball("english", plain.translate(_LATIN))


@lru_cache(maxsize=5_000)
def stem_english(word: str) -> str:
    """Return the English stem of a word of any script, as all words were stemmed before 0.2."""
    return _snowball("english", word)


def shorten(stem: str) -> str:
    """Return the beginning that a stem shares with other inflections of its word, for languages with many endings."""
    return stem[: max(MIN_BEGINNING, math.ceil(_BEGINNING_SHARE * len(stem)))]


def _snowball(language: str, word: str) -> str:
    with _lock:
        if language not in _stemmers:
            _stemmers[language] = Stemmer.Stemmer(language)
        return str(_stemmers[language].stemWord(word))


def _stem_cyrillic(word: str) -> str:
    return _snowball("russian", word.replace("\u0301", "").replace("ё", "е"))


def _stem_greek(word: str) -> str:
    return _snowball("greek", word)


def _stem_arabic(word: str) -> str:
    return _snowball("arabic", word.translate(_ARABIC))


def _stem_devanagari(word: str) -> str:
    return _snowball("hindi", _NASAL.sub("\u0902", _NUKTA.sub("", word)))


def _stem_tamil(word: str) -> str:
    return _snowball("tamil", word)


def _stem_hebrew(word: str) -> str:
    """Cut off the letters that stand for the article, prepositions and conjunctions, and the endings of numbers."""
    bare = _HEBREW_PREFIX.sub("", _HEBREW_ENDING.sub("", word))
    return bare.replace("יי", "י").replace("וו", "ו").translate(_HEBREW_FINALS)


def _stem_kana(word: str) -> str:
    return word.translate(_KATAKANA)


def _stem_indic(word: str) -> str:
    return _NUKTA.sub("", word)


_SCRIPTS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile("[\u0400-\u052f]"), _stem_cyrillic),
    (re.compile("[\u0600-\u06ff]"), _stem_arabic),
    (re.compile("[\u0900-\u097f]"), _stem_devanagari),
    (re.compile("[\u05d0-\u05ea]"), _stem_hebrew),
    (re.compile("[\u0370-\u03ff]"), _stem_greek),
    (re.compile("[\u30a1-\u30f6]"), _stem_kana),
    (re.compile("[\u0b80-\u0bff]"), _stem_tamil),
    (re.compile("[\u0980-\u0b7f]"), _stem_indic),
    (re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7a3]"), str),
)
