"""Measures whether keywords that many writers index at once are merged exactly, and at what cost."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from gleaner import text
from gleaner.errors import GleanerError
from gleaner.runtime.deadline import Deadline
from gleaner.stores.items import from_item
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keywords import KeywordStore
from harness.keyword_tables import KB_ID, Database, print_table

WRITERS = (1, 8, 32)
CALLS = 50  # for each writer
KEYWORDS_PER_CALL = 4
POOL = [f"shared topic {letter}" for letter in "abcdefghijkl"]  # few, so that the writers collide
DEADLINE_SECONDS = 25.0  # of a query


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of the table after all calls."""

    keywords: list[dict[str, Any]]
    associations: int


def measure_merge(database: Database) -> None:
    """Print one line for each number of writers."""
    rows = [_measure(database, writers) for writers in WRITERS]
    columns = (
        "writers",
        "calls",
        "associations asked for",
        "stored",
        "sum of usage_count",
        "keywords with a wrong count",
        "duplicates",
        "errors",
        "attempts per call",
        "most",
        "seconds",
    )
    print_table(f"Merging: {len(POOL)} keywords, {KEYWORDS_PER_CALL} in each call", columns, rows)


def _measure(database: Database, writers: int) -> tuple[object, ...]:
    name = f"merge-{writers}"
    table = database.keywords_table(name)
    store = KeywordStore(table, KeywordLayout(table))
    calls = [_keywords_of(number) for number in range(writers * CALLS)]
    attempts: Counter[str] = Counter()
    errors: list[GleanerError] = []

    def count(params: dict[str, Any], **_: Any) -> None:
        if params["TransactItems"][0]["Update"]["TableName"] == name:
            attempts[_query_of(params)] += 1

    def write(numbers: Iterator[int]) -> None:
        for number in numbers:
            use = KeywordUse(kb_id=KB_ID, query_id=f"Q{number}", session_id=None, answer=None)
            try:
                store.index(calls[number], use, deadline=Deadline.after(DEADLINE_SECONDS))
            except GleanerError as error:
                errors.append(error)

    database.client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", count)
    start = time.perf_counter()
    with ThreadPoolExecutor(writers) as pool:
        for future in [pool.submit(write, iter(range(w, len(calls), writers))) for w in range(writers)]:
            future.result()
    seconds = time.perf_counter() - start
    expected = Counter(itertools.chain.from_iterable(calls))
    stored = _read(database, name)
    counts = {item["keyword_text"]: int(item["usage_count"]) for item in stored.keywords}
    return (
        writers,
        len(calls),
        expected.total(),
        stored.associations,
        sum(counts.values()),
        sum(counts.get(keyword, 0) != count for keyword, count in expected.items()),
        len(stored.keywords) - len({text.fold(item["keyword_text"]) for item in stored.keywords}),
        len(errors),
        f"{attempts.total() / len(calls):.2f}",
        max(attempts.values()),
        seconds,
    )


def _keywords_of(call: int) -> list[str]:
    """The keywords of a call. Consecutive calls share all but one of them."""
    return [POOL[(call + step) % len(POOL)] for step in range(KEYWORDS_PER_CALL)]


def _query_of(params: dict[str, Any]) -> str:
    """The id of the query, which is in each association: an item, or what the head of a new keyword holds."""
    items = [action["Put"]["Item"] for action in params["TransactItems"] if "Put" in action]
    updates = [
        action["Update"]["ExpressionAttributeValues"] for action in params["TransactItems"] if "Update" in action
    ]
    items += [values[":first_use"]["M"] for values in updates if ":first_use" in values]
    return str(next(item["query_id"]["S"] for item in items if "query_id" in item))


def _read(database: Database, name: str) -> Stored:
    pages = database.client.get_paginator("scan").paginate(TableName=name)
    items = [from_item(item) for page in pages for item in page["Items"]]
    heads = [item for item in items if "usage_count" in item]
    held = sum("first_use" in head for head in heads)
    return Stored(heads, held + sum(item["sk"].startswith("A#") for item in items))
