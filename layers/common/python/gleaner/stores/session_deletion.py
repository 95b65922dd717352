"""Deletes sessions with all their records, in the conversations and the tool calls tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gleaner.errors import UnknownSession
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.conversations import UNKNOWN_SESSION
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.learned_deletion import LearnedCounts, LearnedDeletion
from gleaner.stores.tool_calls import ToolCallStore

_BATCH_SIZE = 500  # items that are read before they are deleted


@dataclass(slots=True, kw_only=True)
class DeletionCounts:
    """What was deleted, as far as the deletion has come."""

    sessions: int = 0
    messages: int = 0
    selected_texts: int = 0
    tool_calls: int = 0
    ratings: int = 0
    learned: LearnedCounts = field(default_factory=LearnedCounts)


class SessionDeletion:
    """Deletes sessions. A repeated call resumes an interrupted deletion."""

    def __init__(
        self, conversations: Table, tool_calls: ToolCallStore, learned: LearnedDeletion, *, with_shared: bool
    ) -> None:
        """`with_shared` says whether a session takes along what it taught for all callers."""
        self._conversations = conversations
        self._tool_calls = tool_calls
        self._learned = learned
        self._with_shared = with_shared

    def delete(self, session_id: str, owner: str, *, counts: DeletionCounts | None = None, deadline: Deadline) -> None:
        """Delete a session of `owner`: its turns, the tool calls and feedback of its queries, and what they taught.

        The session is marked first, so that nobody sees it or adds to it, and deleted last, so that its records
        can still be found. Adds to `counts`. Raises UnknownSession, StoreUnavailable or DeadlineExceeded.
        """
        counts = counts or DeletionCounts()
        self._mark(session_id, owner, deadline)
        # No conditions needed: marking checked the owner, and nothing is added to a marked session.
        while items := self._read_batch(session_id, deadline):
            # Tool calls before the answers that hold their counts: the session index may not show the newest yet.
            self._delete_calls(_call_counts(items), owner, counts, deadline)
            keys = [{"pk": item["pk"], "sk": item["sk"]} for item in items]
            self._conversations.delete_many(keys, deadline=deadline)
            counts.messages += sum(item["sk"].startswith(schema.MESSAGE_PREFIX) for item in items)
            counts.selected_texts += sum(item["sk"].startswith(schema.SELECTION_PREFIX) for item in items)
        # Tool calls of questions that ended in an error and therefore have no turn.
        calls, ratings = self._tool_calls.delete_for_session(session_id, owner, deadline=deadline)
        counts.tool_calls, counts.ratings = counts.tool_calls + calls, counts.ratings + ratings
        self.delete_learned(session_id, owner, counts, deadline=deadline)
        keys = [schema.session_key(session_id), schema.doomed_key(owner, session_id)]
        self._conversations.delete_many(keys, deadline=deadline)
        counts.sessions += 1

    def delete_learned(
        self, session_id: str, owner: str, counts: DeletionCounts | None = None, *, deadline: Deadline
    ) -> None:
        """Delete what a session of `owner` taught, as far as it goes with the session."""
        self._learned.delete(
            schema.caller_hash(owner),
            (counts or DeletionCounts()).learned,
            session_id=session_id,
            with_shared=self._with_shared,
            deadline=deadline,
        )

    def withdraw_learned(self, session_id: str | None, owner: str, query_id: str, *, deadline: Deadline) -> None:
        """Delete what one query of `owner` taught, also what it taught for all callers."""
        self._learned.withdraw(schema.caller_hash(owner), session_id, query_id, deadline=deadline)

    def _delete_calls(
        self, call_counts: Mapping[str, int], owner: str, counts: DeletionCounts, deadline: Deadline
    ) -> None:
        calls, ratings = self._tool_calls.delete_for_queries(call_counts, owner, deadline=deadline)
        counts.tool_calls, counts.ratings = counts.tool_calls + calls, counts.ratings + ratings

    def _mark(self, session_id: str, owner: str, deadline: Deadline) -> None:
        mark = self._conversations.update(
            schema.session_key(session_id),
            expression="SET #deleted_at = if_not_exists(#deleted_at, :now) REMOVE #updated_at, #title",
            condition="#owner = :owner",  # a marked session keeps its owner, so marking can be repeated
            values={":now": utc_now(), ":owner": owner},
        )
        # A marked session is in no index: this item finds it when the deletion of its caller goes on.
        doomed = self._conversations.update(
            schema.doomed_key(owner, session_id),
            expression="SET #session_id = :session",
            condition="",
            values={":session": session_id},
        )
        try:
            self._conversations.transact([mark, doomed], deadline=deadline)
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
