"""Calls by tool and by status are spread over partitions, and still form one list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_item
from gleaner.stores.tool_calls import Place, ToolCallRecord, ToolCallStore
from gleaner_local.aws import ministack
from tests.examples import examples

START = datetime(2026, 11, 29, tzinfo=UTC)
CALL = ToolCallRecord(
    query_id="",
    session_id=None,
    owner="key:ann",
    position=0,
    tool_call_id="c",
    tool_name="",
    parameters="{}",
    result="{}",
    status="success",
    error_message=None,
    duration_ms=1.0,
    retry_count=0,
    created_at=START,
)
RUNS = count()


@dataclass(frozen=True)
class Calls:
    """A tool calls table, and its items as earlier versions wrote them."""

    client: Any
    name: str
    store: ToolCallStore

    def record(self, call: ToolCallRecord) -> None:
        self.store.record(call, deadline=Deadline.after(10))

    def record_as_before(self, call: ToolCallRecord) -> None:
        item: Mapping[str, Any] = schema.tool_call_key(call.query_id, call.position) | {
            name: getattr(call, name) for name in ToolCallRecord.__dataclass_fields__
        }
        self.client.put_item(TableName=self.name, Item=to_item({name: item[name] for name in item if item[name] != ()}))

    def pages(self, index: schema.Index, value: str, size: int) -> list[list[tuple[Place, ToolCallRecord]]]:
        """All pages, each with at most `size` calls."""
        pages: list[list[tuple[Place, ToolCallRecord]]] = []
        after: Place | None = None
        while page := self.store.list_recent(index, value, limit=size, after=after, deadline=Deadline.after(10)):
            pages.append(page)
            after = page[-1][0]
        return pages


@pytest.fixture(scope="module")
def tool_calls(dynamodb_url: str) -> Iterator[Calls]:
    name = "tool-call-index"
    client = ministack.admin_client(dynamodb_url)
    ministack.create_tables(client, {name: schema.TOOL_CALLS})
    with ThreadPoolExecutor(5) as executor:
        yield Calls(client, name, ToolCallStore(Table(client, name), executor))


def query_ids(pages: Sequence[Sequence[tuple[Place, ToolCallRecord]]]) -> list[str]:
    return [call.query_id for page in pages for _, call in page]


@settings(max_examples=examples(15, 100))
@given(
    calls=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), max_size=12),
    size=st.integers(1, 5),
)
def test_pages_are_the_plain_order_of_all_calls(
    tool_calls: Calls, calls: list[tuple[int, int, bool]], size: int
) -> None:
    """Few moments, so that many calls share one; some calls are of an earlier version."""
    tool = f"tool_{next(RUNS)}"
    expected = []
    for number, (second, position, is_former) in enumerate(calls):
        call = replace(
            CALL,
            query_id=f"{tool}-{number}",
            position=position,
            tool_name=tool,
            created_at=START + timedelta(seconds=second),
        )
        (tool_calls.record_as_before if is_former else tool_calls.record)(call)
        key = schema.tool_call_key(call.query_id, position)
        expected.append((call.created_at, key["pk"], key["sk"], call.query_id))
    pages = tool_calls.pages(schema.BY_TOOL, tool, size)
    assert query_ids(pages) == [query_id for *_, query_id in sorted(expected, reverse=True)]
    assert all(len(page) == size for page in pages[:-1])
    assert all(call.tool_name == tool and call.status == "success" for page in pages for _, call in page)


def test_calls_of_one_status_are_in_several_partitions(tool_calls: Calls) -> None:
    for number in range(40):
        tool_calls.record(replace(CALL, query_id=f"spread-{number}", tool_name="spread", status="error"))
    items = tool_calls.client.scan(TableName=tool_calls.name)["Items"]
    used = {item["status"]["S"] for item in items if item["query_id"]["S"].startswith("spread-")}
    assert used == set(schema.call_partitions("error")[1:])
    assert len(query_ids(tool_calls.pages(schema.BY_STATUS, "error", 7))) == 40


@pytest.mark.parametrize("invented", ["x#03", "x#", "#", "x#y#00"])
def test_a_name_that_looks_like_a_partition_leads_to_its_own_calls_only(tool_calls: Calls, invented: str) -> None:
    tool_calls.record(replace(CALL, query_id=f"real-{invented}", tool_name="x"))
    tool_calls.record(replace(CALL, query_id=f"invented-{invented}", tool_name=invented))
    found = query_ids(tool_calls.pages(schema.BY_TOOL, invented, 50))
    assert f"invented-{invented}" in found
    assert not [query_id for query_id in found if query_id.startswith("real-")]
