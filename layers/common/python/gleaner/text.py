"""Pure functions on strings: cleaning, keyword identity, terms and stems."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import Literal

from gleaner._function_words import Language, read_languages
from gleaner._splitting import WORD, cut_phrases, find_words, split
from gleaner._stemming import MIN_BEGINNING, shorten, stem, stem_english

__all__ = (
    "MIN_BEGINNING",
    "WORD",
    "beginnings",
    "clean",
    "collapse",
    "cut_marks",
    "cut_phrases",
    "drop_surrogates",
    "english_stop_words",
    "find_stop_words",
    "find_visible_start",
    "find_words",
    "fold",
    "former_stems",
    "function_words",
    "replace_surrogates",
    "stem",
    "stems",
    "stop_words",
    "terms",
    "words",
)

# A word as it was split before combining marks and scripts without spaces were heeded.
_FORMER_WORD = re.compile(r"[^\W_]+[+#]*")
_SPACES = re.compile(r"\s+")
# All line endings.
_LINE_END = re.compile("\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, lone surrogates, noncharacters, and invisible characters that hide or reorder text: bidirectional controls,
# tags, zero-width characters and fillers (Unicode Technical Report 36, sections 2.10 and 3; Technical Standard 39,
# section 3.1).
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_PICTURES = "\xa9\xae\u2010-\u32ff\U0001f000-\U0001faff"
# Scripts in which joiners are part of the spelling: Arabic and related scripts, and those of India.
_JOINED = "\u0600-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc\U00011000-\U00011fff\U0001e900-\U0001e95f"
_JOINERS_AND_SELECTORS = "\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
# A variation selector belongs to the character before it. A sequence of selectors, or one after a letter, carries
# hidden data.
_STRAY_SELECTOR = f"(?<![#*0-9{_PICTURES}{_HAN}\u1000-\u109f])[\ufe00-\ufe0f]|(?<![{_HAN}])[\U000e0100-\U000e01ef]"
# Zero-width joiners and non-joiners are text between two such letters or pictures, and hidden elsewhere.
_STRAY_JOINER = f"(?<![{_JOINED}{_PICTURES}\ufe0f])[\u200c\u200d]|[\u200c\u200d](?![{_JOINED}{_PICTURES}])"
_JOINER_OR_SELECTOR = re.compile(f"[{_JOINERS_AND_SELECTORS}]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
# Joiners and selectors at the start have no character to belong to.
_INVISIBLE_START = re.compile(f"(?:\\s|{_HIDDEN.pattern}|[{_JOINERS_AND_SELECTORS}])*")
_IGNORED_IN_IDENTITY = re.compile(f"[\u180b-\u180f{_JOINERS_AND_SELECTORS}]")

# Characters that may be combining marks. Normalisation sorts a run of marks in quadratic time, so runs are cut: nothing
# is written with more than a few (Unicode Standard Annex 15, section 13, allows 30).
_MAX_MARKS = 32
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MAX_MARKS + 1},}}")

# Words of the stop-words list that do name topics: the list was made from web pages, not for keywords.
_TOPICAL = frozenset(
    "area areas arpa auth bill biol call case cases cause causes computer copy effect empty face "
    "faces fire group groups home homepage html http index info interest interests invention join key "
    "keys line member members microsoft mill mine move msie name netscape novel null number numbers "
    "order orders page pages part parts point points problem problems research result results ring "
    "room rooms side site state states system test text uucp value webpage website width word words "
    "world www year years zero".split()
)
# Words that any question or answer might contain, so that they say nothing about its topic.
_GENERIC = frozenset(
    "answer answers data details explanation guide info information introduction issue issues item "
    "items list lists overview question questions stuff summary things topic topics tutorial various "
    "way".split()
)

# Languages in the Latin script whose words have other endings than English ones.
_INFLECTED = ("german", "french", "spanish", "turkish")
_LATIN = re.compile("[a-z]")
# Hiragana that are left between the other words of a Japanese text: endings of verbs and adjectives.
_LONE_KANA = frozenset(map(chr, range(0x3041, 0x3097)))


def clean(text: str) -> str:
    """Convert to NFC and newlines, and remove controls (except tab), lone surrogates and hidden characters.

    Joiners and variation selectors stay where they are part of the spelling: in emoji and in scripts that use them.
    Takes linear time: of more than 32 combining marks on one character, the rest is removed.
    """
    if text.isascii():  # which has neither forms nor marks
        return _HIDDEN.sub("", _LINE_END.sub("\n", text))
    visible = _HIDDEN.sub("", _LINE_END.sub("\n", _normalize("NFC", text)))
    if _JOINER_OR_SELECTOR.search(visible):  # otherwise skip these patterns, which are slow to compile
        # What is hidden may have stood between marks, whose order says which of them a joiner joins.
        visible = re.sub(_STRAY_JOINER, "", re.sub(_STRAY_SELECTOR, "", _normalize("NFC", visible)))
    return cut_marks(_normalize("NFC", visible))


def cut_marks(text: str) -> str:
    """Remove what exceeds 32 combining marks on one character: normalisation sorts them in quadratic time."""
    return _MARK_RUN.sub(_cut_run, text)


def drop_surrogates(text: str) -> str:
    """Remove lone surrogates, which cannot be encoded for the wire or the store."""
    return text.encode("utf-8", "ignore").decode("utf-8")


def replace_surrogates(text: str) -> str:
    """Replace each lone surrogate with U+FFFD, so that all other characters keep their position."""
    return _LONE_SURROGATE.sub("\ufffd", text)


def find_visible_start(text: str) -> int:
    """Return the number of leading characters that are whitespace or that `clean` removes."""
    match = _INVISIBLE_START.match(text)
    return match.end() if match else 0


def collapse(text: str) -> str:
    """Trim `text` and replace every run of whitespace with one space."""
    return _SPACES.sub(" ", text).strip()


def fold(text: str) -> str:
    """Return the identity of a keyword: two texts are the same keyword if and only if their folds are equal.

    This is the compatibility caseless form (Unicode Standard, section 3.13, definition D146) in NFKC, with
    whitespace collapsed and without joiners and variation selectors. "Straße" = "STRASSE", full-width = ASCII,
    NFC = NFD; dotless "ı" stays distinct from "i". Folding is idempotent.
    """
    if text.isascii():  # whose normal forms are all the same
        return collapse(clean(text).casefold())
    nfd = _normalize("NFD", _IGNORED_IN_IDENTITY.sub("", clean(text)))
    once = unicodedata.normalize("NFKD", nfd.casefold())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", once.casefold()))
    return collapse(cut_marks(folded))


@cache
def english_stop_words() -> frozenset[str]:
    """Return English words that carry no topic, folded: the list of the stop-words package, corrected."""
    from stop_words import get_stop_words

    package_words = frozenset(part for word in get_stop_words("english") for part in _FORMER_WORD.findall(fold(word)))
    return (package_words - _TOPICAL) | _GENERIC


@cache
def stop_words() -> frozenset[str]:
    """Return words that carry no topic, folded: those of English, and those of twelve languages that English lacks."""
    others = (language.words for language in read_languages())
    return english_stop_words().union(_LONE_KANA, *others)


def find_stop_words(all_words: Collection[str]) -> frozenset[str]:
    """Return which of the words of a text carry no topic there: "die" and "war" do not beside "wann"."""
    ambiguous = frozenset[str]().union(*(language.ambiguous for language in _recognize(all_words)))
    return frozenset(word for word in all_words if word in stop_words() or word in ambiguous)


def _recognize(all_words: Collection[str]) -> list[Language]:
    """The languages other than English of which there are function words."""
    return [language for language, own_words in _own_words() if not own_words.isdisjoint(all_words)]


@cache
def _own_words() -> tuple[tuple[Language, frozenset[str]], ...]:
    """The function words that distinguish each language from English."""
    return tuple((language, language.words - english_stop_words()) for language in read_languages())


def function_words() -> dict[str, frozenset[str]]:
    """Return the words that name no topic by the name of their language, those that are topics in English included."""
    return {language.name: language.words | language.ambiguous for language in read_languages()}


def words(text: str) -> list[str]:
    """Return the folded words of `text` in order, including stop words.

    In scripts without spaces between words, and in Korean, words are pairs of characters.
    """
    return split(fold(text))


def terms(text: str) -> list[str]:
    """Return the folded words of `text` that carry a topic, in order, without duplicates."""
    all_words = dict.fromkeys(words(text))
    no_topics = find_stop_words(all_words.keys())
    return [word for word in all_words if word not in no_topics]


def stems(text: str) -> list[str]:
    """Return the stems of the terms of `text`, in order, without duplicates."""
    return list(dict.fromkeys(stem(term) for term in terms(text)))


def beginnings(text: str) -> dict[str, str]:
    """Return how the stems of `text` begin, by stem: a word whose stem begins so is taken for an inflection of it.

    These are the stems themselves for English, and for scripts that have stemmers of their own.
    """
    all_words = words(text)
    inflected = any(language.name in _INFLECTED for language in _recognize(all_words))
    return {stem: shorten(stem) if inflected and _LATIN.match(stem) else stem for stem in stems(text)}


def former_stems(text: str) -> list[str]:
    """Return the stems of `text` as keywords were stored by before marks and scripts without spaces were heeded."""
    former_words = dict.fromkeys(_FORMER_WORD.findall(fold(text)))
    return list(dict.fromkeys(stem_english(word) for word in former_words if word not in english_stop_words()))


def _normalize(form: Literal["NFC", "NFD"], text: str) -> str:
    return unicodedata.normalize(form, cut_marks(text))


def _cut_run(run: re.Match[str]) -> str:
    parts: list[str] = []
    marks = 0
    for character in run[0]:
        decomposed = unicodedata.normalize("NFD", character)  # U+0F81, for example, becomes two marks
        marks = marks + len(decomposed) if all(map(unicodedata.combining, decomposed)) else 0
        if marks <= _MAX_MARKS:
            parts.append(character)
    return "".join(parts)
