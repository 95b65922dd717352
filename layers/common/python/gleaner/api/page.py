"""Routes that serve the page on which people ask."""

from __future__ import annotations

import json
from functools import cache
from html import escape
from http import HTTPStatus
from importlib.resources import files
from pathlib import PurePosixPath
from string import Template
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Path

from gleaner.api.request import Current
from gleaner.api.routes import Endpoint, Route
from gleaner.errors import UnknownPageFile
from gleaner.runtime.document_storage import DocumentStorage
from gleaner.runtime.sign_in import SignIn

_INDEX = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
# The page's own files and API only, the user pool's origin, where the page fetches tokens, and that of the bucket, to
# which it sends documents. With `require-trusted-types-for` the browser refuses any text that would be parsed as HTML, so
# words from documents and the web stay words.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src {connect}; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_FILE_CACHING = "max-age=300"  # the same for every caller, but new with every deployment


class PageRoutes:
    """GET / and GET /page/{name}."""

    def __init__(self, current: Current, sign_in: SignIn, documents: DocumentStorage) -> None:
        self._current = current
        self._sign_in = sign_in
        self._documents = documents

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        html = {"text/html": {"schema": {"type": "string"}}}
        any_file = {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _TYPES.values()}
        return (
            Route(Endpoint.PAGE, self._index, content=html),
            Route(Endpoint.PAGE_FILE, self._file, content=any_file, raises=(UnknownPageFile,)),
        )

    def _index(self) -> Response[str]:
        sign_in = self._sign_in
        described = {"kind": sign_in.kind, "poolUrl": sign_in.pool_url, "clientId": sign_in.client_id}
        values = {"base": self._current().base_path}
        values |= {"sign_in": json.dumps(described), "scripts": _scripts(sign_in)}
        page = Template(_read(_INDEX)).substitute({name: escape(value) for name, value in values.items()})
        return self._respond(_INDEX, page, "no-cache")

    def _file(self, name: Annotated[str, Path(max_length=100)]) -> Response[str]:
        if name == _INDEX or name not in _names():
            raise UnknownPageFile("The page has no such file.")
        return self._respond(name, _read(name), _FILE_CACHING)

    def _respond(self, name: str, content: str, caching: str) -> Response[str]:
        origins = ["'self'", self._sign_in.pool_url, self._documents.form_origin]
        headers = {
            "Content-Security-Policy": _POLICY.format(connect=" ".join(filter(None, origins))),
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": caching,
        }
        return Response(HTTPStatus.OK.value, _TYPES[PurePosixPath(name).suffix], content, headers=headers)


def _scripts(sign_in: SignIn) -> str:
    """The modules that the page loads in any case; a language has its own, and so has signing in at a user pool."""
    others = () if sign_in.kind == "cognito" else ("cognito.js",)
    scripts = (name for name in sorted(_names()) if name.endswith(".js") and not name.startswith("texts-"))
    return " ".join(name for name in scripts if name not in others)


@cache
def _names() -> frozenset[str]:
    """The files that are served; a path outside their folder is none of them."""
    return frozenset(file.name for file in files("gleaner.page").joinpath("static").iterdir())


@cache
def _read(name: str) -> str:
    return files("gleaner.page").joinpath("static", name).read_text("utf-8")
