"""Lets ministack read a SELECT by the partitions that it names, and in pages, as DynamoDB does.

"Results are returned in pages of up to 10 items. If the IN list contains more values, you must use the NextToken"
(DynamoDB's developer guide, "PartiQL arithmetic, comparison, and logical operators"). Nobody here asks for a second
page. Written for `_partiql_select` of its module `dynamodb` (1.5.33, the version that is pinned).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ministack.services import dynamodb

_PAGE_SIZE = 10
_read_table = dynamodb._partiql_select


def install() -> None:
    """Read by partition from now on."""
    dynamodb._partiql_select = _read_partitions


def _read_partitions(table: Mapping[str, Any], parsed: Mapping[str, Any]) -> Any:
    named = next(_lists(parsed.get("where"), table["pk_name"]), None)
    if named is None:
        return _read_table(table, parsed)
    partitions = {name: table["items"][name] for name in named if name in table["items"]}
    status, headers, body = _read_table({**table, "items": partitions}, parsed)
    items = json.loads(body)["Items"]
    if len(items) <= _PAGE_SIZE:
        return status, headers, body
    return status, headers, json.dumps({"Items": items[:_PAGE_SIZE], "NextToken": "more"}).encode()


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
