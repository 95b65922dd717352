"""Routes on which admins look at doubtful stored answers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel, Field

from gleaner.api._pages import take_fitting
from gleaner.api.keywords import StoredAnswer, to_stored_answer
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import AnswerId
from gleaner.errors import NotAllowed, UnknownAnswer
from gleaner.stores.doubts import DoubtStore


class DoubtfulItem(BaseModel):
    """A stored answer that is not handed out."""

    doubt_count: int = Field(description="Callers who rated an answer that rests on it 1 or 2.")
    answer: StoredAnswer


class DoubtfulList(BaseModel):
    """The doubtful answers, the newest first, as many as fit."""

    answers: list[DoubtfulItem]


class DoubtRoutes:
    """GET /api/keywords/answers and DELETE /api/keywords/answers/{answer_id}/doubts."""

    def __init__(self, doubts: DoubtStore, current: Current) -> None:
        self._doubts = doubts
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, *STORE_FAILURES)
        clearing = (UnknownAnswer, *failures)
        return [
            Route(Endpoint.LIST_DOUBTFUL, self._list, raises=failures),
            Route(Endpoint.CLEAR_DOUBTS, self._clear, status=HTTPStatus.NO_CONTENT, content={}, raises=clearing),
        ]

    def _list(self) -> Response[DoubtfulList]:
        request = self._current()
        request.caller.require_admin()
        items = [
            DoubtfulItem(doubt_count=one.doubt_count, answer=to_stored_answer(one.answer))
            for one in self._doubts.list_doubtful(deadline=request.deadline)
        ]
        return ok(DoubtfulList(answers=take_fitting(items)))

    def _clear(self, answer_id: Annotated[AnswerId, Path()]) -> Response[None]:
        request = self._current()
        request.caller.require_admin()
        self._doubts.clear(answer_id, deadline=request.deadline)
        return Response(HTTPStatus.NO_CONTENT.value)
