"""Reads values of JSON that a service sent: a value of a wrong type is as good as a missing one."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import jiter

from gleaner.model import JsonObject
from gleaner.text import drop_surrogates

_MAX_SHOWN = 500  # characters of arguments that were no object, as the model sees them again
_MAX_COUNT = 10**12  # a greater number of tokens is a mistake; DynamoDB stores 38 digits
_MAX_DIGITS = 300  # of a whole number: Python refuses to read 4,300 digits
_MAX_NAME_CHARS = 100  # of a model
_MAX_ENCODINGS = 3  # of arguments that are JSON in JSON

_LENIENT, _STRICT = json.JSONDecoder(strict=False), json.JSONDecoder()  # json.loads creates a lenient one for each text


def parse_json(body: bytes) -> Any:
    """The value in the body of an answer; bytes that are no UTF-8 become U+FFFD, and numbers may have any size.

    Raises ValueError if it is no JSON.
    """
    with suppress(ValueError):
        return jiter.from_json(body)  # in a quarter of the time; it refuses a few things that json reads
    with suppress(RecursionError, ValueError):
        return json.loads(body.decode())  # of bytes, it would guess the encoding, which takes as long as reading
    try:
        text = body.decode("utf-8-sig", "replace")
        return json.loads(text, strict=False, parse_int=_parse_int)  # slower: it calls back for every number
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf


def as_object(value: Any) -> JsonObject:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """The string without what no encoding can hold, or an empty one."""
    return drop_surrogates(value) if isinstance(value, str) else ""


def as_model_name(value: Any) -> str:
    """The name of a model on one line, cut to a length that fits into any log, or an empty string."""
    return " ".join(as_string(value).split())[:_MAX_NAME_CHARS]


def as_count(value: Any) -> int:
    """The number, or 0 for anything that is no believable count."""
    number = as_number(value)
    return int(number) if number is not None and number == math.floor(number) and 0 <= number <= _MAX_COUNT else 0


def as_number(value: Any) -> float | None:
    """The finite number, or None."""
    if type(value) not in (int, float):  # True is an int, too
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def arguments_text(arguments: Any) -> str:
    """Arguments of a call as text.

    Some providers send the object itself, models encode it twice or put it into a list: they say the same.
    """
    value = arguments
    for _ in range(_MAX_ENCODINGS):
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            value = value[0]
        if not isinstance(value, str):
            break
        decoded = _decode(value)
        if not isinstance(decoded, str | list):
            break  # an object, or nothing that could hold one: the text is what the model wrote
        value = decoded
    if value is None or isinstance(value, str):
        return as_string(value)
    return drop_surrogates(json.dumps(value, ensure_ascii=False))


def _decode(text: str, *, strict: bool = False) -> Any:
    try:
        return (_STRICT if strict else _LENIENT).decode(text)
    except (RecursionError, ValueError):
        return None


def replayed_arguments(arguments: str) -> str:
    """Arguments for the model to see again: unchanged if they are an object, otherwise wrapped in one.

    Some services parse the arguments of earlier calls and fail at any that are no JSON object.
    """
    if holds_object(arguments):
        return arguments
    return json.dumps({"unreadable": arguments[:_MAX_SHOWN]}, ensure_ascii=False)


def holds_object(text: str, *, strict: bool = True) -> bool:
    """Whether a text is a whole JSON object; without `strict`, its strings may contain line ends."""
    return isinstance(_decode(text, strict=strict), dict)
