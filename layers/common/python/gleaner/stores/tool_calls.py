"""The history of tool calls: what the model called, with which parameters, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from gleaner.errors import UnknownQuery
from gleaner.guards.redaction import redact_all, redact_json
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, Table
from gleaner.stores.items import from_timestamp, pack_json, to_timestamp, unpack_json
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.schema import Index
from gleaner.stores.statements import Statement, insert

Place = tuple[str, str, str]  # of a call in a list: the time of its item, and its keys as of an item of its own

_MAX_TEXT_LENGTH = 4_000  # characters of parameters or result to store: a record of what happened, not a copy
_MAX_PLACES, _MAX_PLACE_LENGTH = 20, 300  # of what was found: a search returns at most so many passages
_MAX_PACKED_BYTES = 350_000  # DynamoDB limits an item to 400 KB; one call has at most 100 KB
_INDEX_PAGE_SIZE = 1_000
_MAX_CALLS_PER_DELETION = MAX_TRANSACTION_ACTIONS // 2  # a query's first call is deleted together with its feedback
MAX_NAME_LENGTH = 200  # characters of a name that the model chose; an index key holds at most 1,024 bytes
_FAILED = "error"
_OF_ITEM = ("session_id", "owner")  # fields of all calls of an item, whose key tells the query


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call of a query; `position` counts the calls of the query from 0. It is stored as `redacted` has it."""

    query_id: str
    session_id: str | None  # None: the query was not kept in a session
    owner: str
    position: int
    tool_call_id: str
    tool_name: str
    parameters: str
    result: str  # JSON text
    status: str  # success | error
    error_message: str | None
    duration_ms: float
    retry_count: int
    created_at: datetime
    result_count: int | None = None  # of what was found, cited or learned; None if the call failed
    found: tuple[str, ...] = ()  # chapter, or else title, of each passage of the result
    cost_usd: float | None = None  # of a web search, where the search engine states it
    stored_answers: tuple[str, ...] = ()  # ids of the stored web answers that an answer rests on


