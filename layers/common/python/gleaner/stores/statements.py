"""Statements of PartiQL, of which one request executes several: each alone, under its own condition, at its own price.

A `BatchExecuteStatement` is no transaction, and costs what single writes cost. An UPDATE needs an item that exists, and
an INSERT one that does not. Whoever sends statements must be able to do without: what one did not do, and why, may be
unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner.stores.items import from_item, to_item

MAX_STATEMENTS = 25  # of one request
_REFUSED = frozenset(["ConditionalCheckFailed", "DuplicateItem"])


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with a question mark for each parameter."""

    text: str
    parameters: Sequence[Any]

    def request(self) -> dict[str, Any]:
        """As DynamoDB takes it. A condition that fails returns the item that exists."""
        parameters = list(to_item({str(place): value for place, value in enumerate(self.parameters)}).values())
        return {
            "Statement": self.text,
            "Parameters": parameters,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a statement: done, refused by its condition, or neither, as when DynamoDB throttles it."""

    is_done: bool
    is_refused: bool = False
    existing: Mapping[str, Any] | None = None  # the item that refused it, if DynamoDB told


NOT_EXECUTED = Result(is_done=False)


def insert(table: str, item: Mapping[str, Any]) -> Statement:
    """Put an item that must not exist yet, so that a repeated statement changes nothing."""
    values = {name: value for name, value in item.items() if value is not None}
    names = ", ".join(f"'{name}': ?" for name in values)
    return Statement(f'INSERT INTO "{table}" VALUE {{{names}}}', tuple(values.values()))


def update(
    table: str, key: Mapping[str, str], changes: str, changed: Sequence[Any], conditions: str, compared: Sequence[Any]
) -> Statement:
    """Change an item that exists: `changes` are clauses of SET and REMOVE, `conditions` are joined by AND."""
    where = " AND ".join([*(f'"{name}" = ?' for name in key), conditions])
    return Statement(f'UPDATE "{table}" {changes} WHERE {where}', (*changed, *key.values(), *compared))


def read_result(response: Mapping[str, Any]) -> Result:
    """What DynamoDB says of one statement."""
    error = response.get("Error")
    if error is None:
        return Result(is_done=True)
    item = error.get("Item") or response.get("Item")
    return Result(
        is_done=False, is_refused=error.get("Code") in _REFUSED, existing=None if item is None else from_item(item)
    )
