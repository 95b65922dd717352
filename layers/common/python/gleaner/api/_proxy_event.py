"""Normalises REST proxy events, which API Gateway sends in several forms."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gleaner.api._request_body import UNKNOWN_ENCODING, UnsupportedEncoding, decode_body
from gleaner.api.request import JSON
from gleaner.model import JsonObject

_HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?", re.ASCII)
_UNSUPPORTED = "unsupported/encoding"
_MAPS = ("headers", "multiValueHeaders", "queryStringParameters", "multiValueQueryStringParameters")


def normalise(event: Mapping[str, Any]) -> JsonObject:
    """The event with empty maps instead of nulls, a decoded body, and the path of a route.

    HEAD becomes GET. A body in an unsupported encoding gets a content type that no route accepts.
    """
    maps = {name: event.get(name) or {} for name in _MAPS}
    maps["headers"] = {name: _content_type(name, value) for name, value in maps["headers"].items() if value}
    try:
        body = decode_body(event)
    except UnsupportedEncoding:
        body, maps["headers"] = UNKNOWN_ENCODING, maps["headers"] | {"content-type": _UNSUPPORTED}
    method = "GET" if is_head(event) else event.get("httpMethod")
    return dict(event) | maps | {"body": body, "isBase64Encoded": False, "path": _path(event), "httpMethod": method}


def is_head(event: Mapping[str, Any]) -> bool:
    """Whether the response must have no body."""
    return event.get("httpMethod") == "HEAD"


def _content_type(name: str, value: str) -> str:
    """A content type as the framework compares it; one that no route accepts gets a name it does not know.

    The framework compares prefixes in lower case, and would parse a form.
    """
    if name.lower() != "content-type":
        return value
    media_type = value.partition(";")[0].strip().lower()  # case-insensitive (RFC 9110, section 8.3.1)
    return media_type if media_type in ("", JSON) else f"unsupported/{media_type}"


def base_path(event: Mapping[str, Any]) -> str:
    """What precedes the path of the route in the client's URL: the stage, or the base path of a custom domain."""
    full_path, path = str((event.get("requestContext") or {}).get("path") or ""), _path(event)
    if path == "/":
        segments = full_path.strip("/")  # the URL of the root may lack the final slash
        return f"/{segments}" if segments else ""
    return full_path.removesuffix(path) if full_path.endswith(path) else ""


def header_values(event: Mapping[str, Any]) -> dict[str, list[str]]:
    """All values of each header, by its name in lower case."""
    single = {name: [value] for name, value in (event.get("headers") or {}).items() if value is not None}
    many = event.get("multiValueHeaders") or single
    values: defaultdict[str, list[str]] = defaultdict(list)
    for name, sent in many.items():
        values[name.lower()] += map(str, sent)
    return dict(values)


def origin(event: Mapping[str, Any]) -> str:
    """Scheme and host in the client's URL, as far as the request tells; empty if it does not.

    A proxy before this service names both in headers of its own. API Gateway names the scheme, and its domain as host.
    """
    headers = {name.lower(): str(value) for name, value in (event.get("headers") or {}).items() if value}
    domain = (event.get("requestContext") or {}).get("domainName")
    host = _first(headers.get("x-forwarded-host") or headers.get("host") or str(domain or ""))
    scheme = _first(headers.get("x-forwarded-proto") or "http")
    return f"{scheme}://{host}" if _HOST.fullmatch(host) and scheme in ("http", "https") else ""


def _first(value: str) -> str:
    """The first of the values that several proxies wrote: the one nearest to the client."""
    return value.partition(",")[0].strip()


def _path(event: Mapping[str, Any]) -> str:
    """The path of the route.

    Behind a custom domain the path includes the base path of its mapping, which may have several parts. The resource
    with its parameters does not.
    """
    path = str(event.get("path") or "/")
    resource = str(event.get("resource") or "/{proxy+}")
    if resource == "/":
        return resource
    for name, value in (event.get("pathParameters") or {}).items():
        if value:
            resource = resource.replace(f"{{{name}+}}", str(value)).replace(f"{{{name}}}", str(value))
    if len(resource) > 1 and path.rstrip("/").endswith(resource.rstrip("/")):
        return resource
    stage = (event.get("requestContext") or {}).get("stage")
    return path.removeprefix(f"/{stage}") if stage and path.startswith(f"/{stage}/") else path
