"""Reads the numbers of a text in a normal form.

It knows digits of all scripts and styles, decimals, fractions, Roman numerals and English number words. "1,000",
"1000", "①⓪⓪⓪", "M" after "volume" and "one thousand" are the same number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

_SEPARATOR = "[.,'’\u00a0\u2009\u202f\u066b\u066c]"
_NUMBER = rf"(?:(?<![\w.,])[.,])?(?:\d{{1,3}}(?:_\d{{3}})+(?!\d)|\d+(?:{_SEPARATOR}\d+)*)"
_GROUPED = re.compile(r"\d{1,3}(?:[,.'’_\u00a0\u2009\u202f\u066c]\d{3})+")
_TOKEN = re.compile(rf"(?P<number>{_NUMBER})|(?P<word>[^\W\d_]+)|(?P<break>[^\s\w-])")

# Markup and marks that readers do not see between digits.
_BETWEEN_DIGITS = re.compile(
    r"(?<=\d)(?:[\u0300-\u036f\u20e3\ufe0f]+|(?:[*`~]|</?(?!su)\w{1,6}>)+(?=\d))|\\(?=[.,_])", re.IGNORECASE
)
_ROMAN_CHARACTERS = re.compile("[\u2160-\u217f]+")
_FRACTION = re.compile(r"(\d{0,15})\s?([\u00bc-\u00be\u2150-\u215e\u2189])")
# Superscripts, subscripts, and digits and numbers in circles, brackets or before full stops.
_STYLED = re.compile(
    "[\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u3220-\u3229"
    "\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\U0001f100-\U0001f10c]+"
)
_ROMAN = re.compile(
    r"(?<![^\W_])(?:(?P<upper>[IVXLCDM]{2,15})(?:th|st|nd|rd|e)?|(?P<lower>[ivx]{2,10})"
    r"|(?i:chapter|part|volume|vol\.|section|book|article|act|appendix|phase|type|class|level|grade|stage|war)"
    r"\s(?P<single>[IVXLCDM]))(?![^\W_])"
)
_VALID_ROMAN = re.compile(r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", re.IGNORECASE)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
# Valid Roman numerals that are usually something else: units, formats, sizes, titles, editors.
_NOT_ROMAN = frozenset(
    "CC CD CI CIV CL CV CX DC DI DIV DIX DL DM DX LI LX MC MD MDI MI MIX ML MM MV XL XX XXL xi xx vi".split()
)

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = "third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
_SMALL = (
    {word: value for value, word in enumerate((*_UNITS, "seventeen", "eighteen", "nineteen"))}
    | {word: 10 * value for value, word in enumerate(_TENS, start=2)}
    | {word: value for value, word in enumerate(_ORDINALS, start=3)}
)
_AFTER_TENS = {"first": 1, "second": 2}  # alone, they are often no numbers
_TENS_VALUES = range(20, 100, 10)
_AFTER_TENS_VALUES = range(1, 10)
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 10**9, "trillion": 10**12}
NUMBER_WORDS = frozenset((*_SMALL, *_SCALES, "hundred")) - {"one"}


def read_numbers(passage: str, *, pronouns: bool) -> frozenset[str]:
    """Return the numbers of `passage`; the lone word "one", which may be a pronoun, only if `pronouns` is set."""
    run = _Run()
    for token in _TOKEN.finditer(_write_in_digits(passage)):
        word = (token["word"] or "").casefold()
        if token["number"]:
            run.add_digits(token["number"])
        elif word == "and" and run.may_continue:
            continue
        elif not word or not run.add_word(word):
            run.end()
    run.end()
    lone = frozenset() if pronouns or not run.has_lone_one else frozenset(("1",))
    return frozenset(run.numbers) - (lone - run.certain)


@dataclass(slots=True)
class _Run:
    """Adjacent tokens that may make up one number, such as `2 million` and `nine hundred and five`."""

    numbers: set[str] = field(default_factory=set)
    certain: set[str] = field(default_factory=set)  # numbers that were not the lone word "one"
    has_lone_one: bool = False
    _total: Decimal = Decimal(0)  # of the parts that already have their scale
    _scale: int = 10**15  # of the last part; the next one must be smaller
    _part: Decimal | None = None
    _digits: str = ""  # how `_part` was written, in normal form
    _words: int = 0

    @property
    def may_continue(self) -> bool:
        """Whether "and" may follow within the number."""
        return self._words > 1 and (self._part is None or self._part % 100 == 0)

    def add_digits(self, number: str) -> None:
        """Start a number that is written in digits."""
        self.end()
        self._digits = _normalize(number)
        self._part = Decimal(self._digits) if re.fullmatch(r"\d{1,15}(?:\.\d{1,15})?", self._digits) else Decimal(0)
        self._words = 1

    def add_word(self, word: str) -> bool:
        """Add a number word; return False if `word` is none."""
        if word in _SMALL:
            self._add_small(_SMALL[word])
        elif word in _AFTER_TENS and self._part is not None and self._is_tens():
            self._add_small(_AFTER_TENS[word])
        elif word in ("hundred", *_SCALES):
            self._multiply(100 if word == "hundred" else _SCALES[word], keeps=word == "hundred")
        else:
            return False
        self._words += 1
        return True

    def end(self) -> None:
        """Keep the number, if there is one, and start over."""
        if not self._words:  # as after most words: nothing was started
            return
        value = self._digits or _format(self._total + (self._part or 0))
        self.numbers.add(value)
        if value == "1" and self._words == 1 and not self._digits:
            self.has_lone_one = True
        else:
            self.certain.add(value)
        self._total, self._scale, self._part, self._digits, self._words = Decimal(0), 10**15, None, "", 0

    def _is_tens(self) -> bool:
        return self._part is not None and not self._digits and self._part % 100 in _TENS_VALUES

    def _add_small(self, value: int) -> None:
        part = self._part
        follows_hundred = part is not None and not self._digits and part > 0 and part % 100 == 0
        if part is not None and not follows_hundred and not (self._is_tens() and value in _AFTER_TENS_VALUES):
            self.end()
            part = None
        self._part = Decimal(value) + (part or 0)

    def _multiply(self, factor: int, *, keeps: bool) -> None:
        limit = 100 if keeps else self._scale
        if (self._part or 0) >= limit if keeps else factor >= limit:
            self.end()
        product = (1 if self._part is None else self._part) * factor
        self._digits = ""
        if keeps:
            self._part = Decimal(product)
        else:
            self._total, self._scale, self._part = self._total + product, factor, None


def _write_in_digits(passage: str) -> str:
    """Rewrite fractions, styled digits and Roman numerals in ASCII digits."""
    passage = _ROMAN_CHARACTERS.sub(lambda run: unicodedata.normalize("NFKC", run[0]), passage)
    passage = _BETWEEN_DIGITS.sub("", passage)
    passage = _FRACTION.sub(_write_fraction, passage)
    passage = _STYLED.sub(lambda run: f" {' '.join(_write_styled(run[0]))} ", passage)
    return _ROMAN.sub(_write_roman, passage)


def _write_fraction(fraction: re.Match[str]) -> str:
    value = Decimal(int(fraction[1] or 0)) + Decimal(str(round(unicodedata.numeric(fraction[2]), 6)))
    return f" {_format(value)} "


def _write_styled(run: str) -> Iterator[str]:
    """Yield the numbers of a run: single digits make up one number, others such as a circled 12 stand alone."""
    digits = ""
    for character in run:
        digit = unicodedata.digit(character, None)
        if digit is not None:
            digits += str(digit)
            continue
        if digits:
            yield digits
        digits = ""
        yield _format(Decimal(str(unicodedata.numeric(character, 0))))
    if digits:
        yield digits


def _write_roman(match: re.Match[str]) -> str:
    numeral = match["upper"] or match["lower"] or match["single"]
    if numeral in _NOT_ROMAN or not _VALID_ROMAN.fullmatch(numeral):
        return match[0]
    values = [_ROMAN_VALUES[letter] for letter in numeral.upper()]
    following = [*values[1:], 0]
    return f" {sum(-value if value < after else value for value, after in zip(values, following, strict=True))} "


def _normalize(number: str) -> str:
    """Return one spelling for 1,000 and 1000, for 2,50 and 2.5, for .5 and 0.5, and for the digits of all scripts."""
    if _GROUPED.fullmatch(number):
        return _to_ascii_digits(re.sub(r"\D", "", number)).lstrip("0") or "0"
    integer, separator, rest = re.sub("[,\u066b]", ".", _to_ascii_digits(number)).partition(".")
    integer = integer.lstrip("0") or "0"
    if not separator or not rest.isdecimal():
        return integer + separator + rest
    return f"{integer}.{rest.rstrip('0')}".rstrip(".")


def _to_ascii_digits(number: str) -> str:
    return "".join(str(unicodedata.digit(character, character)) for character in number)


def _format(value: Decimal) -> str:
    return _normalize(f"{value:f}")
