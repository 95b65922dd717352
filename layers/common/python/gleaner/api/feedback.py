"""Routes on which callers rate answers."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body, Path
from aws_lambda_powertools.metrics import MetricUnit
from pydantic import BaseModel, ConfigDict, Field

from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import QueryId, cleaned_up_to
from gleaner.errors import UnknownQuery
from gleaner.model import utc_now
from gleaner.stores.doubts import DoubtStore
from gleaner.stores.feedback import Feedback, FeedbackStore
from gleaner.stores.schema import caller_hash

MAX_COMMENT = 2_000  # characters

Id = Annotated[QueryId, Path()]


class Rating(BaseModel):
    """How good the answer to a query was."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rating: int = Field(ge=1, le=5, description="1 is poor, 5 is very good.")
    comment: Annotated[str, Field(max_length=MAX_COMMENT), cleaned_up_to(MAX_COMMENT)] = ""


class KeptRating(BaseModel):
    """The stored feedback on a query."""

    query_id: str
    rating: int
    comment: str
    created_at: str


class FeedbackRoutes:
    """/api/queries/{query_id}/feedback."""

    def __init__(self, feedback: FeedbackStore, doubts: DoubtStore, current: Current, metrics: Metrics) -> None:
        self._feedback = feedback
        self._doubts = doubts
        self._current = current
        self._metrics = metrics

    def routes(self) -> list[Route]:
        """The routes."""
        raises = (UnknownQuery, *STORE_FAILURES)
        return [
            Route(Endpoint.RATE_ANSWER, self._rate, raises=raises),
            Route(Endpoint.SHOW_RATING, self._show, raises=raises),
        ]

    def _rate(self, query_id: Id, body: Annotated[Rating, Body()]) -> Response[KeptRating]:
        request = self._current()
        feedback = Feedback(
            query_id=query_id,
            owner=request.caller.id,
            rating=body.rating,
            comment=body.comment,
            created_at=utc_now(),
        )
        is_first = self._feedback.save(feedback, deadline=request.deadline)
        # After the feedback: whoever repeats a request that failed here counts it then.
        answer_ids = self._feedback.find_stored_answers(query_id, deadline=request.deadline)
        caller = caller_hash(request.caller.id)
        self._doubts.rate(answer_ids, caller, body.rating, deadline=request.deadline)
        if is_first:  # a changed rating was already counted, and metrics cannot be corrected
            self._metrics.add_metric("FeedbackRating", MetricUnit.Count, body.rating)
        return ok(_to_kept(feedback))

    def _show(self, query_id: Id) -> Response[KeptRating]:
        request = self._current()
        return ok(_to_kept(self._feedback.get(query_id, request.caller.id, deadline=request.deadline)))


def _to_kept(feedback: Feedback) -> KeptRating:
    return KeptRating(
        query_id=feedback.query_id,
        rating=feedback.rating,
        comment=feedback.comment,
        created_at=feedback.created_at.isoformat(timespec="microseconds"),
    )
