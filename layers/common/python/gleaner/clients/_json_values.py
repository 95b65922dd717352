"""Reads values of JSON that a service sent: a value of a wrong type is as good as a missing one."""

from __future__ import annotations

import json
from typing import Any

from gleaner.model import JsonObject
from gleaner.text import drop_surrogates

_MAX_SHOWN = 500  # characters of arguments that were no object, as the model sees them again


def as_object(value: Any) -> JsonObject:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def as_string(value: Any) -> str:
    """The string without what no encoding can hold, or an empty one."""
    return drop_surrogates(value) if isinstance(value, str) else ""


def as_count(value: Any) -> int:
    """The number, or 0 for anything that is no count."""
    return value if type(value) is int and value >= 0 else 0  # True is an int, too


def arguments_text(arguments: Any) -> str:
    """Arguments of a call as text. Some providers send the object itself, which says the same."""
    if arguments is None or isinstance(arguments, str):
        return as_string(arguments)
    return drop_surrogates(json.dumps(arguments, ensure_ascii=False))


def replayed_arguments(arguments: str) -> str:
    """Arguments for the model to see again: unchanged if they are an object, otherwise wrapped in one.

    Some services parse the arguments of earlier calls and fail at any that are no JSON object.
    """
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (RecursionError, ValueError):
        pass
    return json.dumps({"unreadable": arguments[:_MAX_SHOWN]}, ensure_ascii=False)
