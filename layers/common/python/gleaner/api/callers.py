"""The route with which admins erase a caller."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import unquote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel, Field

from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import CallerId
from gleaner.errors import KnowledgeBaseUnavailable, NotAllowed
from gleaner.stores.caller_erasure import CallerErasure


class ErasedCaller(BaseModel):
    """What this call deleted of a caller."""

    caller_id: str
    finished: bool = Field(description="If false, time ran out: repeat the request to continue.")
    sessions: int
    messages: int
    selected_texts: int
    tool_calls: int
    ratings: int
    keywords: int = Field(description="Those that only this caller taught.")
    answers: int = Field(description="Stored web answers.")
    documents: int = Field(description="Uploaded documents, which stay but do not name the caller any more.")


class CallerRoutes:
    """DELETE /api/callers/{caller_id}."""

    def __init__(self, erasure: CallerErasure, current: Current) -> None:
        self._erasure = erasure
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        failures = (NotAllowed, KnowledgeBaseUnavailable, *STORE_FAILURES)
        return [Route(Endpoint.ERASE_CALLER, self._erase, raises=failures, unfinished=HTTPStatus.ACCEPTED)]

    def _erase(self, caller_id: Annotated[CallerId, Path()]) -> Response[ErasedCaller]:
        request = self._current()
        request.caller.require_admin()
        # A slash in an ARN is encoded twice, because API Gateway decodes paths before it routes them.
        erased_id = unquote(caller_id)
        report = self._erasure.erase(erased_id, deadline=request.deadline)
        counts = report.counts
        body = ErasedCaller(
            caller_id=erased_id,
            finished=report.is_finished,
            sessions=counts.sessions,
            messages=counts.messages,
            selected_texts=counts.selected_texts,
            tool_calls=counts.tool_calls,
            ratings=counts.ratings,
            keywords=counts.learned.keywords,
            answers=counts.learned.answers,
            documents=report.documents,
        )
        return ok(body, status=HTTPStatus.OK if report.is_finished else HTTPStatus.ACCEPTED)
