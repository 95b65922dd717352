"""REST proxy events as API Gateway really sends them, brought into one form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from gleaner.api.request import JSON
from gleaner.model import JsonObject

_NO_TEXT = "\ufffd"
_MAPS = ("headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters")


def normalised(event: Mapping[str, Any]) -> JsonObject:
    """The event with maps for nulls, its body decoded, and its path without the stage.

    A body that is no base64 of UTF-8 text becomes one that is no JSON either, so that no route takes it.
    """
    maps = {name: event.get(name) or {} for name in _MAPS}
    maps["headers"] = {name: _content_type(name, value) for name, value in maps["headers"].items() if value}
    return dict(event) | maps | {"body": _body(event), "isBase64Encoded": False, "path": _path(event)}


def _content_type(name: str, value: str) -> str:
    """A content type in the form that the framework compares; one that no route takes gets a name it does not know.

    It compares the beginning of the text, in lower case, and would read a form.
    """
    if name.lower() != "content-type":
        return value
    media_type = value.partition(";")[0].strip().lower()  # case does not matter in it (RFC 9110, section 8.3.1)
    return media_type if media_type in ("", JSON) else f"unsupported/{media_type}"


def base_path(event: Mapping[str, Any]) -> str:
    """What stands before the path in the URL that the client used: `/stage`, or nothing behind a custom domain."""
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
    # Behind a custom domain whose base path is the stage, the stage stands in the path.
    return path.removeprefix(f"/{stage}") if stage and path.startswith(f"/{stage}/") else path
