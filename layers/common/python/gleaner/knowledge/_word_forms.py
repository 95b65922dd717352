"""Tells whether two words are forms of one: inflections, spellings, or words of one root."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache

MIN_VARIANT = 4
_ROOT = 2  # letters that are left of a word of a Semitic language at least
ENDINGS = frozenset(
    " e n r s t x en em er es et ed ing d st te ten ung ungen 's a o as os ar ir ado ada ados adas i io re ly ies y ion"
    " ions tion er ers ern se ens ies ied al ally ation ations ment ments ant ent ance ence ness able ie yer ier".split(
        " "
    )
)
# Turkish and Slavic words have more endings than a list could hold.
_TURKISH_SHARE = 0.4
_TURKISH_NEGATION = re.compile("m[ae](?:z|mal|mel|yen|yan|d[ıi])|m[ıiuü]yor")
_CYRILLIC_SHARE = 0.6
_YOUNG = re.compile("(?<=.{3})(?:[её]н(?:ок|к.*)|ят.*)$")  # young animals, of which one and several differ
_SHORT_ENDINGS = frozenset(("", "s", "es", "d", "ed", "ing"))  # of words of three letters
NAME_ENDINGS = frozenset(" s es n e а у ы и ой е ом ем ю я ей".split(" "))
_SPELLINGS = (
    (re.compile("^ge(?=.{3,}(?:t|en)$)"), ""),  # German participles
    (re.compile("our"), "or"),
    (re.compile("is(?=e|ing|ation|able)"), "iz"),
    (re.compile("(?<=[bt])re$"), "er"),
    (re.compile("ogue"), "og"),
    (re.compile("(?:ae|oe|ue)"), "e"),
    (re.compile("[äöü]"), "e"),
    (re.compile("grey"), "gray"),
    (re.compile("ence"), "ense"),
    (re.compile("amme"), "am"),
    (re.compile("(.)\\1"), "\\1"),
)


def is_variant(one: str, two: str, endings: Collection[str], language: str | None = None) -> bool:
    """Whether two words of a language are inflections or spellings of one, or else share their root."""
    if _is_inflection(one, two, endings) or _is_inflection(_spell(one), _spell(two), endings):
        return True
    return endings is ENDINGS and language in _FORMS and _FORMS[language](one, two)


def _is_spanish_form(one: str, two: str) -> bool:
    return _is_inflection(_undo_diphthongs(one), _undo_diphthongs(two), ENDINGS)


def _is_turkish_form(one: str, two: str) -> bool:
    same_sign = bool(_TURKISH_NEGATION.search(one)) == bool(_TURKISH_NEGATION.search(two))
    return same_sign and _share_beginning(one, two, _TURKISH_SHARE)


def _is_cyrillic_form(one: str, two: str) -> bool:
    return _share_beginning(_YOUNG.sub("", one), _YOUNG.sub("", two), _CYRILLIC_SHARE)


def _is_arabic_form(one: str, two: str) -> bool:
    return _find_arabic_root(one) == _find_arabic_root(two)


def _is_hebrew_form(one: str, two: str) -> bool:
    return _find_hebrew_root(one) == _find_hebrew_root(two)


def _undo_diphthongs(word: str) -> str:
    """Return a Spanish word with the vowel of its other forms: "riegan", "regar"; "cuece", "cocer"."""
    return word.replace("ue", "o").replace("ie", "e")


def _share_beginning(one: str, two: str, share: float) -> bool:
    """Whether two words share at least four letters at their beginning, or all, and this share of the longer."""
    length = _count_common(one, two)
    whole = min(len(one), len(two))
    return length >= min(MIN_VARIANT, max(whole, MIN_VARIANT - 1)) and length >= share * max(len(one), len(two))


def _count_common(one: str, two: str) -> int:
    """How many letters two words share at their beginning."""
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _is_inflection(one: str, two: str, endings: Collection[str]) -> bool:
    if one == two:
        return True
    length = _count_common(one, two)
    if length == MIN_VARIANT - 1:
        return {one[length:], two[length:]} <= _SHORT_ENDINGS
    return length >= MIN_VARIANT and one[length:] in endings and two[length:] in endings


@lru_cache(maxsize=10_000)
def _spell(word: str) -> str:
    if not word.isalpha() or ord(word[0]) > 0x24F:  # noqa: PLR2004 - the end of the Latin letters
        return word
    for pattern, spelling in _SPELLINGS:
        word = pattern.sub(spelling, word)
    return word


@lru_cache(maxsize=10_000)
def _find_arabic_root(word: str) -> str:
    """Return the letters of an Arabic word without those that its patterns add and those that change in them."""
    return _cut(word, _ARABIC_ENDS, _ARABIC_WEAK)


@lru_cache(maxsize=10_000)
def _find_hebrew_root(word: str) -> str:
    return _cut(word, _HEBREW_ENDS, _HEBREW_WEAK).translate(_HEBREW_FINALS)


def _cut(word: str, ends: re.Pattern[str], weak: re.Pattern[str]) -> str:
    bare = ends.sub("", word)
    root = weak.sub("", bare)
    return next((form for form in (root, bare) if len(form) >= _ROOT), word)


# Words of a Semitic language are forms of a root of three letters, of which weak ones are lost in some forms.
_ARABIC_ENDS = re.compile("^(?:[وفبكل]?ال|لل|[بكل](?=.{4}))|(?:ات|ون|ين|ها|ة|ه|ي)$")
_ARABIC_WEAK = re.compile("[اأإآويىةتءئؤ]")
_HEBREW_ENDS = re.compile("^(?:ו?[הלבכמש]?ה?(?=.{3}))|(?:ים|ות|ית|ה|ת|י)$")
_HEBREW_WEAK = re.compile("^[מהת](?=.{2})|[ויא]")
_HEBREW_FINALS = str.maketrans("ךםןףץ", "כמנפצ")
_FORMS: dict[str | None, Callable[[str, str], bool]] = {
    "spanish": _is_spanish_form,
    "turkish": _is_turkish_form,
    "cyrillic": _is_cyrillic_form,
    "arabic": _is_arabic_form,
    "hebrew": _is_hebrew_form,
}
