"""The history of tool calls: what the model called, with which parameters, and the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gleaner.errors import UnknownQuery
from gleaner.guards.redaction import redact, redact_json
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, Table
from gleaner.stores.items import from_timestamp
from gleaner.stores.schema import Index
from gleaner.stores.sharded_index import read_newest
from gleaner.stores.statements import Statement, insert

Place = tuple[str, str, str]  # created_at and keys of the last call of a page

_MAX_TEXT_LENGTH = 4_000  # characters of parameters or result to store: a record of what happened, not a copy
_MAX_PLACES, _MAX_PLACE_LENGTH = 20, 300  # of what was found: a search returns at most so many passages
_INDEX_PAGE_SIZE = 1_000
_MAX_CALLS_PER_DELETION = MAX_TRANSACTION_ACTIONS // 2  # a query's first call is deleted together with its feedback
MAX_NAME_LENGTH = 200  # characters of a name that the model chose; an index key holds at most 1,024 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call of a query; `position` counts the calls of the query from 0.

    It is redacted and shortened when stored.
    """

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

    def __init__(self, table: Table, executor: Executor) -> None:
        """`executor` reads the partitions of an index in parallel."""
        self._table = table
        self._executor = executor

    def record(self, call: ToolCallRecord, *, deadline: Deadline) -> None:
        """Store the record of one call. Idempotent. Raises StoreUnavailable or DeadlineExceeded."""
        self._table.put_new(_to_item(call), deadline=deadline)

    def insertion(self, call: ToolCallRecord) -> Statement:
        """The statement that does what `record` does."""
        return insert(self._table.name, _to_item(call))

    def list_for_query(
        self, query_id: str, owner: str, *, limit: int, after: str, deadline: Deadline
    ) -> list[tuple[str, ToolCallRecord]]:
        """The next `limit` calls of a query of `owner` after a position, in order, each with its position.

        Raises UnknownQuery when `owner` made no such query, StoreUnavailable or DeadlineExceeded.
        """
        partition = schema.tool_call_key(query_id, 0)["pk"]
        items = self._table.query_all(
            partition=partition, begins_with=schema.TOOL_CALL_PREFIX, after=after, limit=limit, deadline=deadline
        )
        if any(item["owner"] != owner for item in items) or not (items or after):
            raise UnknownQuery("There is no such query.")
        return [(item["sk"], _to_record(item)) for item in items]

    def list_recent(
        self, index: Index, value: str, *, limit: int, after: Place | None, deadline: Deadline
    ) -> list[tuple[Place, ToolCallRecord]]:
        """The next `limit` calls with `value` in an index after a place, newest first, each with its place.

        Includes calls of all owners: the caller must check access. Raises StoreUnavailable or DeadlineExceeded.
        """
        partitions = [value] if index is schema.BY_SESSION else schema.call_partitions(_to_index_value(value))
        index_items = read_newest(
            self._table,
            self._executor,
            index,
            partitions,
            position=_place,
            after=after,
            limit=limit,
            deadline=deadline,
        )
        # The index holds keys only; the table returns the records in no particular order.
        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in index_items]
        items = sorted(self._table.get_many(keys, deadline=deadline), key=_place, reverse=True)
        return [(_place(item), _to_record(item)) for item in items]

    def delete_for_queries(self, call_counts: Mapping[str, int], owner: str, *, deadline: Deadline) -> tuple[int, int]:
        """Delete the calls of queries of `owner`, and the feedback on them. `call_counts` maps query ids to counts.

        Returns the numbers of calls and of ratings. Raises StoreUnavailable or DeadlineExceeded.
        """
        counts = call_counts.items()
        keys = [schema.tool_call_key(query_id, position) for query_id, count in counts for position in range(count)]
        return self._delete(keys, owner, deadline)

    def delete_for_session(self, session_id: str, owner: str, *, deadline: Deadline) -> tuple[int, int]:
        """Delete the calls of all queries of `owner` in a session, and the feedback on them.

        Calls that the index does not show yet remain. Returns the numbers of calls and of ratings. Raises
        StoreUnavailable or DeadlineExceeded.
        """
        # Read all keys before deleting: the index shows deleted items for a moment.
        items = list(
            self._table.iter_oldest(
                schema.BY_SESSION, partition=session_id, before="\uffff", page=_INDEX_PAGE_SIZE, deadline=deadline
            )
        )
        return self._delete([{"pk": item["pk"], "sk": item["sk"]} for item in items], owner, deadline)

    def _delete(self, keys: Sequence[schema.Key], owner: str, deadline: Deadline) -> tuple[int, int]:
        """Delete the records under these keys, in batches. Missing records are ignored."""
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
        return len(keys), rating_count

    def _delete_owned(self, key: schema.Key, owner: str) -> dict[str, Any]:
        # Deletes only the owner's records. One that an earlier attempt deleted must not fail the transaction.
        condition = "attribute_not_exists(#pk) OR #owner = :owner"
        return self._table.delete(key, condition=condition, values={":owner": owner})


def _is_first(key: schema.Key) -> bool:
    return key == schema.tool_call_key(schema.query_of_call(key), 0)


def _place(item: Mapping[str, Any]) -> Place:
    return item["created_at"], item["pk"], item["sk"]


def _to_record(item: Mapping[str, Any]) -> ToolCallRecord:
    fields: dict[str, Any] = {name: item.get(name) for name in ToolCallRecord.__dataclass_fields__}
    lists = {name: tuple(item.get(name, ())) for name in ("found", "stored_answers")}
    sharded = {name: schema.value_of_call_partition(item[name]) for name in ("tool_name", "status")}
    return ToolCallRecord(**fields | lists | sharded | {"created_at": from_timestamp(item["created_at"])})


def _to_index_value(name: str) -> str:
    """A name as a value of an index, where a separator begins the shard. Names of real tools have none."""
    return name.replace(schema.KEY_SEPARATOR, "_")


def _to_item(call: ToolCallRecord) -> dict[str, Any]:
    tool_name = _to_index_value(redact(call.tool_name)[:MAX_NAME_LENGTH]) or "(none)"  # an index key must not be empty
    return schema.tool_call_key(call.query_id, call.position) | {
        "query_id": call.query_id,
        "session_id": call.session_id,
        "owner": call.owner,
        "position": call.position,
        "tool_call_id": redact(call.tool_call_id)[:MAX_NAME_LENGTH],
        "tool_name": schema.call_partition(tool_name, call.query_id),
        # Redact before cutting: half a secret matches no pattern.
        "parameters": redact_json(call.parameters)[:_MAX_TEXT_LENGTH],
        "result": redact_json(call.result)[:_MAX_TEXT_LENGTH],
        "status": schema.call_partition(call.status, call.query_id),
        "error_message": call.error_message and redact(call.error_message)[:_MAX_TEXT_LENGTH],
        "duration_ms": round(call.duration_ms, 1),
        "retry_count": call.retry_count,
        "created_at": call.created_at,
        "result_count": call.result_count,
        "found": [redact(place)[:_MAX_PLACE_LENGTH] for place in call.found[:_MAX_PLACES]] or None,
        "cost_usd": call.cost_usd,
        "stored_answers": list(call.stored_answers) or None,
    }
