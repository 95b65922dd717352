"""Reads of stores whose last page differs from DynamoDB's."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gleaner.runtime.deadline import Deadline
from gleaner.stores import dynamodb, schema
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import ministack
from gleaner_local.servers.asgi import AsgiServer

ITEMS = [{"pk": {"S": "P"}, "sk": {"S": "1"}}]


@pytest.fixture
def requests() -> list[str]:
    return []


@pytest.fixture
def table(requests: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """A table of a service that ends every read with an empty key, as some emulators of DynamoDB do."""

    async def read(request: Request) -> Response:
        requests.append(request.headers["x-amz-target"])
        page = {"Items": ITEMS if len(requests) == 1 else [], "Count": 1, "LastEvaluatedKey": {}}
        return Response(json.dumps(page), media_type="application/x-amz-json-1.0")

    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    server = AsgiServer(Starlette(routes=[Route("/", read, methods=["POST"])]))
    server.start()
    yield Table(dynamodb.connect(endpoint_url=server.url), "table")
    server.stop()


def test_an_empty_key_ends_a_read_of_a_partition(table: Table, requests: list[str]) -> None:
    items = table.query_all(partition="P", begins_with="", limit=None, deadline=Deadline.after(20))
    assert (items, len(requests)) == ([{"pk": "P", "sk": "1"}], 1)


def test_an_empty_key_ends_a_page_of_an_index(table: Table, requests: list[str]) -> None:
    index = schema.KEYWORDS.indexes[0]
    items = table.query_index(
        index, partition="P", position=lambda item: (item["sk"],), after=None, limit=9, deadline=Deadline.after(20)
    )
    assert (items, len(requests)) == ([{"pk": "P", "sk": "1"}], 1)


def test_an_empty_key_ends_an_iteration_over_an_index(table: Table, requests: list[str]) -> None:
    index = schema.KEYWORDS.indexes[0]
    items = table.iter_oldest(index, partition="P", before="9", page=9, deadline=Deadline.after(20))
    assert (list(items), len(requests)) == ([{"pk": "P", "sk": "1"}], 1)
