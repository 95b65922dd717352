"""Writes the values of cells as a spreadsheet shows them (ECMA-376 Part 1, 18.8.31), without locales and colours."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

Moment = datetime.datetime | datetime.date | datetime.time

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^\]-]*)(?:-[^\]]*)?\]|\[(?P<elapsed>h+|m+|s+)\]'
    r"|(?P<skipped>\[[^\]]*\]|_.|\*.)|(?P<general>General)|(?P<half_day>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+)"
    r"|(?P<digits>[0#?][0#?,.]*(?:E[+-]0+)?|\.0+)|(?P<percent>%)|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_LITERALS = ("quoted", "escaped", "currency")
_SIGNIFICANT_DIGITS = 15  # as many as a spreadsheet keeps
_MAX_DECIMALS = 30
# These formats show the reader's own short date. ISO dates mean the same to everybody.
_LOCAL_DATES = {"mm-dd-yy": "yyyy-mm-dd", "m/d/yy h:mm": "yyyy-mm-dd hh:mm"}

Token = tuple[str, str]  # the name of a group of _TOKEN and its text


def show_value(value: object, number_format: str) -> str:
    """The text of a cell."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _show_number(value, number_format)
    if isinstance(value, datetime.timedelta):
        return _show_duration(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return _show_date(value, _tokens(_sections(_LOCAL_DATES.get(number_format.lower(), number_format))[0]))
    return str(value)


def _sections(number_format: str) -> list[str]:
    """Those for positive numbers, negative ones, zero and text; semicolons outside quotes divide them."""
    marked = re.sub(r'"[^"]*"|\\.|;', lambda match: "\0" if match.group() == ";" else match.group(), number_format)
    return marked.split("\0")


def _tokens(section: str) -> list[Token]:
    return [(match.lastgroup or "other", match.group(match.lastgroup or 0)) for match in _TOKEN.finditer(section)]


def _show_number(value: float, number_format: str) -> str:
    if isinstance(value, float) and value - value != 0:  # infinite or not a number
        return str(value)
    positive, negative, zero, *_ = (*_sections(number_format or "General"), "", "")
    if value < 0 and negative:
        return _fill(abs(value), _tokens(negative))
    return _fill(value, _tokens(zero if value == 0 and zero else positive))


def _fill(value: float, tokens: Sequence[Token]) -> str:
    """Put the number into the place of the digits and keep the literal text around it: "$#,##0.00", "0.0%"."""
    kinds = [kind for kind, _ in tokens]
    if ("other", "/") in tokens or ("other", "@") in tokens or not set(kinds) & {"digits", "general", *_LITERALS}:
        return _show_general(value)  # fractions and text
    scaled = value * 100 ** kinds.count("percent")
    shown: list[str] = []
    for kind, text in tokens:
        if kind == "digits" and kinds.index("digits") == len(shown):
            shown.append(_show_digits(abs(scaled), text))
        elif kind == "general":
            shown.append(_show_general(abs(value)))
        else:
            shown.append("" if kind in ("skipped", "digits") else text)
    # "-0.00" is no number that a spreadsheet shows.
    sign = "-" if value < 0 and re.search("[1-9]", "".join(shown)) else ""
    return sign + "".join(shown).strip()


def _show_general(value: float) -> str:
    if isinstance(value, int) or (value.is_integer() and abs(value) < 10**_SIGNIFICANT_DIGITS):
        return str(int(value))
    return f"{value:.{_SIGNIFICANT_DIGITS}g}"


def _show_digits(value: float, pattern: str) -> str:
    mantissa, exponential, _ = pattern.upper().partition("E")
    grouped = "," in mantissa.rstrip(",")
    thousands = len(mantissa) - len(mantissa.rstrip(","))  # each comma at the end divides by a thousand
    whole, _, fraction = mantissa.replace(",", "").partition(".")
    decimals = min(len(fraction), _MAX_DECIMALS)
    if exponential:
        return f"{value:.{decimals}E}"
    number = Decimal(f"{value:.{_SIGNIFICANT_DIGITS}g}").scaleb(-3 * thousands)
    if number.adjusted() < _SIGNIFICANT_DIGITS:
        number = number.quantize(Decimal(1).scaleb(-min(decimals, 12)), ROUND_HALF_UP)
    text = f"{number:,f}" if grouped else f"{number:f}"
    before, dot, after = text.partition(".")
    least = len(fraction.rstrip("#?"))
    after = after[:least] + after[least:].rstrip("0")
    return before.zfill(whole.count("0")) + (dot + after if after else "")


def _show_duration(value: datetime.timedelta) -> str:
    seconds = abs(round(value.total_seconds()))
    sign = "-" if value < datetime.timedelta(0) else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _show_date(value: Moment, tokens: Sequence[Token]) -> str:
    """The parts of the date that the format names, with months in English: the format's language is the reader's."""
    codes = [text.lower() if kind in ("date", "elapsed") else "" for kind, text in tokens]
    if not any(codes):
        return str(value)
    moment = _complete(value)
    half_day = any(kind == "half_day" for kind, _ in tokens)
    shown: list[str] = []
    for index, (kind, text) in enumerate(tokens):
        if code := codes[index]:
            before = next(filter(None, reversed(codes[:index])), "")
            after = next(filter(None, codes[index + 1 :]), "")
            minutes = code in ("m", "mm") and (before[:1] == "h" or after[:1] == "s")
            shown.append(_show_part(moment, "n" * len(code) if minutes else code, half_day=half_day))
        elif kind == "half_day":
            shown.append("AM" if moment.hour < 12 else "PM")  # noqa: PLR2004 - noon
        elif kind not in ("skipped", "digits") and text != "@":
            shown.append(text)
    return "".join(shown).strip()


def _complete(value: Moment) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(datetime.date(1900, 1, 1), value)
    return datetime.datetime.combine(value, datetime.time())


def _show_part(moment: datetime.datetime, code: str, *, half_day: bool) -> str:
    if code[0] == "y":
        return f"{moment.year:04d}" if len(code) > 2 else f"{moment.year % 100:02d}"  # noqa: PLR2004 - "yy"
    if code[0] in "md" and len(code) > 2:  # noqa: PLR2004 - "mmm" and longer are names
        name = moment.strftime("%B" if code[0] == "m" else "%A")
        return name if len(code) == 4 else name[:1] if len(code) == 5 else name[:3]  # noqa: PLR2004 - "mmmm", "mmmmm"
    hour = (moment.hour - 1) % 12 + 1 if half_day else moment.hour
    number = {"m": moment.month, "d": moment.day, "h": hour, "n": moment.minute, "s": moment.second}[code[0]]
    return f"{number:0{min(len(code), 2)}d}"
