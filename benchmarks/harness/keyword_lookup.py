"""Measures what a look-up reads, by the number of keywords in the table."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from gleaner.model import Citation, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores._lookup_reading import ENTRIES_PER_TERM
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_item
from gleaner.stores.keyword_items import ASSOCIATIONS_PER_KEYWORD, KeywordUse
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_lookup import MAX_KEYWORDS, KeywordLookup
from gleaner.stores.keyword_postings import MAX_STEMS, all_entry_keys
from gleaner.stores.keywords import KeywordStore
from harness.capacity import read_units, size_of
from harness.keyword_tables import KB_ID, Database, print_table

SIZES = (1_000, 10_000)
KEYWORDS_OF_A_QUESTION = 5
COMMON = "cloud"  # a term of every fifth keyword
QUESTIONS = 40
DELAY_SECONDS = 0.5  # added to every request, so that those of one round overlap even on a slow machine
MAX_KEYWORD_BYTES = 4096  # of the item of a keyword
MAX_LIST_BYTES = 8192  # of a posting list in the widest script


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
    learn(table, database.executor, made_up_keywords(size, words))
    lookup = KeywordLookup(table, database.executor, KeywordLayout(table))
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
    terms, pairs = MAX_STEMS, MAX_STEMS - 1
    list_units = 2 * terms * read_units(MAX_LIST_BYTES)
    entry_units = (terms + pairs) * read_units(ENTRIES_PER_TERM * _max_entry_bytes())
    keyword_units = MAX_KEYWORDS * (read_units(MAX_KEYWORD_BYTES) + read_units(ASSOCIATIONS_PER_KEYWORD * 600))
    items = 2 * terms + (terms + pairs) * ENTRIES_PER_TERM + MAX_KEYWORDS * (1 + ASSOCIATIONS_PER_KEYWORD)
    units = list_units + entry_units + keyword_units
    requests = 1 + terms + pairs + 1 + MAX_KEYWORDS
    return "any number (computed)", "any", float(requests), float(items), units, units, 5, "-"


def _max_entry_bytes() -> int:
    """Bytes of the look-up entry of the longest keyword in the widest script, in a knowledge base of 64 letters."""
    keyword_text = "𠀀" * 24 + " " + "𠀁" * 25
    kb_id = "k" * 64
    *_, key = all_entry_keys({"keyword_id": "0" * 32, "keyword_text": keyword_text, "listed_in": {kb_id}}, kb_id)
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


def learn(table: Table, executor: Executor, keywords: Iterable[str]) -> None:
    """Index keywords as questions do, some by each, with a stored answer."""
    store = KeywordStore(table, KeywordLayout(table))
    groups: Iterator[list[str]] = iter(lambda: list(itertools.islice(keywords, KEYWORDS_OF_A_QUESTION)), [])

    def index(number: int, group: Sequence[str]) -> None:
        answer = WebAnswer(
            result_id=f"R{number:08}",
            kb_id=KB_ID,
            query="What is it?",
            answer="It is this. [1]",
            citations=(Citation(url=f"https://{number}.example/", title="It"),),
            model="m",
            created_at=utc_now(),
        )
        use = KeywordUse(kb_id=KB_ID, query_id=f"Q{number:08}", session_id=None, answer=answer)
        store.index(group, use, deadline=Deadline.after(120))

    list(executor.map(index, itertools.count(), groups))
