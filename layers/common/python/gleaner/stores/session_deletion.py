"""Deletes sessions with all that belongs to them, in the tables of conversations and of tool calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gleaner.errors import UnknownSession
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.conversations import UNKNOWN_SESSION
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.tool_calls import ToolCallStore

_BATCH = 500  # items that are read before they are deleted


class SessionDeletion:
    """Deletes sessions. Called again after it was cut off, it goes on."""

    def __init__(self, conversations: Table, tool_calls: ToolCallStore) -> None:
        self._conversations = conversations
        self._tool_calls = tool_calls

    def delete(self, session_id: str, owner: str, *, deadline: Deadline) -> None:
        """Delete a session of `owner`: its turns, and what is kept of its queries' tool calls and feedback.

        The session is marked first, so that nobody sees it or adds to it, and goes last, so that what
        belongs to it can still be found. Raises UnknownSession, StoreUnavailable or DeadlineExceeded.
        """
        self._mark(session_id, owner, deadline)
        # Without conditions: the mark has shown whose the session is, and nothing is added to a marked one.
        while belongings := self._belongings(session_id, deadline):
            # The records before the answers, which tell how many there are. The index of sessions may not show the
            # newest of them yet.
            self._tool_calls.delete_for_queries(_call_counts(belongings), owner, deadline=deadline)
            keys = [{"pk": item["pk"], "sk": item["sk"]} for item in belongings]
            self._conversations.delete_many(keys, deadline=deadline)
        # Those of questions that ended in an error, and so have no turn.
        self._tool_calls.delete_for_session(session_id, owner, deadline=deadline)
        self._conversations.delete_many([schema.session_key(session_id)], deadline=deadline)

    def _mark(self, session_id: str, owner: str, deadline: Deadline) -> None:
        mark = self._conversations.update(
            schema.session_key(session_id),
            expression="SET #deleted_at = if_not_exists(#deleted_at, :now) REMOVE #updated_at",
            condition="#owner = :owner",  # of the caller; a session marked before keeps its owner
            values={":now": utc_now(), ":owner": owner},
        )
        try:
            self._conversations.transact([mark], deadline=deadline)
        except ConditionFailed as error:
            raise UnknownSession(UNKNOWN_SESSION) from error

    def _belongings(self, session_id: str, deadline: Deadline) -> list[dict[str, Any]]:
        key = schema.session_key(session_id)
        items = self._conversations.query(partition=key["pk"], limit=_BATCH, deadline=deadline, consistent=True)
        return [item for item in items if item["sk"] != key["sk"]]


def _call_counts(items: Sequence[dict[str, Any]]) -> dict[str, int]:
    """How many tool calls the queries made whose answers are among the items, by the query's id."""
    return {
        schema.query_of_message(item["sk"]): item["metadata"]["tool_call_count"]
        for item in items
        if item.get("role") == "assistant"
    }
