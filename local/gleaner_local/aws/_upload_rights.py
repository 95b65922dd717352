"""Asks the function whether a caller may use the knowledge base that a document is sent to."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request

_BODY_HEADERS = frozenset((b"content-type", b"content-length", b"content-encoding", b"transfer-encoding"))


def to_listing(upload: Request) -> Request:
    """The request of the same caller for a document of that knowledge base: it is refused where the API refuses it."""
    kb_id = upload.query_params.get("kb_id")
    query = urlencode({"limit": 1} | ({"kb_id": kb_id} if kb_id else {}))
    headers = [(name, value) for name, value in upload.scope["headers"] if name.lower() not in _BODY_HEADERS]
    listing = {"method": "GET", "path": "/api/documents", "query_string": query.encode(), "headers": headers}
    return Request({**upload.scope, **listing})
