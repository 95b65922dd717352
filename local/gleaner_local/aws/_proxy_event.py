"""Turns HTTP requests into the events in which API Gateway's REST APIs hand them to a function."""

from __future__ import annotations

import base64
import re
import time
from collections import defaultdict
from collections.abc import Container
from typing import Any

from starlette.requests import Request

from gleaner.runtime.response_stream import STREAMED
from gleaner_local.aws._caller_key import find_key

_STAGE = "local"
_PROXY = "/{proxy+}"
_STREAMED_PATHS = {resource: re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", resource)) for _, resource in STREAMED}


def to_event(request: Request, body: bytes, request_id: str, named_keys: Container[str] = ()) -> dict[str, Any]:
    """Convert an HTTP request to a REST API proxy event (payload version 1.0).

    The value of the API key serves as its id; without one, the id is `local`. `named_keys`: those that mean
    somebody.
    """
    headers: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in request.headers.items():
        headers[name].append(value)
    query: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in request.query_params.multi_items():
        query[name].append(value)
    text, is_base64 = _encode_body(body)
    resource, parameters = _find_resource(request.method, request.scope["path"])
    return {
        "resource": resource,
        "path": request.scope["path"],
        "httpMethod": request.method,
        "headers": {name: values[-1] for name, values in headers.items()},
        "multiValueHeaders": dict(headers),
        "queryStringParameters": {name: values[-1] for name, values in query.items()} or None,
        "multiValueQueryStringParameters": dict(query) or None,
        "pathParameters": parameters,
        "stageVariables": None,
        "body": text,
        "isBase64Encoded": is_base64,
        "requestContext": {
            "requestId": request_id,
            "stage": _STAGE,
            "httpMethod": request.method,
            "path": request.scope["path"],  # no stage in the URL, as behind a custom domain
            "resourcePath": resource,
            "protocol": "HTTP/1.1",
            "requestTimeEpoch": int(time.time() * 1000),
            "identity": {
                "sourceIp": request.client.host if request.client else "127.0.0.1",
                "userAgent": request.headers.get("user-agent"),
                "apiKeyId": find_key(request.scope["path"], request.headers, named_keys),
            },
        },
    }


def _find_resource(method: str, path: str) -> tuple[str, dict[str, str] | None]:
    """The resource of the deployed API that would take the request, as far as it matters, and the path parameters."""
    for resource, pattern in _STREAMED_PATHS.items():
        if (method, resource) in STREAMED and (match := pattern.fullmatch(path)):
            return resource, match.groupdict() or None
    return (_PROXY, {"proxy": path.lstrip("/")}) if path != "/" else (path, None)


def _encode_body(body: bytes) -> tuple[str | None, bool]:
    """The body as it is in the event, and whether it is base64."""
    if not body:
        return None, False
    try:
        return body.decode(), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True
