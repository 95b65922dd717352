"""The list of routes: every one is served, described and documented."""

from __future__ import annotations

import re
from pathlib import Path

from gleaner.api.routes import Endpoint
from tests.conftest import Client

DOCUMENT = Path(__file__).parents[2] / "docs" / "08-http-api.md"
ROUTES = {(endpoint.method, re.sub(r"<(\w+)>", r"{\1}", endpoint.path)) for endpoint in Endpoint}


def without_names(path: str) -> str:
    """The path with `{}` for each parameter: documents may give parameters shorter names."""
    return re.sub(r"{\w+}", "{}", path)


def test_no_route_is_listed_twice() -> None:
    assert len({(method, without_names(path)) for method, path in ROUTES}) == len(Endpoint)


def test_the_listed_routes_are_those_that_are_served(client: Client) -> None:
    paths = client.request("GET", "/openapi.json")[1]["paths"]
    assert {(method.upper(), path) for path, operations in paths.items() for method in operations} == ROUTES


def test_the_listed_routes_are_those_that_are_documented() -> None:
    rows = [line.split("|")[1] for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    documented: set[tuple[str, str]] = set()
    for row in rows:
        methods: list[str] = []
        for code in re.findall(r"`([^`]+)`", row):  # such as `GET`, `DELETE /api/sessions/{id}`
            method, _, path = code.partition(" ")
            methods.append(method)
            if path.startswith("/"):
                documented |= {(method, without_names(path)) for method in methods}
                methods = []
    assert documented == {(method, without_names(path)) for method, path in ROUTES}
