"""Deletes sessions with all their records, in the conversations and the tool calls tables."""

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

_BATCH_SIZE = 500  # items that are read before they are deleted


class SessionDeletion:
    """Deletes sessions. A repeated call resumes an interrupted deletion."""

    def __init__(self, conversations: Table, tool_calls: ToolCallStore) -> None:
        self._conversations = conversations
        self._tool_calls = tool_calls

    def delete(self, session_id: str, owner: str, *, deadline: Deadline) -> None:
        """Delete a session of `owner`: its turns, and the tool calls and feedback of its queries.

        The session is marked first, so that nobody sees it or adds to it, and deleted last, so that its records
        can still be found. Raises UnknownSession, StoreUnavailable or DeadlineExceeded.
        """
        self._mark(session_id, owner, deadline)
        # No conditions needed: marking checked the owner, and nothing is added to a marked session.
        while items := self._read_batch(session_id, deadline):
            # Tool calls before the answers that hold their counts: the session index may not show the newest yet.
            self._tool_calls.delete_for_queries(_call_counts(items), owner, deadline=deadline)
            keys = [{"pk": item["pk"], "sk": item["sk"]} for item in items]
            self._conversations.delete_many(keys, deadline=deadline)
        # Tool calls of questions that ended in an error and therefore have no turn.
        self._tool_calls.delete_for_session(session_id, owner, deadline=deadline)
        self._conversations.delete_many([schema.session_key(session_id)], deadline=deadline)

    def _mark(self, session_id: str, owner: str, deadline: Deadline) -> None:
        mark = self._conversations.update(
            schema.session_key(session_id),
            expression="SET #deleted_at = if_not_exists(#deleted_at, :now) REMOVE #updated_at",
            condition="#owner = :owner",  # a marked session keeps its owner, so marking can be repeated
            values={":now": utc_now(), ":owner": owner},
        )
        try:
            self._conversations.transact([mark], deadline=deadline)
        except ConditionFailed as error:
            raise UnknownSession(UNKNOWN_SESSION) from error

    def _read_batch(self, session_id: str, deadline: Deadline) -> list[dict[str, Any]]:
        """Some items of the session, without the session item itself."""
        key = schema.session_key(session_id)
        items = self._conversations.query(partition=key["pk"], limit=_BATCH_SIZE, deadline=deadline, consistent=True)
        return [item for item in items if item["sk"] != key["sk"]]


def _call_counts(items: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The number of tool calls by query id, for queries whose answers are among the items."""
    return {
        schema.query_of_message(item["sk"]): item["metadata"]["tool_call_count"]
        for item in items
        if item.get("role") == "assistant"
    }
