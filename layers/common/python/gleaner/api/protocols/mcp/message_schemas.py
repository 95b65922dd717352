"""JSON schemas of the messages, for the description of the API."""

from __future__ import annotations

from gleaner.model import JsonObject

MAX_BATCH = 20  # messages of one array; they share one deadline
_ID = {"type": ["string", "integer"]}
_VERSION = {"const": "2.0"}
_REQUEST: JsonObject = {
    "type": "object",
    "required": ["jsonrpc", "method"],
    "properties": {
        "jsonrpc": _VERSION,
        "id": _ID | {"description": "Left out in a notification."},
        "method": {"type": "string", "examples": ["tools/list", "tools/call"]},
        "params": {"type": "object"},
    },
}
_REPLY: JsonObject = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {"jsonrpc": _VERSION, "method": False},
    "anyOf": [{"required": ["result"]}, {"required": ["error"]}],
    "description": "A response to a request of the server, which makes none.",
}
_BATCH: JsonObject = {
    "type": "array",
    "minItems": 1,
    "maxItems": MAX_BATCH,
    "items": {},
    "description": "Messages, before 2025-06-18 only. Each is answered for itself, also if it is none.",
}
MESSAGE: JsonObject = {
    "anyOf": [_REQUEST, _REPLY, _BATCH],
    "description": "A message of the Model Context Protocol.",
}
ERROR: JsonObject = {
    "type": "object",
    "required": ["jsonrpc", "id", "error"],
    "properties": {
        "jsonrpc": _VERSION,
        "id": {"type": ["string", "integer", "null"]},
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {"type": "object"}},
        },
    },
}
_RESULT: JsonObject = {
    "type": "object",
    "required": ["jsonrpc", "id", "result"],
    "properties": {"jsonrpc": _VERSION, "id": _ID, "result": {"type": "object"}},
}
RESPONSE: JsonObject = {"anyOf": [_RESULT, ERROR, {"type": "array", "items": {"anyOf": [_RESULT, ERROR]}}]}
