"""The route that shows what a query did."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path
from pydantic import BaseModel

from gleaner.api import cursors
from gleaner.api.pages import fitting
from gleaner.api.request import STORE_FAILURES, Current, Route, ok
from gleaner.api.schemas import Cursor, Limit, QueryId
from gleaner.errors import InvalidCursor, UnknownQuery
from gleaner.stores.tool_calls import ToolCallRecord, ToolCallStore

PATH = "/api/queries/<query_id>/tool-calls"


class ToolCallItem(BaseModel):
    """One tool call; `parameters` and `result` are JSON text, shortened."""

    tool_call_id: str
    query_id: str
    session_id: str
    tool_name: str
    parameters: str
    result: str
    status: str
    error_message: str | None
    duration_ms: float
    retry_count: int
    created_at: str


class ToolCallPage(BaseModel):
    """A page of the tool calls of a query, in their order."""

    tool_calls: list[ToolCallItem]
    next_cursor: str | None


class ToolCallRoutes:
    """GET /api/queries/{query_id}/tool-calls."""

    def __init__(self, tool_calls: ToolCallStore, current: Current) -> None:
        self._tool_calls = tool_calls
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        raises = (InvalidCursor, UnknownQuery, *STORE_FAILURES)
        return [Route("GET", PATH, self._list, summary="List the tool calls of a query", raises=raises)]

    def _list(
        self,
        query_id: Annotated[QueryId, Path()],
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response[ToolCallPage]:
        request = self._current()
        scope = ("tool-calls", query_id, request.caller.id)
        after = cursors.decode(cursor, scope=scope, length=1)[0] if cursor else ""
        page = self._tool_calls.of_query(
            query_id, request.caller.id, limit=limit + 1, after=after, deadline=request.deadline
        )
        shown = fitting([_to_item(call) for _, call in page[:limit]])
        next_cursor = cursors.encode((page[len(shown) - 1][0],), scope=scope) if len(page) > len(shown) else None
        return ok(ToolCallPage(tool_calls=shown, next_cursor=next_cursor))


def _to_item(call: ToolCallRecord) -> ToolCallItem:
    created_at = call.created_at.isoformat(timespec="microseconds")
    return ToolCallItem(
        created_at=created_at,
        **{name: getattr(call, name) for name in ToolCallItem.model_fields if name != "created_at"},
    )
