"""Counts in a client what DynamoDB charges for requests."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gleaner.stores import schema

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_INSERTED = re.compile(r"'(\w+)': \?")  # an attribute of an INSERT
_WRITE_BYTES = 1024
_READ_BYTES = 4096  # covered by one unit of a consistent read, or half a unit of an eventually consistent one


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: who made it, when, and what it is charged."""

    operation: str
    thread: str  # name of the thread that made it
    stage: int  # what `stage` of `Requests` returned
    read_units: float
    write_units: float


class Requests:
    """Records the requests that a client makes.

    Write units come from the emulator, which knows the previous items and the indexes. It reports the same for reads of
    any size, so read units are computed from the items by DynamoDB's published rules.
    """

    def __init__(self, client: DynamoDBClient, stage: Callable[[], int] = lambda: 0) -> None:
        """`stage` is called at every request and says how far the work has come."""
        self.entries: list[Request] = []
        self._stage = stage
        # The type stubs do not know that this event's handler may return other parameters.
        client.meta.events.register("provide-client-params.dynamodb", self._on_request)  # type: ignore[arg-type]
        client.meta.events.register("after-call.dynamodb", self._on_response)

    def _on_request(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
        request = {**params, "ReturnConsumedCapacity": "TOTAL"}
        context["request"] = request
        return request

    def _on_response(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        reads = sum(_reads(context["request"], parsed))
        consumed = parsed.get("ConsumedCapacity", [])
        tables = [consumed] if isinstance(consumed, Mapping) else consumed
        self.entries.append(
            Request(
                operation=model.name,
                thread=threading.current_thread().name,
                stage=self._stage(),
                read_units=reads,
                write_units=0 if reads else _writes(context["request"], tables),
            )
        )


def _writes(request: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> float:
    """Units of a write. The emulator reports one for each statement: that of an INSERT is computed from its item."""
    reported: float = sum(table["CapacityUnits"] for table in tables)
    return reported + sum(_insert_units(statement) - 1 for statement in request.get("Statements", ()))


def _insert_units(statement: Mapping[str, Any]) -> float:
    """One for each KB of the item, and one for each index of keys that it is in; 1 for what is no INSERT."""
    names = _INSERTED.findall(statement["Statement"])
    item = dict(zip(names, statement["Parameters"], strict=False))
    indexes = sum({index.partition_key, index.sort_key} <= item.keys() for index in schema.TOOL_CALLS.indexes)
    return max(1, math.ceil(size_of(item) / _WRITE_BYTES)) + indexes if names else 1


def _reads(request: Mapping[str, Any], response: Mapping[str, Any]) -> Iterator[float]:
    """Units of a read: a query is charged for the sum of its items, a batch for each key, even if it has no item."""
    if "Items" in response:
        yield read_units(sum(map(size_of, response["Items"])), consistent=request.get("ConsistentRead", False))
    for table, part in request.get("RequestItems", {}).items():
        if "Keys" in part:
            sizes = [size_of(item) for item in response["Responses"].get(table, [])]
            sizes += [0] * (len(part["Keys"]) - len(sizes))
            yield from (read_units(size, consistent=part.get("ConsistentRead", False)) for size in sizes)
    if "Key" in request and "UpdateExpression" not in request:
        yield read_units(size_of(response.get("Item", {})), consistent=request.get("ConsistentRead", False))


def read_units(size: int, *, consistent: bool = False) -> float:
    """Read units for `size` bytes."""
    return (1.0 if consistent else 0.5) * max(1, math.ceil(size / _READ_BYTES))


def size_of(item: Mapping[str, Any]) -> int:
    """Bytes as DynamoDB counts them: names and values (at most 21 for a number)."""
    return sum(len(name.encode()) + _value_size(*value.items()) for name, value in item.items())


def _value_size(tagged: tuple[str, Any]) -> int:
    kind, value = tagged
    if kind == "SS":
        return 3 + sum(len(text.encode()) for text in value)
    if kind == "L":
        return 3 + sum(1 + _value_size(*inner.items()) for inner in value)
    if kind == "M":
        return 3 + len(value) + size_of(value)
    if kind == "B":
        return len(value)
    return 1 if kind in ("NULL", "BOOL") else len(str(value).encode())
