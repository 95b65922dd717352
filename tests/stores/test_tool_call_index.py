"""Calls are in items of several forms, spread over partitions, and still form one list by session, tool or status."""

from __future__ import annotations

import random
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
from gleaner.stores.items import to_item, to_timestamp
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.tool_calls import Place, ToolCallRecord, ToolCallStore, redacted, to_items
from gleaner.tools.registry import TOOLS
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
RUNS = count(1)  # other tests use the day before


@dataclass(frozen=True)
class Calls:
    """A tool calls table, and what earlier versions wrote into it."""

    client: Any
    name: str
    store: ToolCallStore

    def record(self, *calls: ToolCallRecord, is_compact: bool = True) -> list[str]:
        """Store calls of one question, and return the sort keys of their items."""
        items = to_items([redacted(call) for call in calls], is_compact=is_compact)
        for item in items:
            self.store.record(item, deadline=Deadline.after(30))
        return [item["sk"] for item in items]

    def record_without_shards(self, *calls: ToolCallRecord) -> None:
        for call in calls:
            item: Mapping[str, Any] = schema.tool_call_key(call.query_id, call.position) | {
                name: getattr(call, name) for name in ToolCallRecord.__dataclass_fields__
            }
            filled = {name: value for name, value in item.items() if value != ()}
            self.client.put_item(TableName=self.name, Item=to_item(filled))

    def record_in(self, form: str, calls: Sequence[ToolCallRecord]) -> None:
        """Store calls of one question in one of three forms."""
        if form == "without shards":
            self.record_without_shards(*calls)
        else:
            self.record(*calls, is_compact=form == "compact")

    def pages(self, index: schema.Index, value: str, size: int) -> list[list[tuple[Place, ToolCallRecord]]]:
        """All pages, each with at most `size` calls."""
        pages: list[list[tuple[Place, ToolCallRecord]]] = []
        after: Place | None = None
        while page := self.store.list_recent(index, value, limit=size, after=after, deadline=Deadline.after(30)):
            pages.append(page)
            after = page[-1][0]
        return pages

    def of_query(self, query_id: str, size: int) -> list[ToolCallRecord]:
        """The calls of a query on pages of at most `size`."""
        calls: list[ToolCallRecord] = []
        after = ""
        while page := self.store.list_for_query(
            query_id, CALL.owner, limit=size, after=after, deadline=Deadline.after(30)
        ):
            assert len(page) <= size
            calls += [call for _, call in page]
            after = page[-1][0]
        return calls


@pytest.fixture(scope="module")
def tool_calls(dynamodb_url: str) -> Iterator[Calls]:
    name = "tool-call-index"
    client = ministack.admin_client(dynamodb_url)
    ministack.create_tables(client, {name: schema.TOOL_CALLS})
    table = Table(client, name)
    with ThreadPoolExecutor(8) as executor:
        yield Calls(client, name, ToolCallStore(table, executor, KeywordLayout(table)))


@dataclass(frozen=True)
class Asked:
    """A question for an example."""

    form: str
    tools: tuple[int, ...]  # of each call
    failed: tuple[bool, ...]
    second: int  # of its last call

    def calls(self, run: str, number: int) -> list[ToolCallRecord]:
        """Its calls, whose tools are named as the lists of an example need them."""
        names = [*schema.USUAL_TOOLS, *schema.OCCASIONAL_TOOLS, f"{run}_made_up", f"{run}_made_up_too"]
        return [
            replace(
                CALL,
                query_id=f"{run}-{number}",
                session_id=run,
                position=position,
                tool_name=names[tool],
                status="error" if has_failed else "success",
                created_at=START + timedelta(days=number_of(run), seconds=min(position, self.second)),
            )
            for position, (tool, has_failed) in enumerate(zip(self.tools, self.failed, strict=False))
        ]


def query_ids(pages: Sequence[Sequence[tuple[Place, ToolCallRecord]]]) -> list[str]:
    return [call.query_id for page in pages for _, call in page]


