"""What callers say of the answers to their queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gleaner.errors import UnknownQuery
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import from_timestamp

_OWNED, _KEPT = 0, 1  # places of the actions of a transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """A caller's rating of the answer to a query, 1 (poor) to 5 (very good)."""

    query_id: str
    owner: str
    rating: int
    comment: str  # may be empty
    created_at: datetime


class FeedbackStore:
    """Feedback, kept beside the tool calls of its query. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table) -> None:
        """`table` is that of the tool calls."""
        self._table = table

    def save(self, feedback: Feedback, *, deadline: Deadline) -> bool:
        """Keep the feedback, in place of an earlier one; whether it is the first of its query.

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
            condition="#owner = :owner",  # its owner's: another query's or caller's is never written over
            values={f":{name}": value for name, value in values.items()},
        )
        for first, action in ((True, self._table.new_item(key | values)), (False, replacement)):
            try:
                self._table.transact([self._owned(feedback), action], deadline=deadline)
            except ConditionFailed as error:
                if _OWNED in error.positions:
                    raise UnknownQuery("There is no such query.") from error
            else:
                return first
        raise UnknownQuery("There is no such query.")  # kept under another owner, which nothing writes

    def get(self, query_id: str, owner: str, *, deadline: Deadline) -> Feedback:
        """The feedback of `owner` on a query. Raises UnknownQuery when there is none."""
        item = self._table.get(schema.feedback_key(query_id), deadline=deadline)
        if item is None or item["owner"] != owner:
            raise UnknownQuery("There is no feedback of yours on such a query.")
        return Feedback(
            query_id=query_id,
            owner=owner,
            rating=item["rating"],
            comment=item["comment"],
            created_at=from_timestamp(item["created_at"]),
        )

    def _owned(self, feedback: Feedback) -> dict[str, object]:
        # The first tool call tells whose the query is; every query that reached the model has one.
        return self._table.check(
            schema.tool_call_key(feedback.query_id, 0), condition="#owner = :owner", values={":owner": feedback.owner}
        )
