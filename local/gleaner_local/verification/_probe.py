"""Calls a service, checks the form of its answers, and keeps track of the sessions that it created."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from types import MappingProxyType
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

_SETTLING_SECONDS = 3.0  # lists are eventually consistent: a recent write may be missing at first
_POLL_SECONDS = 0.2
_MAX_SHORT_CHARS = 60

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")


class CheckFailed(Exception):
    """The service broke a promise; the message says what was seen."""


class Skipped(Exception):
    """The check cannot run here; the message says why."""


def expect(condition: bool, message: str) -> None:
    """Raise CheckFailed with `message` unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def short(text: str) -> str:
    """The beginning of a text, on one line and in quotes."""
    line = " ".join(text.split())
    return f'"{line}"' if len(line) <= _MAX_SHORT_CHARS else f'"{line[:_MAX_SHORT_CHARS].rstrip()}…"'


class Probe:
    """One caller of the service. Methods raise CheckFailed, or CallFailed when no answer arrives."""

    def __init__(self, client: ApiClient, *, kb_id: str | None) -> None:
        self._client = client
        self._kb = {"kb_id": kb_id} if kb_id else {}
        self.sessions: list[str] = []  # created here and not yet deleted

    def call(
        self,
        method: str,
        path: str,
        model: type[Model],
        *,
        status: int = HTTPStatus.OK,
        skipping: Mapping[int, str] = MappingProxyType({}),
        **request: Any,
    ) -> Model:
        """Send a request; the answer must have this status and fit this model.

        Raises Skipped with a reason for one of the statuses in `skipping`.
        """
        response = self._client.send(method, path, **request)
        if response.status_code in skipping:
            raise Skipped(skipping[response.status_code])
        expect(response.status_code == status, f"{method} {path}: status {_status(response)} instead of {status}")
        try:
            return model.model_validate_json(response.content)
        except ValidationError as error:
            first = error.errors()[0]
            [invalid] = invalid_fields([first | {"loc": ("body", *first["loc"])}])
            raise CheckFailed(f"{method} {path}: {invalid.field} {invalid.message}") from error

    def expect_refusal(self, method: str, path: str, status: int, slug: str | None = None, **request: Any) -> None:
        """Send a request; the answer must be a problem document of this status and, with `slug`, of this type."""
        response = self._client.send(method, path, **request)
        request_line = f"{method} {path}"
        expect(response.status_code == status, f"{request_line}: status {_status(response)} instead of {status}")
        content_type = response.headers.get("content-type", "")
        expect(content_type.startswith(CONTENT_TYPE), f"{request_line}: content type {content_type or 'missing'}")
        problem = json_object(response)
        for field in ("type", "title", "status", "detail", "query_id"):
            expect(field in problem, f"{request_line}: the problem has no {field}")
        has_type = slug is None or problem["type"] == f"{TYPE_PREFIX}{slug}"
        expect(has_type, f"{request_line}: type {problem['type']}, not {slug}")

    @property
    def url(self) -> str:
        """The address of the service."""
        return self._client.url

    def delete(self, path: str, **request: Any) -> None:
        """Delete what was created here; the service may finish later."""
        response = self._client.send("DELETE", path, **request)
        expect(response.is_success, f"DELETE {path}: status {_status(response)}")

    def ask(self, query: str, **fields: Any) -> ChatAnswer:
        """Ask a question, in the session that `session_id` names or in a new one."""
        answer = self.call("POST", "/api/chat/query", ChatAnswer, json=self._kb | {"query": query} | fields)
        if answer.session_id is not None and answer.session_id not in self.sessions:
            self.sessions.append(answer.session_id)
        return answer

    def create_session(self) -> str:
        """Create a session; returns its id."""
        session = self.call("POST", "/api/sessions", SessionItem, status=HTTPStatus.CREATED, json={})
        self.sessions.append(session.session_id)
        return session.session_id

    def delete_session(self, session_id: str) -> None:
        """Delete a session that was created here."""
        path = f"/api/sessions/{session_id}"
        response = self._client.send("DELETE", path)
        expected = HTTPStatus.NO_CONTENT
        expect(response.status_code == expected, f"DELETE {path}: status {_status(response)} instead of {expected}")
        self.sessions.remove(session_id)

    def take_turn(self, session_id: str, query: str) -> list[tuple[str, str]]:
        """Ask in a session; returns the two messages (role, content) that its history must now end with."""
        path = f"/api/sessions/{session_id}/chat"
        message = self.call("POST", path, TurnAnswer, json=self._kb | {"query": query}).message
        return [("user", query), (message.role, message.content)]

    def read_tool_calls(self, query_id: str, count: int) -> list[ToolCallItem]:
        """Read the recorded tool calls of a query; `count` are expected."""
        path = f"/api/queries/{query_id}/tool-calls"
        return _poll(lambda: self.call("GET", path, ToolCallPage).tool_calls, count)

    def read_messages(self, session_id: str, *, count: int, page_size: int) -> list[MessageItem]:
        """Read all messages of a session, page by page; `count` are expected."""
        return _poll(lambda: self._read_pages(session_id, count, page_size), count)

    def _read_pages(self, session_id: str, count: int, page_size: int) -> list[MessageItem]:
        path = f"/api/sessions/{session_id}/messages"
        messages: list[MessageItem] = []
        cursor: str | None = None
        while len(messages) <= count:  # bounds a list that never ends
            position = {"cursor": cursor} if cursor else {}
            page = self.call("GET", path, MessagePage, params=position | {"limit": str(page_size)})
            expect(len(page.messages) <= page_size, f"a page of {page_size} holds {len(page.messages)} messages")
            messages += page.messages
            cursor = page.next_cursor
            if cursor is None:
                break
        return messages


def _poll(read: Callable[[], list[Item]], count: int) -> list[Item]:
    """Call `read` until it returns `count` items; after a few seconds, return what there is."""
    give_up_at = time.monotonic() + _SETTLING_SECONDS
    while time.monotonic() < give_up_at:
        with suppress(CheckFailed):  # the query may be unknown until its records arrive
            if len(items := read()) >= count:
                return items
        time.sleep(_POLL_SECONDS)
    return read()


def _status(response: httpx.Response) -> str:
    """The status, with the detail of a problem document."""
    detail = json_object(response).get("detail") if response.is_error else None
    return f"{response.status_code} ({detail})" if detail else str(response.status_code)
