"""The history of tool calls: what the model called, with what, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

Place = tuple[str, str, str]  # created_at and keys of the call that a page ended with

_LONGEST_TEXT = 4_000  # characters of parameters or result that are kept: a record of what happened, not a copy
_INDEX_PAGE = 1_000  # keys that one read of an index brings
_DELETED_AT_ONCE = MAX_TRANSACTION_ACTIONS // 2  # calls; with one that is the first of its query goes the feedback
MAX_NAME_LENGTH = 200  # characters of what the model named: a key of an index holds 1,024 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call of a query; `position` counts the calls of the query from 0.

    What is kept of it is redacted and shortened.
    """

    query_id: str
    session_id: str
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


class ToolCallStore:
    """The tool calls table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def record(self, call: ToolCallRecord, *, deadline: Deadline) -> None:
        """Keep the record of one call; recording it again changes nothing.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        self._table.put_new(_to_item(call), deadline=deadline)

    def list_for_query(
        self, query_id: str, owner: str, *, limit: int, after: str, deadline: Deadline
    ) -> list[tuple[str, ToolCallRecord]]:
        """The next `limit` calls of a query of `owner` after a position, in their order, each with its position.

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
        """The next `limit` calls with `value` in an index after a place, the newest first, each with its place.

        Whoever made them: the caller of this method knows who may see them. Raises StoreUnavailable or
        DeadlineExceeded.
        """
        found = self._table.query_index(
            index,
            partition=value,
            up_to=after[0] if after else None,
            skip=lambda item: after is not None and _place(item) >= after,
            limit=limit,
            deadline=deadline,
        )
        # The index holds keys; the records come from the table, in no order.
        keys = [{"pk": item["pk"], "sk": item["sk"]} for item in found]
        items = sorted(self._table.get_many(keys, deadline=deadline), key=_place, reverse=True)
        return [(_place(item), _to_record(item)) for item in items]

    def delete_for_queries(self, call_counts: Mapping[str, int], owner: str, *, deadline: Deadline) -> None:
        """Delete the records of queries of `owner`, and the feedback on them; the counts are of their calls.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        counted = call_counts.items()
        keys = [schema.tool_call_key(query_id, position) for query_id, count in counted for position in range(count)]
        self._delete(keys, owner, deadline)

    def delete_for_session(self, session_id: str, owner: str, *, deadline: Deadline) -> None:
        """Delete the records of all queries of `owner` in a session, and the feedback on them.

        Those that the index does not show yet stay. Raises StoreUnavailable or DeadlineExceeded.
        """
        # All keys are read first, and once: the index goes on to show for a moment what was deleted.
        found = list(
            self._table.iter_oldest(
                schema.BY_SESSION, partition=session_id, before="\uffff", page=_INDEX_PAGE, deadline=deadline
            )
        )
        self._delete([{"pk": item["pk"], "sk": item["sk"]} for item in found], owner, deadline)

    def _delete(self, keys: Sequence[schema.Key], owner: str, deadline: Deadline) -> None:
        """Delete the records under these keys, some at a time; ones that are gone are gone."""
        for start in range(0, len(keys), _DELETED_AT_ONCE):
            some = keys[start : start + _DELETED_AT_ONCE]
            actions = [self._deletion(key, owner) for key in some]
            # With the first call in one transaction: it is what allows feedback, so none can come in between.
            feedback = [schema.feedback_key(schema.query_of_call(key)) for key in some if _is_first(key)]
            actions += [self._deletion(key, owner) for key in feedback]
            self._table.transact(actions, deadline=deadline)

    def _deletion(self, key: schema.Key, owner: str) -> dict[str, Any]:
        # Only the owner's, whatever key is given; what an earlier try deleted must not stop this one.
        condition = "attribute_not_exists(#pk) OR #owner = :owner"
        return self._table.delete(key, condition=condition, values={":owner": owner})


def _is_first(key: schema.Key) -> bool:
    return key == schema.tool_call_key(schema.query_of_call(key), 0)


def _place(item: Mapping[str, Any]) -> Place:
    return item["created_at"], item["pk"], item["sk"]


def _to_record(item: Mapping[str, Any]) -> ToolCallRecord:
    fields: dict[str, Any] = {name: item.get(name) for name in ToolCallRecord.__dataclass_fields__}
    return ToolCallRecord(**fields | {"created_at": from_timestamp(item["created_at"])})


def _to_item(call: ToolCallRecord) -> dict[str, Any]:
    return (
        schema.tool_call_key(call.query_id, call.position)
        | {
            "query_id": call.query_id,
            "session_id": call.session_id,
            "owner": call.owner,
            "position": call.position,
            "tool_call_id": redact(call.tool_call_id)[:MAX_NAME_LENGTH],
            "tool_name": redact(call.tool_name)[:MAX_NAME_LENGTH] or "(none)",  # a key of an index must not be empty
            # Redacted before it is cut: half a secret has no form.
            "parameters": redact_json(call.parameters)[:_LONGEST_TEXT],
            "result": redact_json(call.result)[:_LONGEST_TEXT],
            "status": call.status,
            "error_message": call.error_message and redact(call.error_message)[:_LONGEST_TEXT],
            "duration_ms": round(call.duration_ms, 1),
            "retry_count": call.retry_count,
            "created_at": call.created_at,
        }
    )
