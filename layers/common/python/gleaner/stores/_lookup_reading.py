"""Reads what a look-up of keywords needs: by one statement while DynamoDB returns all at once, else by queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_PARTITIONS, Table

# These bound what is read, whatever the table's size.
ENTRIES_PER_TERM = 25
ASSOCIATIONS_PER_KEYWORD = 10

# A table in which one look-up finds more than DynamoDB returns at once has as much for most others: reading it in vain
# each time would cost them a round trip. Words that are rarer may come, so it is tried again after so many.
_LOOK_UPS_BY_QUERIES = 100

Item = dict[str, Any]
Range = tuple[str, str]  # a partition, and the prefix of the sort keys in it
Place = tuple[str, str]  # the scope and the id of a keyword


class LookupReader:
    """Reads look-up entries, keywords and their associations; on `executor` where it takes several requests."""

    def __init__(self, table: Table, executor: Executor) -> None:
        self._table = table
        self._executor = executor
        self._entries, self._keywords = _AtOnce(table), _AtOnce(table)

    def read_entries(
        self, ranges: Sequence[Range], answer_keys: Sequence[schema.Key], deadline: Deadline
    ) -> tuple[list[list[Item]], list[Item]]:
        """The first entries of each range, ordered by sort key, and the items under these keys that exist."""
        partitions = [partition for partition, _ in ranges]
        names = [*partitions, *(key["pk"] for key in answer_keys)]
        limit = ENTRIES_PER_TERM * len(ranges) + len(answer_keys)
        items = self._entries.read(names, limit=limit, deadline=deadline)
        if items is None:
            answers = self._executor.submit(self._table.get_many, answer_keys, deadline=deadline)
            return self._map_parallel(lambda place: self._query(place, deadline), ranges), answers.result()
        return _cut_ranges(items, ranges), [item for item in items if _key(item) in answer_keys]

    def read_keywords(self, places: Sequence[Place], deadline: Deadline) -> tuple[list[Item], list[list[Item]]]:
        """The keywords that exist, and for each place the newest associations."""
        prefixes = [schema.association_prefix(scope) for scope, _ in places]
        keys = {keyword_id: schema.keyword_key(keyword_id) for _, keyword_id in places}
        # A keyword sorts after its associations with answers, and before those with queries that it served.
        between = min(prefixes), schema.keyword_key("")["sk"]
        limit = (ASSOCIATIONS_PER_KEYWORD + 1) * (len(places) + 1)
        partitions = [key["pk"] for key in keys.values()]
        items = self._keywords.read(partitions, between=between, limit=limit, deadline=deadline)
        if items is None:
            heads = self._executor.submit(self._table.get_many, list(keys.values()), deadline=deadline)
            by_place = self._map_parallel(lambda place: self._query_associations(place, deadline), places)
            return heads.result(), by_place
        newest_first = sorted(items, key=lambda item: item["sk"], reverse=True)
        return [item for item in items if item["sk"] == between[1]], [
            [item for item in newest_first if item["pk"] == keys[keyword_id]["pk"] and item["sk"].startswith(prefix)][
                :ASSOCIATIONS_PER_KEYWORD
            ]
            for (_, keyword_id), prefix in zip(places, prefixes, strict=True)
        ]

    def _query(self, place: Range, deadline: Deadline) -> list[Item]:
        partition, begins_with = place
        return self._table.query(
            partition=partition, begins_with=begins_with, limit=ENTRIES_PER_TERM, deadline=deadline
        )

    def _query_associations(self, place: Place, deadline: Deadline) -> list[Item]:
        scope, keyword_id = place
        return self._table.query(
            partition=schema.keyword_key(keyword_id)["pk"],
            begins_with=schema.association_prefix(scope),
            limit=ASSOCIATIONS_PER_KEYWORD,
            newest_first=True,
            deadline=deadline,
        )

    def _map_parallel(self, read: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        return list(self._executor.map(read, arguments))


class _AtOnce:
    """Reads partitions by one statement, unless one of the last read only a part of what it named."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._by_queries = 0  # look-ups for which it is not tried; of threads that meet here, each may try once more

    def read(
        self, partitions: Sequence[str], *, between: tuple[str, str] | None = None, limit: int, deadline: Deadline
    ) -> list[Item] | None:
        """All items of the partitions, between two sort keys; None if they must be queried one by one."""
        names = list(dict.fromkeys(partitions))
        if not names or len(names) > MAX_PARTITIONS:
            return None if names else []
        if self._by_queries > 0:
            self._by_queries -= 1
            return None
        items = self._table.select(names, between=between, limit=limit, deadline=deadline)
        if items is None:
            self._by_queries = _LOOK_UPS_BY_QUERIES
        return items


def _key(item: Mapping[str, Any]) -> schema.Key:
    return {"pk": item["pk"], "sk": item["sk"]}


def _cut_ranges(items: Sequence[Item], ranges: Sequence[Range]) -> list[list[Item]]:
    """The first entries of each range of whole partitions, as a query of it would return them."""
    partitions: dict[str, list[Item]] = {partition: [] for partition, _ in ranges}
    for item in sorted(items, key=lambda item: item["sk"]):
        partitions.get(item["pk"], []).append(item)
    return [
        [item for item in partitions[partition] if item["sk"].startswith(prefix)][:ENTRIES_PER_TERM]
        for partition, prefix in ranges
    ]