def number_of(run: str) -> int:
    """Runs are on different days, so that a list of one begins where another ends."""
    return int(run.rpartition("_")[2])


QUESTIONS = st.builds(
    Asked,
    form=st.sampled_from(["compact", "compact", "with shards", "without shards"]),
    tools=st.lists(st.integers(0, 5), min_size=1, max_size=4).map(tuple),
    failed=st.tuples(*[st.booleans()] * 4),
    second=st.integers(0, 2),
)


def places(asked: Asked, calls: Sequence[ToolCallRecord]) -> list[tuple[Place, ToolCallRecord]]:
    """Where each call belongs: those of a compact item stand where its last one is."""
    last = max(call.created_at for call in calls)
    keys = [schema.tool_call_key(call.query_id, call.position) for call in calls]
    times = [to_timestamp(last if asked.form == "compact" else call.created_at) for call in calls]
    return [((time, key["pk"], key["sk"]), call) for time, key, call in zip(times, keys, calls, strict=True)]


@settings(max_examples=examples(10, 60))
@given(questions=st.lists(QUESTIONS, max_size=6), size=st.integers(1, 5))
def test_every_list_has_all_of_its_calls_once_in_order(tool_calls: Calls, questions: list[Asked], size: int) -> None:
    """Few moments, so that many calls share one, and items of all forms. Most lists hold calls of other runs, too."""
    run = f"run_{next(RUNS)}"
    expected: list[tuple[Place, ToolCallRecord]] = []
    for number, asked in enumerate(questions):
        calls = asked.calls(run, number)
        tool_calls.record_in(asked.form, calls)
        expected += places(asked, calls)
        assert tool_calls.of_query(calls[0].query_id, size) == calls
    expected.sort(key=lambda one: one[0], reverse=True)
    tools = [schema.USUAL_TOOLS[0], schema.OCCASIONAL_TOOLS[0], f"{run}_made_up"]
    by_tool = [(schema.BY_TOOL, tool) for tool in tools]
    by_status = [(schema.BY_STATUS, status) for status in ("success", "error")]
    for index, value in [(schema.BY_SESSION, run), *by_tool, *by_status]:
        wanted = [one for one in expected if getattr(one[1], index.partition_key) == value]
        first = (to_timestamp(START + timedelta(days=number_of(run) + 1)), "\uffff", "\uffff")
        listed = take(tool_calls, index, value, size, after=first, count=len(wanted))
        assert listed == wanted
    assert all(len(page) == size for page in tool_calls.pages(schema.BY_SESSION, run, size)[:-1])


def take(
    tool_calls: Calls, index: schema.Index, value: str, size: int, *, after: Place, count: int
) -> list[tuple[Place, ToolCallRecord]]:
    """The calls of this run in a list, whose next one is of another run, or none."""
    listed: list[tuple[Place, ToolCallRecord]] = []
    day = after[0]
    while len(listed) <= count:
        page = tool_calls.store.list_recent(index, value, limit=size, after=after, deadline=Deadline.after(30))
        listed += page
        if len(page) < size:
            break
        after = page[-1][0]
    previous = to_timestamp(datetime.fromisoformat(day) - timedelta(days=1))
    return [one for one in listed if one[0][0] >= previous]


def test_failed_calls_and_the_calls_of_one_tool_are_in_several_partitions(tool_calls: Calls) -> None:
    for number in range(40):
        tool_calls.record(replace(CALL, query_id=f"spread-{number}", tool_name="spread", status="error"))
        tool_calls.record(
            replace(CALL, query_id=f"former-{number}", tool_name="spread", status="error"), is_compact=False
        )
    items = tool_calls.client.scan(TableName=tool_calls.name)["Items"]
    for first in ("spread", "former"):
        spread = [item for item in items if item["pk"]["S"].startswith(f"Q#{first}-")]
        assert {item["status"]["S"] for item in spread} == set(schema.call_partitions("error")[1:])
        assert len({item["tool_name"]["S"] for item in spread}) == schema.CALL_SHARDS
    found = query_ids(tool_calls.pages(schema.BY_TOOL, "spread", 7))
    assert len(found) == len(set(found)) == 80


