"""Measures what a look-up reads, by the number of keywords in the table."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gleaner import text
from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import keyword_lookup, schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_item, to_timestamp
from gleaner.stores.keyword_items import MAX_STEMS, KeywordUse, association, entry_keys
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.keywords import KeywordStore
from harness.capacity import read_units, size_of
from harness.keyword_tables import KB_ID, Database, print_table

SIZES = (1_000, 10_000)
BATCH = 25  # items of one BatchWriteItem
WRITERS = 8
COMMON = "cloud"  # a term of every fifth keyword
QUESTIONS = 40
DELAY_SECONDS = 0.5  # added to every request, so that those of one round overlap even on a slow machine
MAX_KEYWORD_BYTES = 4096  # of the item of a keyword


@dataclass(slots=True)
class Cost:
    """What the requests of a look-up read."""

    requests: int = 0
    items: int = 0
    units: float = 0.0
    delay: float = 0.0
    starts: dict[int, float] = field(default_factory=dict)  # of the request in flight, by thread
    spans: list[tuple[float, float]] = field(default_factory=list)  # end and start of each request

    def start(self, **_: Any) -> None:
        """Note the time before a request is sent."""
        self.starts[threading.get_ident()] = time.perf_counter()
        time.sleep(self.delay)

    def end(self, parsed: Mapping[str, Any], **_: Any) -> None:
        """Count a request after its response: a query is charged for the sum of its items, a batch for each item."""
        batches = list(parsed.get("Responses", {}).values())
        items = parsed.get("Items", []) + [item for batch in batches for item in batch]
        sizes = [size_of(item) for item in items]
        self.requests += 1
        self.items += len(items)
        self.units += sum(map(read_units, sizes)) if batches else read_units(sum(sizes))
        self.spans.append((time.perf_counter(), self.starts[threading.get_ident()]))


def measure_lookup(database: Database, sizes: Sequence[int]) -> None:
    """Print the cost of look-ups for each size of table, and the upper bound that the code guarantees."""
    rows = [row for size in sizes for row in _measure(database, size)]
    columns = ("keywords", "query", "requests", "items read", "read units", "most units", "round trips", "ms")
    print_table("Look-up: means of one look-up without the answers' own read", columns, [*rows, _bound()])


def _measure(database: Database, size: int) -> Iterator[tuple[object, ...]]:
    name = f"lookup-{size}"
    table = database.keywords_table(name)
    words = vocabulary(size)
    check_shape(database, table, name)
    write_items(database, name, (item for keyword in made_up_keywords(size, words) for item in stored_items(keyword)))
    lookup = KeywordLookup(table, database.executor)
    cost = Cost()
    for operation in ("Query", "BatchGetItem"):
        database.client.meta.events.register(f"before-call.dynamodb.{operation}", cost.start)
        database.client.meta.events.register(f"after-call.dynamodb.{operation}", cost.end)
    draw = random.Random(3)  # noqa: S311 - the same questions in every run
    kinds = {
        "3 words": [" ".join(draw.sample(words, 3)) for _ in range(QUESTIONS)],
        f"{COMMON!r} alone": [COMMON],
        f"12 words with {COMMON!r}": [f"{COMMON} {' '.join(draw.sample(words, 11))}" for _ in range(QUESTIONS)],
        "16 common words": [" ".join([COMMON, *words[:15]])],
    }
    for kind, questions in kinds.items():
        yield size, kind, *_ask(lookup, questions, cost)


def _ask(lookup: KeywordLookup, questions: Sequence[str], cost: Cost) -> tuple[object, ...]:
    costs, milliseconds = [], []
    for question in questions:
        cost.requests = cost.items = 0
        cost.units = 0.0
        start = time.perf_counter()
        lookup.find(KB_ID, question, deadline=Deadline.after(20))
        milliseconds.append(1000 * (time.perf_counter() - start))
        costs.append((cost.requests, cost.items, cost.units))
    requests, items, units = zip(*costs, strict=True)
    return (
        statistics.fmean(requests),
        statistics.fmean(items),
        statistics.fmean(units),
        max(units),
        _round_trips(lookup, questions[0], cost),
        statistics.median(milliseconds),
    )


def _round_trips(lookup: KeywordLookup, question: str, cost: Cost) -> int:
    """The longest chain of requests in which each starts after the one before it has ended."""
    cost.delay = DELAY_SECONDS
    cost.spans.clear()
    lookup.find(KB_ID, question, deadline=Deadline.after(20))
    cost.delay = 0.0
    chain, last_end = 0, 0.0
    for end, start in sorted(cost.spans):
        if start >= last_end:
            chain, last_end = chain + 1, end
    return chain


def _bound() -> tuple[object, ...]:
    """The maximum cost of a look-up in a table of any size."""
    entry_bytes = _max_entry_bytes()
    terms, pairs = MAX_STEMS, MAX_STEMS - 1
    keywords, associations = keyword_lookup.MAX_KEYWORDS, keyword_lookup.ASSOCIATIONS_PER_KEYWORD
    entry_units = (terms + pairs) * read_units(keyword_lookup.ENTRIES_PER_TERM * entry_bytes)
    keyword_units = keywords * (read_units(MAX_KEYWORD_BYTES) + read_units(associations * 600))
    items = (terms + pairs) * keyword_lookup.ENTRIES_PER_TERM + keywords * (1 + associations)
    units = entry_units + keyword_units
    return "1000000 (computed)", "any", float(terms + pairs + keywords + 1), float(items), units, units, 2, "-"


def _max_entry_bytes() -> int:
    """Bytes of the look-up entry of the longest keyword in the widest script, in a knowledge base of 64 letters."""
    keyword_text = "𠀀" * 24 + " " + "𠀁" * 25
    (*_, key) = entry_keys("0" * 32, keyword_text, "k" * 64)
    return size_of(to_item(key | {"keyword_id": "0" * 32, "keyword_text": keyword_text}))


def vocabulary(size: int) -> list[str]:
    """Made-up words. Larger tables have more of them, as larger collections do (Heaps' law)."""
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]
    candidates = ("".join(parts) for parts in itertools.product(syllables, repeat=3))
    words = [word + "x" for word in itertools.islice(candidates, 0, None, 7)]  # endings that are not stemmed
    random.Random(5).shuffle(words)  # noqa: S311
    return words[: int(40 * math.sqrt(size))]


