"""What DynamoDB charges for requests, counted in a client."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_READ_BYTES = 4096  # that one unit of a consistent read covers; half a unit of an eventually consistent one


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: who made it, when, and what it was charged."""

    operation: str
    thread: str  # name of the thread that made it
    stage: int  # what the counter's `stage` said
    read_units: float
    write_units: float


class Requests:
    """Keeps the requests that a client makes.

    Units of writes are those that the emulator states: it knows what was there before, and the indexes. It states the
    same for a read of any size, so units of reads are computed from the items by DynamoDB's published rules.
    """

    def __init__(self, client: DynamoDBClient, stage: Callable[[], int] = lambda: 0) -> None:
        """`stage` is asked at every request how far the work is that makes it."""
        self.seen: list[Request] = []
        self._stage = stage
        client.meta.events.register("provide-client-params.dynamodb", self._asked)
        client.meta.events.register("after-call.dynamodb", self._answered)

    def _asked(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
        context["asked"] = {**params, "ReturnConsumedCapacity": "TOTAL"}
        return context["asked"]

    def _answered(self, parsed: Mapping[str, Any], model: Any, context: Mapping[str, Any], **_: Any) -> None:
        reads = sum(_reads(context["asked"], parsed))
        stated = parsed.get("ConsumedCapacity", [])
        tables = [stated] if isinstance(stated, Mapping) else stated
        self.seen.append(
            Request(
                operation=model.name,
                thread=threading.current_thread().name,
                stage=self._stage(),
                read_units=reads,
                write_units=0 if reads else sum(table["CapacityUnits"] for table in tables),
            )
        )


def _reads(asked: Mapping[str, Any], answered: Mapping[str, Any]) -> Iterator[float]:
    """Units of a read: of a query by the sum of what it read, of a batch by each key, also of one that is not there."""
    if "Items" in answered:
        yield read_units(sum(map(size_of, answered["Items"])), consistent=asked.get("ConsistentRead", False))
    for table, wanted in asked.get("RequestItems", {}).items():
        if "Keys" in wanted:
            sizes = [size_of(item) for item in answered["Responses"].get(table, [])]
            sizes += [0] * (len(wanted["Keys"]) - len(sizes))
            yield from (read_units(size, consistent=wanted.get("ConsistentRead", False)) for size in sizes)
    if "Key" in asked and "UpdateExpression" not in asked:
        yield read_units(size_of(answered.get("Item", {})), consistent=asked.get("ConsistentRead", False))


def read_units(size: int, *, consistent: bool = False) -> float:
    """Read units for `size` bytes."""
    return (1.0 if consistent else 0.5) * max(1, math.ceil(size / _READ_BYTES))


def size_of(item: Mapping[str, Any]) -> int:
    """Bytes as DynamoDB counts them: names and values (numbers at most 21)."""
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