def test_a_partition_tells_every_tool_that_is_not_usual() -> None:
    assert {*schema.USUAL_TOOLS, *schema.OCCASIONAL_TOOLS} == set(TOOLS)
    for tool in schema.OCCASIONAL_TOOLS:
        others = [other for other in TOOLS if other != tool]
        assert schema.question_partition(others, "q") not in schema.question_partitions(tool)
        assert schema.question_partition(TOOLS, "q") in schema.question_partitions(tool)
    assert schema.question_partition(TOOLS, "q") not in schema.question_partitions("made_up")
    assert schema.question_partition(["made_up"], "q") in schema.question_partitions("made_up", *schema.USUAL_TOOLS)


def test_calls_that_are_too_large_for_one_item_take_several(tool_calls: Calls) -> None:
    """Each is as long as a call can be, and of text that cannot be compressed well."""
    noise = random.Random(1)

    def text(length: int) -> str:
        return "".join(chr(noise.randrange(0x20000, 0x2A000)) for _ in range(length))

    calls = [
        redacted(
            replace(
                CALL,
                query_id="large",
                session_id="large",
                position=position,
                tool_name="perplexity_search",
                parameters=text(5_000),
                result=text(5_000),
                error_message=text(5_000),
                found=tuple(text(400) for _ in range(30)),
                created_at=START + timedelta(seconds=position),
            )
        )
        for position in range(12)
    ]
    sort_keys = tool_calls.record(*calls)
    assert 1 < len(sort_keys) < len(calls)
    assert tool_calls.of_query("large", 5) == calls
    listed = [call for page in tool_calls.pages(schema.BY_SESSION, "large", 5) for _, call in page]
    assert listed == calls[::-1]
    deleted = tool_calls.store.delete_for_session("large", "key:ann", deadline=Deadline.after(30))
    assert deleted == (len(calls), 0)
    assert tool_calls.pages(schema.BY_SESSION, "large", 5) == []


def test_a_question_with_too_large_calls_is_deleted_by_the_number_of_its_calls(tool_calls: Calls) -> None:
    noise = random.Random(2)
    text = "".join(chr(noise.randrange(0x20000, 0x2A000)) for _ in range(4_000))
    calls = [
        replace(CALL, query_id="counted", position=position, parameters=text[position:], result=text[::-1])
        for position in range(60)
    ]
    tool_calls.record(*calls)
    counts = tool_calls.store.delete_for_queries({"counted": 60}, "key:ann", deadline=Deadline.after(30))
    assert counts == (60, 0)
    items = tool_calls.client.scan(TableName=tool_calls.name)["Items"]
    assert not [item for item in items if item["pk"]["S"] == "Q#counted"]


def test_text_that_cannot_be_encoded_keeps_no_call_from_being_recorded(tool_calls: Calls) -> None:
    broken = replace(CALL, query_id="broken", parameters='{"query": "\ud800"}')
    tool_calls.record(broken, replace(CALL, query_id="broken", position=1))
    assert [call.parameters for call in tool_calls.of_query("broken", 5)] == ['{"query": "?"}', "{}"]


@pytest.mark.parametrize("invented", ["x#03", "x#", "#", "x#y#00"])
def test_a_name_that_looks_like_a_partition_leads_to_its_own_calls_only(tool_calls: Calls, invented: str) -> None:
    tool_calls.record(replace(CALL, query_id=f"real-{invented}", tool_name="x"))
    tool_calls.record(replace(CALL, query_id=f"invented-{invented}", tool_name=invented))
    found = query_ids(tool_calls.pages(schema.BY_TOOL, invented, 50))
    assert f"invented-{invented}" in found
    assert not [query_id for query_id in found if query_id.startswith("real-")]
