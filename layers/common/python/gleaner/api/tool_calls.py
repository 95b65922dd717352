"""Routes that show the tool calls of queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.openapi.params import Path, Query
from pydantic import BaseModel, Field, StringConstraints

from gleaner.api import _cursors
from gleaner.api._pages import take_fitting
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import Cursor, Limit, QueryId, SessionId
from gleaner.errors import InvalidCursor, NotAllowed, UnknownQuery, UnknownSession
from gleaner.stores import schema
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.tool_calls import MAX_NAME_LENGTH, Place, ToolCallRecord, ToolCallStore

ToolName = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME_LENGTH)]

# An error in the form of pydantic, without its location.
_EITHER = {"type": "value_error", "ctx": {"error": "send either tool_name or status, but not both"}}


class ToolCallItem(BaseModel):
    """One tool call; `parameters` and `result` are JSON text, shortened."""

    tool_call_id: str
    query_id: str
    session_id: str | None
    tool_name: str
    parameters: str
    result: str
    status: str
    error_message: str | None
    duration_ms: float
    retry_count: int
    created_at: str
    result_count: int | None = Field(description="How much was found, cited or learned; null if the call failed.")
    found: list[str] = Field(description="The chapter, or else the title, of each passage of the result, shortened.")
    cost_usd: float | None = Field(description="The price of a web search, where the search engine states it.")


class ToolCallPage(BaseModel):
    """A page of tool calls: those of a query in their order, others the newest first."""

    tool_calls: list[ToolCallItem]
    next_cursor: str | None


class ToolCallRoutes:
    """The tool calls of a query, of a session, and of all callers."""

    def __init__(self, tool_calls: ToolCallStore, conversations: ConversationStore, current: Current) -> None:
        self._tool_calls = tool_calls
        self._conversations = conversations
        self._current = current

    def routes(self) -> list[Route]:
        """The routes."""
        listing = (InvalidCursor, *STORE_FAILURES)
        of_query, of_session, of_all = (UnknownQuery, *listing), (UnknownSession, *listing), (NotAllowed, *listing)
        return [
            Route(Endpoint.LIST_TOOL_CALLS_OF_QUERY, self._list_of_query, raises=of_query),
            Route(Endpoint.LIST_TOOL_CALLS_OF_SESSION, self._list_of_session, raises=of_session),
            Route(Endpoint.LIST_TOOL_CALLS, self._list_all, raises=of_all),
        ]

    def _list_of_query(
        self, query_id: Annotated[QueryId, Path()], limit: Limit = 50, cursor: Cursor = None
    ) -> Response[ToolCallPage]:
        request = self._current()
        scope = ("tool-calls", query_id, request.caller.id)
        after = _cursors.decode(cursor, scope=scope, length=1)[0] if cursor else ""
        page = self._tool_calls.list_for_query(
            query_id, request.caller.id, limit=limit + 1, after=after, deadline=request.deadline
        )
        return ok(_to_page([((place,), call) for place, call in page], limit, scope))

    def _list_of_session(
        self, session_id: Annotated[SessionId, Path()], limit: Limit = 50, cursor: Cursor = None
    ) -> Response[ToolCallPage]:
        request = self._current()
        self._conversations.get(session_id, request.caller.id, deadline=request.deadline)
        return ok(self._list_recent(schema.BY_SESSION, session_id, limit, cursor))

    def _list_all(
        self,
        tool_name: Annotated[ToolName | None, Query(description="Only calls of this tool.")] = None,
        status: Annotated[Literal["success", "error"] | None, Query(description="Only calls with this status.")] = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> Response[ToolCallPage]:
        self._current().caller.require_admin()
        if tool_name is not None and status is None:
            return ok(self._list_recent(schema.BY_TOOL, tool_name, limit, cursor))
        if status is not None and tool_name is None:
            return ok(self._list_recent(schema.BY_STATUS, status, limit, cursor))
        raise RequestValidationError([_EITHER | {"loc": ("query", name)} for name in ("tool_name", "status")])

    def _list_recent(self, index: schema.Index, value: str, limit: int, cursor: str | None) -> ToolCallPage:
        request = self._current()
        scope = ("tool-calls", index.name, value, request.caller.id)
        after: Place | None = None
        if cursor:
            created_at, pk, sk = _cursors.decode(cursor, scope=scope, length=3)
            after = created_at, pk, sk
        page = self._tool_calls.list_recent(index, value, limit=limit + 1, after=after, deadline=request.deadline)
        return _to_page(page, limit, scope)


def _to_page(page: Sequence[tuple[Sequence[str], ToolCallRecord]], limit: int, scope: Sequence[str]) -> ToolCallPage:
    """A page of at most `limit` calls; `page` has one more if there are more, each with its position in the list."""
    items = take_fitting([_to_item(call) for _, call in page[:limit]])
    next_cursor = _cursors.encode(page[len(items) - 1][0], scope=scope) if len(page) > len(items) else None
    return ToolCallPage(tool_calls=items, next_cursor=next_cursor)


def _to_item(call: ToolCallRecord) -> ToolCallItem:
    created_at = call.created_at.isoformat(timespec="microseconds")
    return ToolCallItem(
        created_at=created_at,
        found=list(call.found),
        **{name: getattr(call, name) for name in ToolCallItem.model_fields if name not in ("created_at", "found")},
    )
