"""How much of a list goes into one answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

_LARGEST_PAGE = 4_000_000  # bytes of the 6 MB that a function's answer holds

M = TypeVar("M", bound=BaseModel)


def fitting(items: Sequence[M]) -> list[M]:
    """The first of `items` that one answer holds: all of them unless their texts are long, and one at the least."""
    room = _LARGEST_PAGE
    for count, item in enumerate(items):
        # The body is JSON, and goes out as a text within the JSON of the function's answer.
        room -= len(json.dumps(json.dumps(item.model_dump(mode="json"))))
        if room < 0:
            return list(items[: max(count, 1)])
    return list(items)
