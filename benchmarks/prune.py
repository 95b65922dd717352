"""Measures what a pruning run reads and writes, by the number of keywords in the table.

    python benchmarks/prune.py [--sizes 1000 10000 100000]

A tenth of the keywords in every table is old and rarely used, so it is pruned. A fifth is old and often used, so it
stays.
"""

from __future__ import annotations

import argparse
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from gleaner.model import utc_now
from gleaner.pruning.rules import PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.items import from_item, to_item, to_timestamp
from harness.capacity import read_units, size_of
from harness.keyword_lookup import learn, made_up_keywords, vocabulary
from harness.keyword_tables import Database, database, print_table
from harness.own_environment import positive

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SIZES = (1_000, 10_000)
COMPUTED = 10_000_000
RULES = PruneRules(max_age_days=90, min_usage=3, hard_max_age_days=365)
POPULAR_USES = 5  # uses of old keywords that stay
KINDS = ("old and rare", "old and popular", "old and popular", *["fresh"] * 7)
PAGE_ITEMS = 100  # items of one read of the queue


@dataclass(slots=True)
class Cost:
    """The requests of one run. `queue` is the index that finds the candidates."""

    queue_requests: int = 0
    queue_items: int = 0
    queue_units: float = 0.0
    other_items: int = 0
    other_units: float = 0.0
    writes: int = 0
    params: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # of the request in flight, by thread
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def counting(self, client: DynamoDBClient) -> Iterator[None]:
        """Count the requests of this client until the end of the block."""
        on_response: dict[str, Callable[..., None]] = {
            "Query": self.read,
            "BatchGetItem": self.read,
            "TransactWriteItems": self.write,
        }
        handlers: list[tuple[str, Callable[..., None]]] = [
            (f"before-parameter-build.dynamodb.{name}", self.ask) for name in on_response
        ]
        handlers += [(f"after-call.dynamodb.{name}", handler) for name, handler in on_response.items()]
        for event, handler in handlers:
            client.meta.events.register(event, handler)
        try:
            yield
        finally:
            for event, handler in handlers:
                client.meta.events.unregister(event, handler)

    def ask(self, params: Mapping[str, Any], **_: Any) -> None:
        """Note the parameters of a request before it is built."""
        self.params[threading.get_ident()] = params

    def read(self, parsed: Mapping[str, Any], **_: Any) -> None:
        """Count a query or a batch read after its response."""
        batches = [item for batch in parsed.get("Responses", {}).values() for item in batch]
        items = parsed.get("Items", []) + batches
        by_queue = "IndexName" in self.params[threading.get_ident()]
        with self.lock:
            if by_queue:
                self.queue_requests += 1
                self.queue_items += len(items)
                self.queue_units += read_units(sum(map(size_of, items)))
            else:
                self.other_items += len(items)
                self.other_units += sum(_units([item]) for item in batches) if batches else _units(items)

    def write(self, **_: Any) -> None:
        """Count the writes of a transaction after its response."""
        with self.lock:
            self.writes += len(self.params[threading.get_ident()]["TransactItems"])


def main() -> None:
    """Measure each size against a DynamoDB of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", type=positive, nargs="+", default=SIZES, help="numbers of keywords")
    sizes = parser.parse_args().sizes
    with database() as running:
        measured = [_measure(running, size) for size in sizes]
    columns = (
        "keywords",
        "pruned",
        "index: items read",
        "of pruned",
        "queries",
        "index units",
        "index units per 1,000",
        "other items per 1,000",
        "other units per 1,000",
        "writes per 1,000",
        "seconds per 1,000",
    )
    print_table("Pruning run", columns, [*(row for row, _ in measured), _computed(*measured[-1])])


def _measure(running: Database, size: int) -> tuple[tuple[object, ...], int]:
    """The figures of a run, and the bytes of a keyword."""
    name = f"prune-{size}"
    table = running.keywords_table(name)
    learn(table, running.executor, made_up_keywords(size, vocabulary(size)))
    head_size = size_of(to_item(_make_all_kinds(running, name)))
    _put_layout(running.client, name)
    cost = Cost()
    pruner = Pruner(table, running.executor, answer_grace=timedelta(days=7))
    with cost.counting(running.client):
        start = time.perf_counter()
        report = pruner.run(RULES, by="benchmark", dry_run=False, deadline=Deadline.after(3600))
        seconds = time.perf_counter() - start
    pruned = report.counts.pruned
    if pruned != size // len(KINDS) or not report.finished:
        raise RuntimeError(f"{pruned} of {size // len(KINDS)} keywords were pruned.")
    thousands = pruned / 1000
    return (
        size,
        pruned,
        cost.queue_items,
        f"{cost.queue_items / pruned:.3f}",
        cost.queue_requests,
        cost.queue_units,
        cost.queue_units / thousands,
        cost.other_items / thousands,
        cost.other_units / thousands,
        cost.writes / thousands,
        seconds / thousands,
    ), head_size


def _computed(largest: Sequence[Any], head_size: int) -> tuple[object, ...]:
    """Compute a larger table by the bounds of the code, which reads one item for each pruned keyword."""
    size, pruned_before, *_, other_items, other_units, writes, _seconds = largest
    pruned = COMPUTED * pruned_before // size
    partitions = len(schema.active_partitions()) + sum(len(schema.queue_partitions(what)) for what in schema.PruneQueue)
    queries = partitions + pruned // PAGE_ITEMS
    units = queries * read_units(PAGE_ITEMS * head_size)
    per_thousand = units / (pruned / 1000)
    rest = (per_thousand, other_items, other_units, writes, "-")
    return f"{COMPUTED} (computed)", pruned, pruned, "1.000", queries, units, *rest


def _make_all_kinds(running: Database, name: str) -> dict[str, Any]:
    """Make the stored keywords of all kinds, which take turns. Returns one of them."""
    pages = running.client.get_paginator("scan").paginate(TableName=name)
    heads = [from_item(item) for page in pages for item in page["Items"] if "usage_count" in item]

    def change(head: Mapping[str, Any], kind: str) -> None:
        then = {"last_used_at": to_timestamp(utc_now() - timedelta(days=100))}
        many = {
            "usage_count": POPULAR_USES,
            "queue": schema.active_partition(head["keyword_id"], POPULAR_USES),
        }
        changed = {**head, **({} if kind == "fresh" else then), **(many if kind == "old and popular" else {})}
        running.client.put_item(TableName=name, Item=to_item(changed))

    list(running.executor.map(change, heads, itertools.cycle(KINDS)))
    return heads[0]


def _put_layout(client: DynamoDBClient, name: str) -> None:
    """Note that the table has long had no keywords of earlier versions, for which a run would read all others."""
    then = to_timestamp(utc_now() - timedelta(days=30))
    layout = schema.LAYOUT_KEY | {"created_at": then, "compact_from": then, "compact_until": "9"}
    client.put_item(TableName=name, Item=to_item(layout))


def _units(items: Sequence[Mapping[str, Any]]) -> float:
    """Units of a consistent read."""
    return read_units(sum(map(size_of, items)), consistent=True)


if __name__ == "__main__":
    main()
