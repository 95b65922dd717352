"""Lets ministack read a SELECT by the partitions that it names, as DynamoDB does, instead of the whole table.

Written for `_partiql_select` of its module `dynamodb` (1.5.33, the version that is pinned).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ministack.services import dynamodb

_read_table = dynamodb._partiql_select


def install() -> None:
    """Read by partition from now on."""
    dynamodb._partiql_select = _read_partitions


def _read_partitions(table: Mapping[str, Any], parsed: Mapping[str, Any]) -> Any:
    named = next(_lists(parsed.get("where"), table["pk_name"]), None)
    if named is None:
        return _read_table(table, parsed)
    partitions = {name: table["items"][name] for name in named if name in table["items"]}
    return _read_table({**table, "items": partitions}, parsed)


def _lists(condition: Any, partition_key: str) -> Iterator[list[str]]:
    """The values of an IN for the partition key, which stands alone or among conditions that are joined by AND."""
    if not isinstance(condition, tuple):
        return
    if condition[0] == "and":
        for part in condition[1:]:
            yield from _lists(part, partition_key)
    elif condition[0] == "in" and condition[1][:2] == ("path", [partition_key]) and condition[2][0] == "options":
        values = [option[1]["S"] for option in condition[2][1] if option[0] == "lit" and "S" in option[1]]
        if len(values) == len(condition[2][1]):
            yield values
