"""Leases on web searches in the keywords table: who has one searches, and the others find the result in its place."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table

MAX_RESULT_BYTES = 350_000  # DynamoDB limits an item to 400 KB, attribute names included


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherSearch:
    """An equal search that runs elsewhere, or ended a moment ago."""

    result: bytes | None  # None while it runs
    is_too_large: bool  # it has ended, and its result cannot be shared

    def has_ended(self) -> bool:
        """Whether there is nothing more to wait for."""
        return self.result is not None or self.is_too_large


class SearchLeases:
    """Takes and gives back leases. A lease ends at a time of its own, whether DynamoDB deleted its item or not.

    `holder` is an id that one search uses once. Every write names its condition and may be repeated. Methods raise
    StoreUnavailable or DeadlineExceeded.
    """

    def __init__(self, table: Table, *, max_result_bytes: int = MAX_RESULT_BYTES) -> None:
        self._table = table
        self._max_result_bytes = max_result_bytes

    def take(
        self, search_id: str, holder: str, *, seconds: float, asked_at: datetime, deadline: Deadline
    ) -> OtherSearch | None:
        """Take the lease for `seconds`. Return None if the holder has it now, else the search that has it.

        A result from before `asked_at`, when the question was asked, is in nobody's way.
        """
        now = time.time()
        put = self._table.put(
            schema.search_key(search_id) | {"holder": holder} | _times(now + seconds),
            # The last condition holds if this write is repeated, because its response was lost.
            condition="attribute_not_exists(#pk) OR #ends_at <= :now OR #shared_at < :asked OR #holder = :holder",
            values={":now": now, ":asked": asked_at.timestamp(), ":holder": holder},
            return_existing=True,
        )
        try:
            self._table.write(put, deadline=deadline)
        except ConditionFailed as failed:
            return _to_search(failed.existing_items[0])
        return None

    def look(self, search_id: str, *, asked_at: datetime, deadline: Deadline) -> OtherSearch | None:
        """The search that has the lease now, or its result; None if `take` would take the lease."""
        item = self._table.get(schema.search_key(search_id), deadline=deadline)
        if item is None or item["ends_at"] <= time.time() or item.get("shared_at", math.inf) < asked_at.timestamp():
            return None
        return _to_search(item)

    def share(self, search_id: str, holder: str, result: bytes, *, seconds: float, deadline: Deadline) -> None:
        """Leave the result to the others for `seconds`, or that it is too large, unless another took the lease over."""
        is_too_large = len(result) > self._max_result_bytes
        outcome = {"is_too_large": True} if is_too_large else {"result": result}
        values = _times(time.time() + seconds) | {"shared_at": time.time()} | outcome
        update = self._table.update(
            schema.search_key(search_id),
            expression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            condition="#holder = :holder",
            values={f":{name}": value for name, value in values.items()} | {":holder": holder},
        )
        with suppress(ConditionFailed):
            self._table.write(update, deadline=deadline)

    def release(self, search_id: str, holder: str, *, deadline: Deadline) -> None:
        """Give the lease back without a result, unless another took it over."""
        deletion = self._table.delete(
            schema.search_key(search_id), condition="#holder = :holder", values={":holder": holder}
        )
        with suppress(ConditionFailed):
            self._table.write(deletion, deadline=deadline)


def _times(ends_at: float) -> dict[str, Any]:
    """When the item stops to count, and when DynamoDB may delete it. Both are seconds since the epoch."""
    return {"ends_at": ends_at, "expires_at": math.ceil(ends_at)}


def _to_search(item: Mapping[str, Any]) -> OtherSearch:
    return OtherSearch(result=item.get("result"), is_too_large=item.get("is_too_large", False))
