"""Messages of JSON-RPC 2.0 as MCP restricts them: ids are strings or integers, parameters are objects.

From basic/index.mdx of the specification of 2026-07-28, whose error codes are the same in earlier versions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from gleaner.model import JsonObject

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
UNSUPPORTED_PROTOCOL_VERSION = -32022

Id = str | int


class ProtocolError(Exception):
    """A message that cannot be served. `request_id` is that of the message, as far as it could be read."""

    def __init__(
        self, code: int, message: str, *, request_id: Id | None = None, data: JsonObject | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id
        self.data = data


@dataclass(frozen=True, slots=True)
class Request:
    """A message that is answered."""

    id: Id
    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Notification:
    """A message that is only accepted."""

    method: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The client's response to a request of a server. This one makes none."""


Message = Request | Notification | Reply


def parse(body: str) -> Any:
    """The JSON value of a body. Raises ProtocolError."""
    try:
        return json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError):  # malformed, or a number with thousands of digits; nested too deeply
        raise ProtocolError(PARSE_ERROR, "The body is not JSON.") from None


def read_message(value: Any) -> Message:
    """The message that a JSON value is. Raises ProtocolError."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, "The body must be one message of JSON-RPC 2.0.")
    request_id = value.get("id")
    known_id = request_id if _is_id(request_id) else None
    method, params = value.get("method"), value.get("params", {})
    if "method" not in value and ("result" in value or "error" in value):
        return Reply()
    if not isinstance(method, str) or not isinstance(params, dict):
        detail = "A message needs a method, and its params must be an object."
        raise ProtocolError(INVALID_REQUEST, detail, request_id=known_id)
    if "id" not in value:
        return Notification(method)
    if known_id is None:
        raise ProtocolError(INVALID_REQUEST, "The id of a request must be a string or an integer.")
    return Request(known_id, method, params)


def to_response(request_id: Id, result: JsonObject) -> JsonObject:
    """The response to a request that succeeded."""
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def to_error(error: ProtocolError, request_id: Id | None = None) -> JsonObject:
    """The response to a message that cannot be served; `request_id` applies if the error knows none."""
    details: JsonObject = {"code": error.code, "message": str(error)}
    if error.data is not None:
        details["data"] = error.data
    known_id = request_id if error.request_id is None else error.request_id
    return {"jsonrpc": "2.0", "id": known_id, "error": details}


def _is_id(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
