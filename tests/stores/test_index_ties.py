"""Pages of an index in which many items share a sort key."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Position, Table
from gleaner.stores.items import from_item, to_item

INDEX = schema.BY_TOOL


class IndexDouble:
    """One partition of an index whose items with the same sort key are in no particular order.

    As the developer guide says of queries of global secondary indexes: keys need not be unique there, and items with
    equal keys are returned in random order ("Querying a global secondary index"). The order is that of the index, so
    it is the same in every request.
    """

    def __init__(self, items: Sequence[tuple[str, str]], seed: int) -> None:
        shuffled = random.Random(seed).sample(items, len(items))
        self._items = sorted(shuffled, key=lambda item: item[0], reverse=True)

    def query(self, **request: Any) -> dict[str, Any]:
        """A page of the partition, the greatest sort key first."""
        assert request["ScanIndexForward"] is False
        most = from_item(request["ExpressionAttributeValues"]).get(":s", "\uffff")
        start = int(request.get("ExclusiveStartKey", {"n": {"S": "0"}})["n"]["S"])
        rest = [(number, item) for number, item in enumerate(self._items) if number >= start and item[0] <= most]
        page = rest[: request["Limit"]]
        items = [to_item({"pk": item[1], "created_at": item[0]}) for _, item in page]
        # DynamoDB names the last item that it read, also when nothing follows it.
        full = len(page) == request["Limit"]
        return {"Items": items} | ({"LastEvaluatedKey": {"n": {"S": str(page[-1][0] + 1)}}} if full else {})


def position(item: dict[str, Any]) -> Position:
    return item["created_at"], item["pk"]


@given(
    moments=st.lists(st.sampled_from("abc"), max_size=14),
    limit=st.integers(1, 5),
    seed=st.integers(0, 1_000),
    modulus=st.integers(2, 20),
)
def test_pages_are_the_plain_order_of_all_items(moments: list[str], limit: int, seed: int, modulus: int) -> None:
    items = [(moment, f"{number:02d}") for number, moment in enumerate(moments)]
    table = Table(cast("Any", IndexDouble(items, seed)), "table")

    def is_left_out(item: dict[str, Any]) -> bool:
        return int(item["pk"]) % modulus == 0

    pages: list[list[Position]] = []
    after: Position | None = None
    while page := table.query_index(
        INDEX,
        partition="p",
        position=position,
        after=after,
        limit=limit,
        skip=is_left_out,
        deadline=Deadline.after(30),
    ):
        pages.append([position(item) for item in page])
        after = pages[-1][-1]
    expected = sorted((item for item in items if int(item[1]) % modulus), reverse=True)
    assert [place for page in pages for place in page] == expected
    assert all(len(page) == limit for page in pages[:-1])
