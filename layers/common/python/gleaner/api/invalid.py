"""Explains in plain words what is wrong with an invalid request and how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gleaner.api.problems import InvalidField
from gleaner.api.schemas import FORMS

_NOT_AN_OBJECT = "must be one JSON object"
UNSUPPORTED_BODY = "Send the body as application/json, plain or compressed with gzip (Content-Encoding: gzip)."
NO_GZIP = "must be valid gzip, as its Content-Encoding says; it is cut off, damaged or not compressed"
_MAX_ERRORS = 20  # reported at once
_MAX_FIELD_NAME = 200  # characters; longer names are cut

Error = Mapping[str, Any]  # an error of pydantic, with type, loc and ctx
Context = Mapping[str, Any]


def invalid_fields(errors: Sequence[Error]) -> list[InvalidField]:
    """The first of the errors, each with the name of a field and how to fix it."""
    if any(_is_not_an_object(error) for error in errors):
        is_gzip = any((error.get("ctx") or {}).get("error") == NO_GZIP for error in errors)
        return [InvalidField(field="body", message=NO_GZIP if is_gzip else _NOT_AN_OBJECT)]
    return [InvalidField(field=_field(error["loc"]), message=_message(error)) for error in errors[:_MAX_ERRORS]]


def summary(fields: Sequence[InvalidField], total: int) -> str:
    """The reported fields in one text, and how many of the `total` errors were left out."""
    text = "; ".join(f"{item.field}: {item.message}" for item in fields)
    return text + (f"; and {total - len(fields)} more" if total > _MAX_ERRORS else "")


def _is_not_an_object(error: Error) -> bool:
    """Whether the body is missing, is not JSON, or is JSON but not an object."""
    of_body = ("missing", "model_attributes_type", "model_type")
    return error["type"] == "json_invalid" or (tuple(error["loc"]) == ("body",) and error["type"] in of_body)


def _field(location: tuple[Any, ...]) -> str:
    """The name of the field, without the leading part of the request (body, query, header)."""
    return (".".join(map(str, location[1:])) or str(location[0]))[:_MAX_FIELD_NAME]


def _message(error: Error) -> str:
    if error["loc"][0] in ("query", "header") and isinstance(error.get("input"), list):
        return "must be given once"
    words = _WORDS.get(error["type"])
    return words(error.get("ctx") or {}) if words else "is not valid; see the description of the API"


def _at_least_characters(context: Context) -> str:
    minimum = context["min_length"]
    return "must not be empty" if minimum == 1 else f"must have at least {minimum:,} characters"


def _at_least_entries(context: Context) -> str:
    minimum = context["min_length"]
    return "must not be empty" if minimum == 1 else f"must have at least {minimum:,} entries"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.9f}".rstrip("0").rstrip(".")


def _say(text: str) -> Callable[[Context], str]:
    return lambda _context: text


_WHOLE_NUMBER = _say("must be a whole number")
_NUMBER = _say("must be a number")
_BOOLEAN = _say("must be true or false")
_TEXT = _say("must be a string")
_OBJECT = _say("must be an object")

# By pydantic's error type. Pydantic's own messages assume knowledge of Python and regular expressions.
_WORDS: Mapping[str, Callable[[Context], str]] = {
    "missing": _say("is missing"),
    "extra_forbidden": _say("is not a field of this request; leave it out or fix its spelling"),
    "string_type": _TEXT,
    "string_unicode": _say("must be a string of valid Unicode characters"),
    "string_too_short": _at_least_characters,
    "string_too_long": lambda context: f"must have at most {context['max_length']:,} characters",
    "string_pattern_mismatch": lambda context: f"must be {FORMS[context['pattern']]}",
    "literal_error": lambda context: f"must be {context['expected'].replace(chr(39), '')}",
    "enum": lambda context: f"must be {context['expected'].replace(chr(39), '')}",
    "int_type": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_parsing_size": _WHOLE_NUMBER,
    "int_from_float": _WHOLE_NUMBER,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "finite_number": _NUMBER,
    "bool_type": _BOOLEAN,
    "bool_parsing": _BOOLEAN,
    "greater_than_equal": lambda context: f"must be at least {_number(context['ge'])}",
    "less_than_equal": lambda context: f"must be at most {_number(context['le'])}",
    "dict_type": _say("must be an object whose values are strings"),
    "list_type": _say("must be a list"),
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "too_short": _at_least_entries,
    "too_long": lambda context: f"must have at most {context['max_length']:,} entries",
    "value_error": lambda context: str(context["error"]),
}