class ToolCallStore:
    """The tool calls table."""

    def __init__(self, table: Table, executor: Executor, layout: KeywordLayout) -> None:
        """`executor` reads the partitions of an index in parallel; `layout` says from when on items are compact."""
        self._table = table
        self._executor = executor
        self._layout = layout

    def is_compact(self, *, deadline: Deadline) -> bool:
        """Whether items may have the compact form. Raises StoreUnavailable or DeadlineExceeded."""
        return self._layout.is_compact(deadline=deadline)

    def record(self, item: Mapping[str, Any], *, deadline: Deadline) -> None:
        """Store an item that `to_items` made. Idempotent. Raises StoreUnavailable or DeadlineExceeded."""
        self._table.put_new(item, deadline=deadline)

    def insertion(self, item: Mapping[str, Any]) -> Statement:
        """The statement that does what `record` does."""
        return insert(self._table.name, item)

    def list_for_query(
        self, query_id: str, owner: str, *, limit: int, after: str, deadline: Deadline
    ) -> list[tuple[str, ToolCallRecord]]:
        """The next `limit` calls of a query of `owner` after a position, in order, each with its position.

        Raises UnknownQuery when `owner` made no such query, StoreUnavailable or DeadlineExceeded.
        """
        partition = schema.tool_call_key(query_id, 0)["pk"]
        items = self._table.query_all(
            partition=partition, begins_with=schema.TOOL_CALL_PREFIX, limit=None, deadline=deadline
        )
        if any(item["owner"] != owner for item in items) or not (items or after):
            raise UnknownQuery("There is no such query.")
        calls = [
            (schema.tool_call_key(query_id, call.position)["sk"], call) for item in items for call in read_calls(item)
        ]
        return [(position, call) for position, call in calls if position > after][:limit]

    def list_recent(
        self, index: Index, value: str, *, limit: int, after: Place | None, deadline: Deadline
    ) -> list[tuple[Place, ToolCallRecord]]:
        """The next `limit` calls with `value` in an index after a place, newest first, each with its place.

        The calls of one item stand together, where its last one belongs. Includes calls of all owners: the caller must
        check access. Raises StoreUnavailable or DeadlineExceeded.
        """
        from gleaner.stores.sharded_index import read_newest  # questions never list calls

        value = value if index is schema.BY_SESSION else _to_index_value(value)
        read = partial(read_newest, self._table, self._executor, _partitions(index, value), limit=limit)
        found: list[tuple[Place, ToolCallRecord]] = []
        after_item = after
        while True:
            # The position of an item is that of its first call, which comes last: a page may end before it.
            entries = read(position=_place, after=after_item, deadline=deadline)
            found += [
                (place, call)
                for place, call in self._read_entries(entries, deadline)
                if getattr(call, index.partition_key) == value and (after is None or place < after)
            ]
            if len(found) >= limit or len(entries) < limit:
                return found[:limit]
            after_item = _place(entries[-1])

    def _read_entries(
        self, entries: Sequence[Mapping[str, Any]], deadline: Deadline
    ) -> list[tuple[Place, ToolCallRecord]]:
        """The calls of items that an index names, greatest place first."""
        # The index holds keys only; the table returns the items in no particular order.
        items = self._table.get_many([_key(entry) for entry in entries], deadline=deadline)
        placed = [(_place(item, call.position), call) for item in items for call in read_calls(item)]
        return sorted(placed, key=lambda one: one[0], reverse=True)

    def delete_for_queries(self, call_counts: Mapping[str, int], owner: str, *, deadline: Deadline) -> tuple[int, int]:
        """Delete the calls of queries of `owner`, and the feedback on them. `call_counts` maps query ids to counts.

        Returns the numbers of calls and of ratings. Raises StoreUnavailable or DeadlineExceeded.
        """
        counts = call_counts.items()
        keys = [schema.tool_call_key(query_id, position) for query_id, count in counts for position in range(count)]
        return len(keys), self._delete(keys, owner, deadline)

    def delete_for_session(self, session_id: str, owner: str, *, deadline: Deadline) -> tuple[int, int]:
        """Delete the calls of all queries of `owner` in a session, and the feedback on them.

        Calls that the index does not show yet remain. Returns the numbers of calls and of ratings. Raises
        StoreUnavailable or DeadlineExceeded.
        """
        # Read all keys before deleting: the index shows deleted items for a moment.
        entries = self._table.iter_oldest(
            schema.BY_SESSION, partition=session_id, before="\uffff", page=_INDEX_PAGE_SIZE, deadline=deadline
        )
        keys = [_key(entry) for entry in entries]
        items = self._table.get_many(keys, deadline=deadline, consistent=True)
        return sum(len(read_calls(item)) for item in items), self._delete(keys, owner, deadline)

    def _delete(self, keys: Sequence[schema.Key], owner: str, deadline: Deadline) -> int:
        """Delete the items under these keys, in batches. Missing ones are ignored. Returns the number of ratings."""
        rating_count = 0
        for start in range(0, len(keys), _MAX_CALLS_PER_DELETION):
            batch = keys[start : start + _MAX_CALLS_PER_DELETION]
            actions = [self._delete_owned(key, owner) for key in batch]
            # In one transaction with the first call: storing feedback requires that call, so none can be added between.
            feedback = [schema.feedback_key(schema.query_of_call(key)) for key in batch if _is_first(key)]
            actions += [self._delete_owned(key, owner) for key in feedback]
            ratings = self._table.get_many(feedback, deadline=deadline, consistent=True)
            self._table.transact(actions, deadline=deadline)
            rating_count += len(ratings)
        return rating_count

    def _delete_owned(self, key: schema.Key, owner: str) -> dict[str, Any]:
        # Deletes only the owner's records. One that an earlier attempt deleted must not fail the transaction.
        condition = "attribute_not_exists(#pk) OR #owner = :owner"
        return self._table.delete(key, condition=condition, values={":owner": owner})


def redacted(call: ToolCallRecord) -> ToolCallRecord:
    """The call as it is stored: redacted, then cut, since half a secret matches no pattern."""
    places = call.found[:_MAX_PLACES]
    tool_call_id, name, error, *found = redact_all(
        (call.tool_call_id, call.tool_name, call.error_message or "", *places)
    )
    return replace(
        call,
        tool_call_id=tool_call_id[:MAX_NAME_LENGTH],
        tool_name=_to_index_value(name[:MAX_NAME_LENGTH]) or "(none)",  # no index key may be empty
        parameters=redact_json(call.parameters)[:_MAX_TEXT_LENGTH],
        result=redact_json(call.result)[:_MAX_TEXT_LENGTH],
        error_message=None if call.error_message is None else error[:_MAX_TEXT_LENGTH],
        duration_ms=round(call.duration_ms, 1),
        found=tuple(place[:_MAX_PLACE_LENGTH] for place in found),
    )


