"""The route of the Model Context Protocol: one message in a request, and its response as JSON.

From basic/transports/streamable-http.mdx of the specification of 2026-07-28, and basic/transports.mdx of 2025-11-25.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response

from gleaner.api._request_body import BROKEN_GZIP, MAX_BODY, UNKNOWN_ENCODING
from gleaner.api.invalid import NO_GZIP, UNSUPPORTED_BODY
from gleaner.api.mcp_knowledge_bases import KnowledgeBaseChoice
from gleaner.api.protocols.mcp import json_rpc, message_schemas, versions
from gleaner.api.protocols.mcp.json_rpc import ProtocolError, Reply, Request
from gleaner.api.protocols.mcp.message_schemas import MAX_BATCH
from gleaner.api.protocols.mcp.request_metadata import Headers, version_of_header, version_of_request
from gleaner.api.protocols.mcp.server import Server
from gleaner.api.request import JSON, STORE_FAILURES, Current
from gleaner.api.routes import Endpoint, Route
from gleaner.model import JsonObject

_ACCEPTED = (JSON, "application/*", "*/*")
_REFUSALS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.NOT_ACCEPTABLE,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
_STATUSES = {json_rpc.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND}  # every other error of the protocol is a 400


class _Refusal(Exception):
    """A request that is refused for its headers or its length, before its message is read."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class McpRoutes:
    """POST /mcp. GET and DELETE, which were of sessions, are answered with 405 like every other method."""

    def __init__(
        self, server: Server, choice: KnowledgeBaseChoice, current: Current, *, origins: Sequence[str]
    ) -> None:
        """`origins`: whose pages may call, besides those of the service itself; `*` stands for all."""
        self._server = server
        self._choice = choice
        self._current = current
        self._origins = origins

    def routes(self) -> list[Route]:
        """The route."""
        refused = dict.fromkeys(_REFUSALS, message_schemas.ERROR)
        responses = refused | {HTTPStatus.OK: message_schemas.RESPONSE, HTTPStatus.ACCEPTED: None}
        return [
            Route(Endpoint.MCP, self._post, raises=STORE_FAILURES, body=message_schemas.MESSAGE, responses=responses)
        ]

    def _post(self) -> Response[str]:
        headers, body = self._current().headers, self._current().body
        try:
            self._check_origin(headers)
            _check_media_types(headers)
            _check_body(body)
            value = json_rpc.parse(body)
            return self._answer_batch(value, headers) if isinstance(value, list) else self._answer(value, headers)
        except _Refusal as refusal:
            error = ProtocolError(json_rpc.INVALID_REQUEST, str(refusal))
            return _respond(refusal.status, json_rpc.to_error(error))
        except ProtocolError as error:
            return _respond(_STATUSES.get(error.code, HTTPStatus.BAD_REQUEST), json_rpc.to_error(error))

    def _check_origin(self, headers: Headers) -> None:
        """A page of another site must not call with the rights of its reader.

        Its name may lead here, but then not by HTTPS; who serves HTTP checks the host before.
        """
        own = [f"{scheme}://{host}" for host in headers.get("host", ()) for scheme in ("https", "http")]
        for origin in headers.get("origin", ()):
            if "*" not in self._origins and origin not in (*self._origins, *own):
                raise _Refusal(HTTPStatus.FORBIDDEN, "Pages of this origin may not call the service.")

    def _answer(self, value: Any, headers: Headers) -> Response[str]:
        message = json_rpc.read_message(value)
        if not isinstance(message, Request):
            version = version_of_header(headers)
            if isinstance(message, Reply) and version == versions.CURRENT:
                raise ProtocolError(json_rpc.INVALID_REQUEST, "The server makes no requests that could be answered.")
            return _accepted()
        try:
            version = version_of_request(headers, message)
        except ProtocolError as error:
            error.request_id = message.id
            raise
        response = self._respond_to(message, version)
        code = response.get("error", {}).get("code")
        # Before 2026-07-28 an error of a method was a response like any other.
        is_failure = code is not None and version == versions.CURRENT
        return _respond(_STATUSES.get(code, HTTPStatus.BAD_REQUEST) if is_failure else HTTPStatus.OK, response)

    def _answer_batch(self, values: list[Any], headers: Headers) -> Response[str]:
        version = version_of_header(headers)
        if version not in versions.WITH_BATCHES:
            raise ProtocolError(json_rpc.INVALID_REQUEST, "This version of the protocol has no batches.")
        if not 0 < len(values) <= MAX_BATCH:
            raise ProtocolError(json_rpc.INVALID_REQUEST, f"A batch has 1 to {MAX_BATCH} messages.")
        responses, has_called = [], False
        for value in values:
            try:
                message = json_rpc.read_message(value)
            except ProtocolError as error:
                responses.append(json_rpc.to_error(error))
                continue
            if isinstance(message, Request):
                is_second_call = has_called and message.method == "tools/call"
                has_called = has_called or message.method == "tools/call"
                responses.append(_one_call_only(message) if is_second_call else self._respond_to(message, version))
        return _respond(HTTPStatus.OK, responses) if responses else _accepted()

    def _respond_to(self, request: Request, version: str) -> JsonObject:
        try:
            return json_rpc.to_response(request.id, self._server.answer(request, version, self._choice.describe))
        except ProtocolError as error:
            return json_rpc.to_error(error, request.id)


def _check_media_types(headers: Headers) -> None:
    [sent] = headers.get("content-type", ())[-1:] or [""]
    if sent.partition(";")[0].strip().lower() != JSON:
        raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_BODY)
    accepted = [part for value in headers.get("accept", ()) for part in value.split(",")]
    if accepted and not any(part.partition(";")[0].strip().lower() in _ACCEPTED for part in accepted):
        raise _Refusal(HTTPStatus.NOT_ACCEPTABLE, f"The response is {JSON}, which the header Accept must list.")


def _check_body(body: str) -> None:
    if len(body) > MAX_BODY:
        detail = f"The body has more than {MAX_BODY:,} characters. Send less."
        raise _Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, detail)
    if body == UNKNOWN_ENCODING:
        raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_BODY)
    if body == BROKEN_GZIP:
        raise _Refusal(HTTPStatus.BAD_REQUEST, f"The body {NO_GZIP}.")


def _one_call_only(request: Request) -> JsonObject:
    # A question has the time, the id and the price of one request.
    error = ProtocolError(json_rpc.INVALID_REQUEST, "A batch has one tool call. Send this one by itself.")
    return json_rpc.to_error(error, request.id)


def _accepted() -> Response[str]:
    return Response(HTTPStatus.ACCEPTED.value, body="")


def _respond(status: HTTPStatus, value: Any) -> Response[str]:
    return Response(status.value, JSON, json.dumps(value))
