"""What is wrong with an invalid request, in plain words that say how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gleaner.api.problems import InvalidField
from gleaner.api.schemas import FORMS

NO_OBJECT = "must be one JSON object"
_MOST_ERRORS = 20  # that are told at once, each of a field whose name is cut to
_LONGEST_FIELD = 200

Error = Mapping[str, Any]  # as pydantic describes it: type, loc, ctx
Context = Mapping[str, Any]


def invalid_fields(errors: Sequence[Error]) -> list[InvalidField]:
    """The first of the errors: each names a field, and says what to mend."""
    if any(_is_no_object(error) for error in errors):
        return [InvalidField(field="body", message=NO_OBJECT)]
    return [InvalidField(field=_field(error["loc"]), message=_message(error)) for error in errors[:_MOST_ERRORS]]


def summary(told: Sequence[InvalidField], total: int) -> str:
    """What is told of `total` errors, in one text."""
    text = "; ".join(f"{item.field}: {item.message}" for item in told)
    return text + (f"; and {total - len(told)} more" if total > _MOST_ERRORS else "")


def _is_no_object(error: Error) -> bool:
    """Whether a body is missing, is not JSON, or is JSON of another kind."""
    of_body = ("missing", "model_attributes_type", "model_type")
    return error["type"] == "json_invalid" or (tuple(error["loc"]) == ("body",) and error["type"] in of_body)


def _field(location: tuple[Any, ...]) -> str:
    """The field without the part of the request it stands in, which comes first."""
    return (".".join(map(str, location[1:])) or str(location[0]))[:_LONGEST_FIELD]


def _message(error: Error) -> str:
    if error["loc"][0] in ("query", "header") and isinstance(error.get("input"), list):
        return "must be given once"
    words = _WORDS.get(error["type"])
    return words(error.get("ctx") or {}) if words else "is not valid; the description of the API says what it takes"


def _at_least_characters(context: Context) -> str:
    shortest = context["min_length"]
    return "must not be empty" if shortest == 1 else f"must have at least {shortest:,} characters"


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.9f}".rstrip("0").rstrip(".")


def _says(text: str) -> Callable[[Context], str]:
    return lambda _context: text


_WHOLE_NUMBER = _says("must be a whole number")
_NUMBER = _says("must be a number")
_TRUTH = _says("must be true or false")
_TEXT = _says("must be a text")

# By pydantic's type of error. Its own words are for those who know Python and regular expressions.
_WORDS: Mapping[str, Callable[[Context], str]] = {
    "missing": _says("is missing"),
    "extra_forbidden": _says("is not a field of this request; leave it out, or mend its spelling"),
    "string_type": _TEXT,
    "string_unicode": _says("must be a text of valid Unicode characters"),
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
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "greater_than_equal": lambda context: f"must be at least {_number(context['ge'])}",
    "less_than_equal": lambda context: f"must be at most {_number(context['le'])}",
    "dict_type": _says("must be an object of names and texts"),
    "too_long": lambda context: f"must have at most {context['max_length']:,} entries",
    "value_error": lambda context: str(context["error"]),
}
