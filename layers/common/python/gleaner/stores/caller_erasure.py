"""Deletes what a caller left: sessions, queries without one, what only this caller taught, usage, names at uploads."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from gleaner.errors import DeadlineExceeded, UnknownSession
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.documents import DocumentStore
from gleaner.stores.doubts import DoubtStore
from gleaner.stores.dynamodb import Table
from gleaner.stores.learned_deletion import LearnedDeletion
from gleaner.stores.session_deletion import DeletionCounts, SessionDeletion
from gleaner.stores.tool_calls import ToolCallStore
from gleaner.stores.usage import UsageStore

_PAGE = 100
_BY_OWNER = schema.CONVERSATIONS.indexes[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What one call deleted. If `is_finished` is false, time ran out: a repeated call goes on."""

    is_finished: bool
    counts: DeletionCounts
    documents: int  # which are kept, but do not name the caller any more


class CallerErasure:
    """Erases callers. Nothing marks a caller: what a query that still runs stores later is left to a repeated call."""

    def __init__(
        self,
        conversations: Table,
        tool_calls: ToolCallStore,
        sessions: SessionDeletion,
        learned: LearnedDeletion,
        doubts: DoubtStore,
        usage: UsageStore,
        documents: DocumentStore,
    ) -> None:
        self._conversations = conversations
        self._tool_calls = tool_calls
        self._sessions = sessions
        self._learned = learned
        self._doubts = doubts
        self._usage = usage
        self._documents = documents

    def erase(self, caller_id: str, *, deadline: Deadline) -> ErasureReport:
        """Erase a caller, until all is done or time is up. Raises StoreUnavailable."""
        counts, documents = DeletionCounts(), 0
        try:
            # What the caller taught goes first, shared or not: the sessions alone would leave what all find.
            self._delete_learned(caller_id, counts, deadline)
            self._finish_deletions(caller_id, counts, deadline)
            self._delete_sessions(caller_id, counts, deadline)
            self._delete_noted_queries(caller_id, counts, deadline)
            self._doubts.withdraw(schema.caller_hash(caller_id), deadline=deadline)
            # Again, because a query may have taught something while the sessions were deleted.
            self._delete_learned(caller_id, counts, deadline)
            self._usage.erase(caller_id, utc_now().date(), deadline=deadline)
            documents = self._documents.forget_uploader(caller_id, deadline=deadline)
        except DeadlineExceeded:
            return ErasureReport(is_finished=False, counts=counts, documents=documents)
        return ErasureReport(is_finished=True, counts=counts, documents=documents)

    def _delete_learned(self, caller_id: str, counts: DeletionCounts, deadline: Deadline) -> None:
        caller = schema.caller_hash(caller_id)
        self._learned.delete(caller, counts.learned, session_id=None, with_shared=True, deadline=deadline)

    def _finish_deletions(self, caller_id: str, counts: DeletionCounts, deadline: Deadline) -> None:
        """Finish interrupted deletions of sessions, which no index lists."""
        partition, prefix = schema.owner_partition(caller_id), schema.DOOMED_PREFIX
        for item in self._conversations.query_all(
            partition=partition, begins_with=prefix, limit=None, deadline=deadline
        ):
            try:
                self._sessions.delete(item["session_id"], caller_id, counts=counts, deadline=deadline)
            except UnknownSession:  # it was deleted in the meantime
                self._conversations.delete_many([{"pk": item["pk"], "sk": item["sk"]}], deadline=deadline)

    def _delete_sessions(self, caller_id: str, counts: DeletionCounts, deadline: Deadline) -> None:
        deleted: set[str] = set()  # the index may list them for a moment
        while page := self._conversations.query_index(
            _BY_OWNER,
            partition=caller_id,
            position=lambda item: (item["updated_at"], item["session_id"]),
            after=None,
            skip=lambda item: item["session_id"] in deleted,
            limit=_PAGE,
            deadline=deadline,
        ):
            for item in page:
                with suppress(UnknownSession):
                    self._sessions.delete(item["session_id"], caller_id, counts=counts, deadline=deadline)
                deleted.add(item["session_id"])

    def _delete_noted_queries(self, caller_id: str, counts: DeletionCounts, deadline: Deadline) -> None:
        partition, prefix = schema.owner_partition(caller_id), schema.NOTED_PREFIX
        for item in self._conversations.query_all(
            partition=partition, begins_with=prefix, limit=None, deadline=deadline
        ):
            call_counts = {item["query_id"]: item["tool_call_count"]}
            calls, ratings = self._tool_calls.delete_for_queries(call_counts, caller_id, deadline=deadline)
            counts.tool_calls, counts.ratings = counts.tool_calls + calls, counts.ratings + ratings
            self._conversations.delete_many([{"pk": item["pk"], "sk": item["sk"]}], deadline=deadline)
