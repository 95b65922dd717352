"""Doubts about stored web answers: ratings by which an answer is not handed out until an admin has looked at it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from gleaner.errors import UnknownAnswer
from gleaner.model import WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.keyword_items import is_doubtful, to_answers
from gleaner.stores.keyword_pruning import EXISTING_ANSWER

MAX_POOR_RATING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulAnswer:
    """A stored answer that is not handed out."""

    answer: WebAnswer
    doubt_count: int  # callers who rated it poor


class DoubtStore:
    """Doubts in the keywords table. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def rate(self, answer_ids: Collection[str], caller: str, rating: int, *, deadline: Deadline) -> None:
        """Count the rating of an answer that rests on these stored ones, by a caller (by its hash), once for each."""
        operation = "ADD" if rating <= MAX_POOR_RATING else "DELETE"
        for answer_id in sorted(answer_ids):
            count = self._table.update(
                schema.answer_key(answer_id),
                expression=f"{operation} #doubters :caller",
                condition=EXISTING_ANSWER,
                values={":caller": {caller}},
            )
            # Lists the answer. It stays when a doubt is withdrawn: the list reads the answer itself.
            mark = self._table.update(
                schema.doubt_key(answer_id), expression="SET #result_id = :id", condition="", values={":id": answer_id}
            )
            with suppress(ConditionFailed):  # it was forgotten, has expired, or was never stored
                self._table.transact([count, mark] if operation == "ADD" else [count], deadline=deadline)

    def list_doubtful(self, *, deadline: Deadline) -> list[DoubtfulAnswer]:
        """All doubtful answers, the newest first."""
        marks = self._table.query_all(
            partition=schema.doubt_key("")["pk"], begins_with=schema.DOUBT_PREFIX, limit=None, deadline=deadline
        )
        keys = [schema.answer_key(mark["result_id"]) for mark in marks]
        items = [item for item in self._table.get_many(keys, deadline=deadline) if is_doubtful(item)]
        doubtful = [
            DoubtfulAnswer(answer=answer, doubt_count=len(item["doubters"]))
            for item in items
            for answer in to_answers([item])
        ]
        return sorted(doubtful, key=lambda one: one.answer.created_at, reverse=True)

    def clear(self, answer_id: str, *, deadline: Deadline) -> None:
        """Hand an answer out again, until new doubts come. Raises UnknownAnswer."""
        clearing = self._table.update(
            schema.answer_key(answer_id), expression="REMOVE #doubters", condition=EXISTING_ANSWER, values={}
        )
        try:
            self._table.transact([clearing, self._table.delete(schema.doubt_key(answer_id))], deadline=deadline)
        except ConditionFailed as error:
            raise UnknownAnswer("There is no such stored answer.") from error

    def withdraw(self, caller: str, *, deadline: Deadline) -> None:
        """Take back all doubts of a caller (by its hash)."""
        marks = self._table.query_all(
            partition=schema.doubt_key("")["pk"], begins_with=schema.DOUBT_PREFIX, limit=None, deadline=deadline
        )
        self.rate([mark["result_id"] for mark in marks], caller, MAX_POOR_RATING + 1, deadline=deadline)
