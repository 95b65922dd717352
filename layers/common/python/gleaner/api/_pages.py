"""Limits a page of a list to what one response can hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel

_MAX_PAGE_BYTES = 4_000_000  # of the 6 MB that the response of a Lambda function may have

M = TypeVar("M", bound=BaseModel)


def take_fitting(items: Sequence[M]) -> list[M]:
    """The first `items` that fit into one response: all of them unless their texts are long, but at least one."""
    bytes_left = _MAX_PAGE_BYTES
    for count, item in enumerate(items):
        # The JSON body is sent as a string within the JSON of the function's response, so it is escaped twice.
        bytes_left -= len(json.dumps(json.dumps(item.model_dump(mode="json"))))
        if bytes_left < 0:
            return list(items[: max(count, 1)])
    return list(items)
