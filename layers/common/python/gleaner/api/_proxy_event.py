"""Normalises REST proxy events, which API Gateway sends in several forms."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from gleaner.api.request import JSON
from gleaner.model import JsonObject

_NO_TEXT = "\ufffd"
_MAPS = ("headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters")


def normalise(event: Mapping[str, Any]) -> JsonObject:
    """The event with empty maps instead of nulls, a decoded body, and a path without the stage.

    A body that is not base64 of UTF-8 text becomes one that is not JSON either, so every route rejects it.
    """
    maps = {name: event.get(name) or {} for name in _MAPS}
    maps["headers"] = {name: _content_type(name, value) for name, value in maps["headers"].items() if value}
    return dict(event) | maps | {"body": _body(event), "isBase64Encoded": False, "path": _path(event)}


def _content_type(name: str, value: str) -> str:
    """A content type as the framework compares it; one that no route accepts gets a name it does not know.

    The framework compares prefixes in lower case, and would parse a form.
    """
    if name.lower() != "content-type":
        return value
    media_type = value.partition(";")[0].strip().lower()  # case-insensitive (RFC 9110, section 8.3.1)
    return media_type if media_type in ("", JSON) else f"unsupported/{media_type}"


def base_path(event: Mapping[str, Any]) -> str:
    """The prefix of the path in the URL that the client used: `/stage`, or nothing behind a custom domain."""
    context = event.get("requestContext") or {}
    prefix = f"/{context.get('stage')}"
    return prefix if str(context.get("path") or "").startswith(f"{prefix}/") else ""


def _body(event: Mapping[str, Any]) -> str:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return _NO_TEXT


def _path(event: Mapping[str, Any]) -> str:
    path = str(event.get("path") or "/")
    stage = (event.get("requestContext") or {}).get("stage")
    # Behind a custom domain whose base path is the stage, the path includes the stage.
    return path.removeprefix(f"/{stage}") if stage and path.startswith(f"/{stage}/") else path
