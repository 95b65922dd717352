"""Callers' ratings of and comments on the answers to their queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gleaner.errors import UnknownQuery
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import from_timestamp
from gleaner.stores.tool_calls import read_calls

_OWNERSHIP_CHECK = 0  # the position of this action in the transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A caller's rating of the answer to a query, 1 (poor) to 5 (very good)."""

    query_id: str
    owner: str
    rating: int
    comment: str  # may be empty
    created_at: datetime


class FeedbackStore:
    """Stores feedback next to the tool calls of its query. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        """`table` is the tool calls table."""
        self._table = table

    def save(self, feedback: Feedback, *, deadline: Deadline) -> bool:
        """Store the feedback, replacing any earlier one. Returns whether it is the first for its query.

        Raises UnknownQuery when its owner made no such query.
        """
        values = {
            "rating": feedback.rating,
            "comment": feedback.comment,
            "created_at": feedback.created_at,
            "owner": feedback.owner,
        }
        key = schema.feedback_key(feedback.query_id)
        replacement = self._table.update(
            key,
            expression="SET #rating = :rating, #comment = :comment, #created_at = :created_at",
            condition="#owner = :owner",  # never overwrites another caller's feedback
            values={f":{name}": value for name, value in values.items()},
        )
        for is_first, action in ((True, self._table.new_item(key | values)), (False, replacement)):
            try:
                self._table.transact([self._check_ownership(feedback), action], deadline=deadline)
            except ConditionFailed as error:
                if _OWNERSHIP_CHECK in error.positions:
                    raise UnknownQuery("There is no such query.") from error
            else:
                return is_first
        raise UnknownQuery("There is no such query.")  # stored under another owner, which should never happen

    def get(self, query_id: str, owner: str, *, deadline: Deadline) -> Feedback:
        """Read the feedback of `owner` on a query. Raises UnknownQuery when there is none."""
        item = self._table.get(schema.feedback_key(query_id), deadline=deadline)
        if item is None or item["owner"] != owner:
            raise UnknownQuery("You have left no feedback on such a query.")
        return Feedback(
            query_id=query_id,
            owner=owner,
            rating=item["rating"],
            comment=item["comment"],
            created_at=from_timestamp(item["created_at"]),
        )

    def find_stored_answers(self, query_id: str, *, deadline: Deadline) -> set[str]:
        """The ids of the stored web answers that the answer to a query rests on. Does not check the owner."""
        items = self._table.query_all(
            partition=schema.tool_call_key(query_id, 0)["pk"],
            begins_with=schema.TOOL_CALL_PREFIX,
            limit=None,
            deadline=deadline,
        )
        return {answer_id for item in items for call in read_calls(item) for answer_id in call.stored_answers}

    def _check_ownership(self, feedback: Feedback) -> dict[str, object]:
        # The first tool call names the query's owner. Every query that reached the model has one.
        return self._table.check(
            schema.tool_call_key(feedback.query_id, 0), condition="#owner = :owner", values={":owner": feedback.owner}
        )
