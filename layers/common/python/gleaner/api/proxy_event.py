"""REST proxy events as API Gateway really sends them, brought into one form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from gleaner.model import JsonObject

_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
_MAPS = ("headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters")


def normalised(event: Mapping[str, Any]) -> JsonObject:
    """The event with maps for nulls, its body decoded, and its path without the stage.

    A body that is no base64 of UTF-8 text becomes an empty one, which every route that takes a body refuses.
    """
    maps = {name: event.get(name) or {} for name in _MAPS}
    maps["headers"] = {name: _content_type(name, value) for name, value in maps["headers"].items()}
    return dict(event) | maps | {"body": _body(event), "isBase64Encoded": False, "path": _path(event)}


def _content_type(name: str, value: str) -> str:
    # No route takes a form. The framework would read one; a type that it does not know it refuses, as it should.
    is_form = name.lower() == "content-type" and value.strip().startswith(_FORMS)
    return f"unsupported/{value.strip()}" if is_form else value


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
        return ""


def _path(event: Mapping[str, Any]) -> str:
    path = str(event.get("path") or "/")
    stage = (event.get("requestContext") or {}).get("stage")
    # Behind a custom domain whose base path is the stage, the stage stands in the path.
    return path.removeprefix(f"/{stage}") if stage and path.startswith(f"/{stage}/") else path
