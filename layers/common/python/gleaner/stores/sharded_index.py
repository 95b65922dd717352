"""Reads a list that is spread over several partitions of indexes, so that no partition takes all of its writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any

from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import Position, Table
from gleaner.stores.schema import Index


def read_newest(
    table: Table,
    executor: Executor,
    partitions: Sequence[tuple[Index, str]],
    *,
    position: Callable[[dict[str, Any]], Position],
    after: Position | None,
    limit: int,
    deadline: Deadline,
    skip: Callable[[dict[str, Any]], bool] = lambda _item: False,
) -> list[dict[str, Any]]:
    """The `limit` items with the greatest positions below `after`, greatest first, as `Table.query_index` defines them.

    Reads all partitions in parallel: any of them may hold all items of the page. No item may be in two of them.
    """
    read = partial(table.query_index, position=position, after=after, skip=skip, limit=limit, deadline=deadline)
    pages = executor.map(lambda place: read(place[0], partition=place[1]), partitions)
    return sorted((item for page in pages for item in page), key=position, reverse=True)[:limit]