def to_items(calls: Sequence[ToolCallRecord], *, is_compact: bool) -> list[dict[str, Any]]:
    """The items of the redacted calls of one question, in order: one for all, or in the former form one for each."""
    if not is_compact:
        return [_to_former_item(call) for call in calls]
    if not calls:
        return []
    packed = pack_json([_own_values(call) for call in calls])
    if len(packed) > _MAX_PACKED_BYTES and len(calls) > 1:
        middle = len(calls) // 2
        return [*to_items(calls[:middle], is_compact=True), *to_items(calls[middle:], is_compact=True)]
    first = calls[0]
    has_failed = any(call.status == _FAILED for call in calls)
    return [
        schema.tool_call_key(first.query_id, first.position)
        | {name: getattr(first, name) for name in _OF_ITEM}
        | {
            "tool_name": schema.question_partition((call.tool_name for call in calls), first.query_id),
            "status": schema.call_partition(_FAILED, first.query_id) if has_failed else None,
            "created_at": max(call.created_at for call in calls),
            "calls": packed,
        }
    ]


def read_calls(item: Mapping[str, Any]) -> list[ToolCallRecord]:
    """The calls of an item of either form, in order."""
    if "calls" not in item:
        return [_to_record(item)]
    shared = {name: item.get(name) for name in _OF_ITEM} | {"query_id": schema.query_of_call(_key(item))}
    return [_to_record(shared | values) for values in unpack_json(item["calls"])]


def _partitions(index: Index, value: str) -> list[tuple[Index, str]]:
    """Where the items with such calls are. No item is in two of them, but some may have no such call."""
    if index is schema.BY_SESSION:
        return [(index, value)]
    partitions = [(index, partition) for partition in schema.call_partitions(value)]
    if index is schema.BY_STATUS and value == _FAILED:
        return partitions
    # That a call succeeded has no entry of its own: nearly every question has such calls.
    tools = [value] if index is schema.BY_TOOL else []
    return partitions + [(schema.BY_TOOL, partition) for partition in schema.question_partitions(*tools)]


def _key(item: Mapping[str, Any]) -> schema.Key:
    return {"pk": item["pk"], "sk": item["sk"]}


def _is_first(key: schema.Key) -> bool:
    return key == schema.tool_call_key(schema.query_of_call(key), 0)


def _place(item: Mapping[str, Any], position: int | None = None) -> Place:
    """The place of the call with this position in an item, or of its first call."""
    key = item if position is None else schema.tool_call_key(schema.query_of_call(_key(item)), position)
    return item["created_at"], key["pk"], key["sk"]


def _to_record(values: Mapping[str, Any]) -> ToolCallRecord:
    fields: dict[str, Any] = {name: values.get(name) for name in ToolCallRecord.__dataclass_fields__}
    lists = {name: tuple(values.get(name, ())) for name in ("found", "stored_answers")}
    sharded = {name: schema.value_of_call_partition(values[name]) for name in ("tool_name", "status")}
    return ToolCallRecord(**fields | lists | sharded | {"created_at": from_timestamp(values["created_at"])})


def _to_index_value(name: str) -> str:
    """A name as a value of an index, where a separator begins the shard. Names of real tools have none."""
    return name.replace(schema.KEY_SEPARATOR, "_")


def _own_values(call: ToolCallRecord) -> dict[str, Any]:
    """The fields of a call that an item with other calls does not tell; none that is empty."""
    names = [name for name in ToolCallRecord.__dataclass_fields__ if name not in (*_OF_ITEM, "query_id")]
    values = {name: getattr(call, name) for name in names} | {"created_at": to_timestamp(call.created_at)}
    return {name: value for name, value in values.items() if value is not None and value != ()}


def _to_former_item(call: ToolCallRecord) -> dict[str, Any]:
    sharded = {name: schema.call_partition(getattr(call, name), call.query_id) for name in ("tool_name", "status")}
    shared = {name: getattr(call, name) for name in (*_OF_ITEM, "query_id")}
    return schema.tool_call_key(call.query_id, call.position) | shared | _own_values(call) | sharded
