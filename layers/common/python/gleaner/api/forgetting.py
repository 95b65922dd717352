"""The route with which admins make the service forget a stored web answer."""

from __future__ import annotations

import logging
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel, Field

from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import AnswerId
from gleaner.errors import GleanerError, NotAllowed, UnknownAnswer
from gleaner.stores.answer_forgetting import AnswerForgetting
from gleaner.stores.learned_deletion import DeleteRecords

logger = logging.getLogger(__name__)


class ForgottenAnswerItem(BaseModel):
    """A forgotten answer; times are ISO 8601 in UTC."""

    answer_id: str
    kb_id: str
    forgotten_at: str
    barred_until: str = Field(description="Until then nothing is learned from its pages.")
    keyword_count: int = Field(description="How many keywords led to it.")
    pages: list[str]


class ForgetRoutes:
    """DELETE /api/keywords/answers/{answer_id}."""

    def __init__(self, forgetting: AnswerForgetting, delete_records: DeleteRecords, current: Current) -> None:
        """`delete_records` deletes answers from the vector index."""
        self._forgetting = forgetting
        self._delete_records = delete_records
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, UnknownAnswer, *STORE_FAILURES)
        return [Route(Endpoint.FORGET_ANSWER, self._forget, raises=failures)]

    def _forget(self, answer_id: Annotated[AnswerId, Path()]) -> Response[ForgottenAnswerItem]:
        request = self._current()
        request.caller.require_admin()
        forgotten = self._forgetting.forget(answer_id, by=request.caller.id, deadline=request.deadline)
        try:
            self._delete_records(forgotten.kb_id, [answer_id], request.deadline)
        except GleanerError:  # nothing is served from it; the pruning run that deletes the emptied answer repeats this
            logger.warning("a forgotten answer stays in the vector index until it is pruned", exc_info=True)
        return ok(ForgottenAnswerItem.model_validate(forgotten, from_attributes=True))
