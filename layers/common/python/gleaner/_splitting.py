"""Splits folded text into words, in scripts with and without spaces between words.

Words with spaces are those of Unicode Standard Annex 29 without their punctuation: letters and digits with all marks
that belong to them. Chinese, Japanese, Thai, Lao, Khmer and Burmese are cut at their function words and numerals, and
what is between becomes pairs of characters, as in Lucene's CJKAnalyzer: no dictionary is needed, and a query and a
passage are always cut in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from gleaner._function_words import read_languages, read_unspaced_words

# Combining marks, in ranges that hold letters, digits and unassigned characters besides, but no punctuation
# (general category M in Unicode 16).
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711-\u07f3\u07fd\u0816-\u082d\u0859-\u085b\u0898-\u08e1\u08e3-\u0963"
    "\u0981-\u09e3\u09fe-\u0a75\u0a81-\u0ae3\u0afa-\u0b63\u0b82-\u0bd7\u0c00-\u0c63\u0c81-\u0c83\u0cbc-\u0d4d"
    "\u0d57-\u0d63\u0d81-\u0df3\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ecd\u0f18-\u0f19\u0f35\u0f37\u0f39\u0f3e-\u0f84"
    "\u0f86-\u0fbc\u0fc6\u102b-\u103e\u1056-\u109d\u135d-\u135f\u1712-\u1734\u1752-\u17d3\u17dd\u180b-\u180d"
    "\u180f-\u193b\u1a17-\u1a1b\u1a55-\u1a7f\u1ab0-\u1b44\u1b6b-\u1b73\u1b80-\u1bf3\u1c24-\u1c37\u1cd0-\u1cd2"
    "\u1cd4-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2d7f-\u2dff\u302a-\u302f\u3099-\u309a\ua66f-\ua672\ua674-\ua67d"
    "\ua69e-\ua6f1\ua802-\ua827\ua82c\ua880-\ua8c5\ua8e0-\ua8f1\ua8ff-\ua92d\ua947-\ua953\ua980-\ua9c0\ua9e5-\uaa4d"
    "\uaa7b-\uaac1\uaaeb-\uaaef\uaaf5-\uaaf6\uabe3-\uabea\uabec-\uabed\ufb1e\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U00010a01-\U00010a3f\U00011000-\U00011046\U00011070-\U000110ba\U000110c2\U00011100-\U00011134"
    "\U00011145-\U00011173\U00011180-\U000111c0\U0001122c-\U00011237\U000112df-\U00011446\U0001145e-\U000114c3"
    "\U000115af-\U000115c0\U000115dc-\U00011640\U000116ab-\U000116b7\U0001e8d0-\U0001e94a"
)
_HAN = "\u3005\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\uac00-\ud7a3"
# Lao and Thai, Burmese, Khmer: their letters, with the vowels that stand before the consonant they belong to.
_SOUTHEAST = "\u0e01-\u0e4e\u0e80-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u17dd"
_UNSPACED = f"{_HAN}{_HIRAGANA}{_KATAKANA}{_SOUTHEAST}"
_JOINERS = "\u200c\u200d"

# The pattern of a word: letters and digits with their marks, and trailing + or # ("c++", "c#").
WORD = rf"[^\W_](?:[^\W_]|[{_MARKS}{_JOINERS}])*+[+#]*+"
_WORD = re.compile(WORD)
_PLAIN_WORD = re.compile(r"[^\W_]+[+#]*")
_SPECIAL = re.compile(f"[{_UNSPACED}{_HANGUL}]")
_NUMERALS = "〇零一二三四五六七八九十百千万萬億亿两兩"
_RUN = re.compile(
    f"(?P<numeral>[{_NUMERALS}]+)|(?P<pairs>[{_HAN}]+|[{_HIRAGANA}]+)|(?P<triples>[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<clusters>[{_SOUTHEAST}]+)|(?P<other>[^{_UNSPACED}{_HANGUL}]+)"
)
_HAN_BUT_NUMERALS = re.compile(f"[{_NUMERALS}]+|[^{_NUMERALS}]+")
# The marks of these scripts alone.
_SOUTHEAST_MARKS = (
    "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e\u1056-\u1059\u105e-\u1060"
    "\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u17b4-\u17d3\u17dd"
)
# A consonant with the vowel before it, its marks, subjoined consonants (Khmer, Burmese) and the vowel after it.
_CLUSTER = re.compile(
    rf"[\u0e40-\u0e44\u0ec0-\u0ec4]?[^\W\d_](?:[\u1039\u17d2][^\W\d_]|[{_SOUTHEAST_MARKS}])*"
    r"[\u0e30\u0e32\u0e45\u0eb0\u0eb2]?|[^\s]"
)
# Letters that French and Italian put before a word, and endings that Turkish and English put after a name.
_ELISION = re.compile(r"(?<![^\W_])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|all|dell|nell|sull)['’](?=[^\W_])")
_ENDING = re.compile(r"(?<=[^\W\d_]{3})['’][a-zçğışöü]{1,4}(?![^\W_])")
# Signs within words: Hebrew abbreviations and borrowed sounds, the apostrophe of Ukrainian.
_INNER_SIGN = re.compile("(?<=[\u05d0-\u05ea])[\"'’\u05f3\u05f4](?=[\u05d0-\u05ea])|(?<=[а-яіїєґ])['’](?=[а-яіїєґ])")
# Marks that may be left out in writing: vowels and accents of Hebrew and Arabic, and the line that lengthens words.
_OPTIONAL = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e8\u06ea-\u06ed]"
)
# Korean particles and endings, which are written without a space before them; cut off if a syllable is left.
_PARTICLE = re.compile(
    "(?<=[\uac00-\ud7a3])(?:에서는|에서|에게서|에게|에는|에도|에|까지|부터|으로|로|이며|이고|이나|이란|은|는|이|가|을|를|의|과|와|도|만|께서"
    "|입니까|입니다|인가요|이에요|예요|인지|습니까|습니다|합니까|합니다|하나요|되나요|됩니다|됩니까|해야|하는|하고|하면|하기|되는|나요|까요"
    "|니다|니까|지요|세요)$"
)


def find_words(written: str) -> list[str]:
    """Return the words of `written` as they stand there; text without spaces between words is one word."""
    return _WORD.findall(written)


def split(folded: str) -> list[str]:
    """Return the words of a folded text in order. In scripts without spaces they are pairs of characters."""
    spelled = _ELISION.sub("", _ENDING.sub("", folded)) if "'" in folded or "’" in folded else folded
    if spelled.isascii():
        return _PLAIN_WORD.findall(spelled)
    plain = _OPTIONAL.sub("", _INNER_SIGN.sub("", spelled))
    words = _WORD.findall(plain)
    return [part for word in words for part in _split_word(word)] if _SPECIAL.search(plain) else words


def cut_phrases(written: str) -> list[str]:
    """Cut a word as `find_words` returns it at its function words, if its script has no spaces between words."""
    if not _SPECIAL.search(written):
        return [written]
    return [part for part in _function_word().split(written) if part]


@lru_cache(maxsize=20_000)
def _split_word(word: str) -> tuple[str, ...]:
    if not _SPECIAL.search(word):
        return (word,)
    parts: list[str] = []
    position = 0
    for function_word in _function_word().finditer(word):
        parts += _split_runs(word[position : function_word.start()])
        parts.append(function_word[0])
        position = function_word.end()
    return (*parts, *_split_runs(word[position:]))


def _split_runs(text: str) -> Iterator[str]:
    for run in _RUN.finditer(text):
        if run["hangul"]:
            yield from _split_korean(run[0])
        elif run["triples"]:  # Katakana spells sounds: foreign words share many pairs
            yield from _sequences(run[0], 3)
        elif run["clusters"]:
            yield from _sequences(_CLUSTER.findall(run[0]), 2)
        elif run["pairs"]:
            for part in _HAN_BUT_NUMERALS.findall(run[0]):
                yield from (part,) if part[0] in _NUMERALS else _sequences(part, 2)
        elif any(map(str.isalnum, run[0])):
            yield run[0]


def _sequences(characters: str | list[str], size: int) -> Iterator[str]:
    for start in range(max(1, len(characters) - size + 1)):
        yield "".join(characters[start : start + size])


def _split_korean(word: str) -> Iterator[str]:
    bare = _PARTICLE.sub("", word)
    if function_word := {word, bare} & _korean_words():
        yield min(function_word)
    else:
        yield from _sequences(bare, 2)


@cache
def _korean_words() -> frozenset[str]:
    return next(language.words for language in read_languages() if language.name == "korean")


@cache
def _function_word() -> re.Pattern[str]:
    """Match a function word of a script without spaces, the longest first."""
    words = sorted(read_unspaced_words(), key=len, reverse=True)
    return re.compile(f"(?:{'|'.join(map(re.escape, words))})(?![{_MARKS}])")
