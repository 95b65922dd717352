"""Keeps the records of a question's tool calls, which are written when it ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from gleaner.answering._call_events import summarize
from gleaner.answering._closing import ClosingWrite
from gleaner.answering._execution import CallOutcome
from gleaner.errors import DeadlineExceeded, KnowledgeBaseUnavailable, StoreUnavailable, UnknownSession
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.session_deletion import SessionDeletion
from gleaner.stores.statements import Result
from gleaner.stores.tool_calls import ToolCallRecord, ToolCallStore, redacted, to_items
from gleaner.tools import generate_response
from gleaner.tools.workspace import Workspace

logger = logging.getLogger(__name__)

_MAX_LAYOUT_SECONDS = 1.0  # to learn whether items may be compact; the former form is read as well


class CallRecorder:
    """Makes the records of tool calls, and cleans up after questions that fail."""

    def __init__(self, workspace: Workspace, owner: str, tool_calls: ToolCallStore) -> None:
        self._workspace = workspace
        self._owner = owner
        self._tool_calls = tool_calls
        self.outcomes: list[CallOutcome] = []
        self._records: list[Future[ToolCallRecord]] = []
        self._is_compact: Future[bool] | None = None

    def record(self, outcome: CallOutcome) -> None:
        """Keep the record of a finished call until the question ends; start to redact it."""
        retry_count = sum(outcome.call.name == earlier.call.name for earlier in self.outcomes if earlier.error)
        question, summary = self._workspace.question, summarize(outcome, self._workspace)
        passages = map(self._workspace.passage, summary.get("ids", ()))
        record = ToolCallRecord(
            query_id=question.query_id,
            session_id=question.session_id,
            owner=self._owner,
            position=len(self.outcomes),
            tool_call_id=outcome.call.id,
            tool_name=outcome.call.name,
            parameters=outcome.call.arguments,
            result=outcome.content,
            status="error" if outcome.error else "success",
            error_message=outcome.error,
            duration_ms=outcome.duration_ms,
            retry_count=retry_count,
            created_at=utc_now(),
            result_count=summary.get("count"),
            found=tuple(passage.chapter or passage.title for passage in passages if passage),
            cost_usd=summary.get("cost_usd"),
            stored_answers=tuple(self._find_stored_answers(outcome)),
        )
        self.outcomes.append(outcome)
        background = self._workspace.background
        self._records.append(background.prepare(partial(redacted, record)))
        if self._is_compact is None:  # known by now, unless no keyword was looked up in this process
            deadline = self._workspace.deadline.part(_MAX_LAYOUT_SECONDS)
            self._is_compact = background.prepare(partial(self._tool_calls.is_compact, deadline=deadline))

    def writes(self) -> list[ClosingWrite]:
        """The writes of the records so far."""
        items = to_items(list(self._redacted()), is_compact=self._may_be_compact())
        return [
            ClosingWrite("tool call record", partial(self._write_unless_done, item), self._tool_calls.insertion(item))
            for item in items
        ]

    def _redacted(self) -> Iterator[ToolCallRecord]:
        """The records that could be redacted. One that could not must keep nothing else from being written."""
        for record in self._records:
            if (error := record.exception()) is None:
                yield record.result()
            else:
                logger.error("a write failed", extra={"write": "tool call record"}, exc_info=error)

    def _may_be_compact(self) -> bool:
        try:
            return self._is_compact is not None and self._is_compact.result(timeout=_MAX_LAYOUT_SECONDS)
        except (StoreUnavailable, DeadlineExceeded, TimeoutError):
            return False

    def _write_unless_done(self, item: Mapping[str, Any], result: Result, deadline: Deadline) -> None:
        if not (result.is_done or result.is_refused):  # refused: an earlier attempt of the request wrote it
            self._tool_calls.record(item, deadline=deadline)

    def _find_stored_answers(self, outcome: CallOutcome) -> list[str]:
        """What a rating of the answer is a rating of, noted with the call that gave the answer."""
        gave_answer = outcome.succeeded and outcome.call.name == generate_response.NAME
        return self._workspace.stored_answers() if gave_answer else []

    def withdraw_learned(self, sessions: SessionDeletion, deadline: Deadline) -> None:
        """Delete what a question taught before its answer became a fallback.

        What is interrupted remains as it was learned, and can be found, rated and forgotten like all that is.
        """
        workspace = self._workspace
        if not (workspace.learned and workspace.is_poor()):
            return
        workspace.background.flush()  # the record in the vector index is written there
        question = workspace.question
        try:
            sessions.withdraw_learned(question.session_id, self._owner, question.query_id, deadline=deadline)
        except (KnowledgeBaseUnavailable, StoreUnavailable, DeadlineExceeded):
            logger.exception("what a fallback answer taught remains")
            return
        workspace.learned.clear()
        workspace.learned_results.clear()

    def note_failure(self, conversations: ConversationStore, deadline: Deadline) -> None:
        """Remember the records of a question that has no session, since it failed."""
        query_id, count = self._workspace.question.query_id, len(self.outcomes)
        try:
            if count:
                conversations.note_query(self._owner, query_id, count, deadline=deadline)
        except (StoreUnavailable, DeadlineExceeded):
            logger.exception("nothing leads from a caller to the records of a failed query")

    def delete_if_orphaned(
        self, session_id: str, conversations: ConversationStore, sessions: SessionDeletion, deadline: Deadline
    ) -> None:
        """Delete what a question left that stored no turn, if its session was deleted in the meantime.

        A deletion marks the session before it deletes records. If the session is unmarked, a later deletion finds our
        records; otherwise delete them here. They remain if time runs out, if the store fails, or if a record's write
        takes longer than `Background.flush` waits for it.
        """
        try:
            if not self._has_session(session_id, conversations, deadline):
                counts = {self._workspace.question.query_id: len(self.outcomes)}
                self._tool_calls.delete_for_queries(counts, self._owner, deadline=deadline)
                sessions.delete_learned(session_id, self._owner, deadline=deadline)
        except (StoreUnavailable, DeadlineExceeded):
            logger.exception("records of a deleted session may remain")

    def _has_session(self, session_id: str, conversations: ConversationStore, deadline: Deadline) -> bool:
        try:
            conversations.get(session_id, self._owner, deadline=deadline)
        except UnknownSession:
            return False
        return True