def made_up_keywords(size: int, words: Sequence[str]) -> Iterator[str]:
    """Different keywords of two or three words by Zipf's law, every fifth with the common term."""
    draw = random.Random(7)  # noqa: S311
    weights = list(itertools.accumulate(1 / place for place in range(1, len(words) + 1)))
    keywords: set[str] = set()
    while len(keywords) < size:
        parts = draw.choices(words, cum_weights=weights, k=draw.choice((2, 3)))
        keyword = " ".join(dict.fromkeys([COMMON, *parts] if len(keywords) % 5 == 0 else parts))
        if keyword not in keywords and len(keyword) <= 50:
            keywords.add(keyword)
            yield keyword


def stored_items(keyword_text: str) -> list[dict[str, Any]]:
    """The items of a keyword that one query indexed, as the store writes them."""
    keyword, now = schema.keyword_id(text.fold(keyword_text)), to_timestamp(utc_now())
    use = KeywordUse(kb_id=KB_ID, query_id=f"Q-{keyword[:8]}", session_id=None, answer=None)
    head = schema.keyword_key(keyword) | {
        "keyword_id": keyword,
        "keyword_text": keyword_text,
        "created_at": now,
        "updated_at": now,
        "last_used_at": now,
        "usage_count": 1,
        "status": "active",
        "queue": schema.active_partition(keyword, 1),
        "kb_ids": {KB_ID},
    }
    entries = [
        key | {"keyword_id": keyword, "keyword_text": keyword_text} for key in entry_keys(keyword, keyword_text, KB_ID)
    ]
    return [head, association(keyword, use, now), *entries]


def check_shape(database: Database, table: Table, name: str) -> None:
    """Raise RuntimeError if the store writes other items than this module."""
    keyword_text = "a b c"
    use = KeywordUse(kb_id=KB_ID, query_id="Q", session_id=None, answer=None)
    KeywordStore(table).index([keyword_text], use, deadline=Deadline.after(20))
    stored = database.client.scan(TableName=name)["Items"]
    if sorted(map(sorted, stored)) != sorted(sorted(to_item(item)) for item in stored_items(keyword_text)):
        raise RuntimeError("The items of this benchmark lack attributes that the store writes, or have others.")


def write_items(database: Database, name: str, items: Iterable[Mapping[str, Any]]) -> None:
    """Put items of different keys into a table."""
    pending = map(to_item, items)
    batches: Iterator[list[Any]] = iter(lambda: list(itertools.islice(pending, BATCH)), [])

    def write(batch: Sequence[Any]) -> None:
        answer = database.client.batch_write_item(RequestItems={name: [{"PutRequest": {"Item": i}} for i in batch]})
        if answer["UnprocessedItems"]:
            raise RuntimeError("Some items were not written.")

    while group := list(itertools.islice(batches, WRITERS)):
        list(database.executor.map(write, group))
