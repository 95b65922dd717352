"""Asks a service, holds its answers to their form, and notes what it began there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from gleaner.api.invalid import invalid_fields
from gleaner.api.messages import MessageItem, MessagePage, TurnAnswer
from gleaner.api.problems import CONTENT_TYPE, TYPE_PREFIX
from gleaner.api.schemas import ChatAnswer
from gleaner.api.sessions import SessionItem
from gleaner.api.tool_calls import ToolCallItem, ToolCallPage
from gleaner_local.clients.http_api import ApiClient, json_object

_SETTLING_SECONDS = 3.0  # lists are read eventually consistent: what was just written may be missing at first
_BETWEEN_READS = 0.2
_SHORT = 60  # characters

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")


class CheckFailed(Exception):
    """The service broke a promise; the message says what was seen."""


def expect(kept: bool, otherwise: str) -> None:
    """Raises CheckFailed that says `otherwise` unless the promise is kept."""
    if not kept:
        raise CheckFailed(otherwise)


def short(text: str) -> str:
    """The beginning of a text, in one line and in quotes."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= _SHORT else f'"{line[:_SHORT].rstrip()}…"'


class Probe:
    """One caller of the service. Methods raise CheckFailed, and CallFailed when no answer came."""

    def __init__(self, client: ApiClient, *, kb_id: str | None) -> None:
        self._client = client
        self._kb = {"kb_id": kb_id} if kb_id else {}
        self.sessions: list[str] = []  # begun here and not deleted yet

    def call(self, method: str, path: str, model: type[Model], *, status: int = HTTPStatus.OK, **request: Any) -> Model:
        """The answer, which must have this status and this form."""
        response = self._client.send(method, path, **request)
        expect(response.status_code == status, f"{method} {path}: status {_status(response)} instead of {status}")
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            first = error.errors()[0]
            [told] = invalid_fields([first | {"loc": ("body", *first["loc"])}])
            raise CheckFailed(f"{method} {path}: {told.field} {told.message}") from error

    def refused(self, method: str, path: str, status: int, slug: str | None = None, **request: Any) -> None:
        """The request must end in a problem document of this status, and of this type when `slug` names one."""
        response = self._client.send(method, path, **request)
        what = f"{method} {path}"
        expect(response.status_code == status, f"{what}: status {_status(response)} instead of {status}")
        content_type = response.headers.get("content-type", "")
        expect(content_type.startswith(CONTENT_TYPE), f"{what}: content type {content_type or 'missing'}")
        problem = json_object(response)
        for field in ("type", "title", "status", "detail", "query_id"):
            expect(field in problem, f"{what}: the problem has no {field}")
        expect(slug is None or problem["type"] == f"{TYPE_PREFIX}{slug}", f"{what}: type {problem['type']}, not {slug}")

    def ask(self, query: str, **fields: Any) -> ChatAnswer:
        """The answer to a question of its own, or of the session that `session_id` names."""
        answer = self.call("POST", "/api/chat/query", ChatAnswer, json=self._kb | {"query": query} | fields)
        if answer.session_id not in self.sessions:
            self.sessions.append(answer.session_id)
        return answer

    def begin_session(self) -> str:
        """The id of a new session."""
        session = self.call("POST", "/api/sessions", SessionItem, status=HTTPStatus.CREATED, json={})
        self.sessions.append(session.session_id)
        return session.session_id

    def delete_session(self, session_id: str) -> None:
        """Delete a session that was begun here."""
        path = f"/api/sessions/{session_id}"
        response = self._client.send("DELETE", path)
        wanted = HTTPStatus.NO_CONTENT
        expect(response.status_code == wanted, f"DELETE {path}: status {_status(response)} instead of {wanted}")
        self.sessions.remove(session_id)

    def turn(self, session_id: str, query: str) -> list[tuple[str, str]]:
        """Ask in a session; the two messages, role and content, that its history must now end with."""
        path = f"/api/sessions/{session_id}/chat"
        message = self.call("POST", path, TurnAnswer, json=self._kb | {"query": query}).message
        return [("user", query), (message.role, message.content)]

    def tool_calls(self, query_id: str, count: int) -> list[ToolCallItem]:
        """The history of a query's tool calls; there should be `count`."""
        path = f"/api/queries/{query_id}/tool-calls"
        return _settled(lambda: self.call("GET", path, ToolCallPage).tool_calls, count)

    def messages(self, session_id: str, *, count: int, page_size: int) -> list[MessageItem]:
        """All messages of a session, read page by page; there should be `count`."""
        return _settled(lambda: self._all_messages(session_id, count, page_size), count)

    def _all_messages(self, session_id: str, count: int, page_size: int) -> list[MessageItem]:
        path = f"/api/sessions/{session_id}/messages"
        found: list[MessageItem] = []
        cursor: str | None = None
        while len(found) <= count:  # a list without an end is seen as one that is too long
            here = {"cursor": cursor} if cursor else {}
            page = self.call("GET", path, MessagePage, params=here | {"limit": str(page_size)})
            expect(len(page.messages) <= page_size, f"a page of {page_size} holds {len(page.messages)} messages")
            found += page.messages
            cursor = page.next_cursor
            if cursor is None:
                break
        return found


def _settled(read: Callable[[], list[Item]], count: int) -> list[Item]:
    """What `read` gives once it is `count` long, or else after a few seconds."""
    give_up = time.monotonic() + _SETTLING_SECONDS
    while time.monotonic() < give_up:
        with suppress(CheckFailed):  # what is not there yet is an unknown query; the last try counts
            if len(found := read()) >= count:
                return found
        time.sleep(_BETWEEN_READS)
    return read()


def _status(response: httpx.Response) -> str:
    """The status, and what a problem document says of it."""
    detail = json_object(response).get("detail") if response.is_error else None
    return f"{response.status_code} ({detail})" if detail else str(response.status_code)
