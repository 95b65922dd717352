"""Lengths are checked before anything else is done with a text."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gleaner.api.feedback import Rating
from gleaner.api.schemas import TurnQuery

SELECTED = {"query": "a", "mode": "selected_text", "selected_text": "a"}


@pytest.mark.parametrize(
    ("model", "fields", "name", "limit"),
    [
        (TurnQuery, {}, "query", 50_000),
        (TurnQuery, SELECTED, "selected_text", 100_000),
        (TurnQuery, SELECTED, "chapter_origin", 200),
        (Rating, {"rating": 1}, "comment", 2_000),
    ],
)
@pytest.mark.parametrize("unit", ["a", "\u0301\u0316", "\ud800", "\u200b"])
def test_the_length_is_that_of_the_text_as_it_was_sent(
    model: Any, fields: dict[str, object], name: str, limit: int, unit: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        model(**fields | {name: ("a" + unit * limit)[: limit + 1]})
    assert [error["type"] for error in caught.value.errors()] == ["string_too_long"]
    assert model(**fields | {name: ("a" + unit * limit)[:limit]})
