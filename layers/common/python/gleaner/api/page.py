"""Routes that serve the page on which people ask."""

from __future__ import annotations

from functools import cache
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

_INDEX = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
# The page's own files and API only. `require-trusted-types-for` makes the browser refuse any text that would be parsed
# as HTML, so words from documents and the web stay words.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_FILE_CACHING = "max-age=300"  # the same for every caller, but new with every deployment


class PageRoutes:
    """GET / and GET /page/{name}."""

    def __init__(self, current: Current, *, upload_path: str) -> None:
        """`upload_path`: where the page sends documents of the reader; empty where the service takes none."""
        self._current = current
        self._upload_path = upload_path

    def routes(self) -> tuple[Route, ...]:
        """The routes."""
        html = {"text/html": {"schema": {"type": "string"}}}
        any_file = {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _TYPES.values()}
        return (
            Route(Endpoint.PAGE, self._index, content=html),
            Route(Endpoint.PAGE_FILE, self._file, content=any_file, raises=(UnknownPageFile,)),
        )

    def _index(self) -> Response[str]:
        page = Template(_read(_INDEX)).substitute(base=self._current().base_path, uploads=self._upload_path)
        return _respond(_INDEX, page, "no-cache")

    def _file(self, name: Annotated[str, Path(max_length=100)]) -> Response[str]:
        if name == _INDEX or name not in _names():
            raise UnknownPageFile("The page has no such file.")
        return _respond(name, _read(name), _FILE_CACHING)


def _respond(name: str, content: str, caching: str) -> Response[str]:
    kind = _TYPES[PurePosixPath(name).suffix]
    return Response(HTTPStatus.OK.value, kind, content, headers=_HEADERS | {"Cache-Control": caching})


@cache
def _names() -> frozenset[str]:
    """The files that are served; a path outside their folder is none of them."""
    return frozenset(file.name for file in files("gleaner.page").joinpath("static").iterdir())


@cache
def _read(name: str) -> str:
    return files("gleaner.page").joinpath("static", name).read_text("utf-8")
