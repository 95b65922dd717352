"""Measures what a pruning run reads and writes, by the number of keywords in the table.

    python benchmarks/prune.py [--sizes 1000 10000 100000]

A tenth of the keywords in every table is old and rarely used, so it is pruned. A fifth is old and often used, so it
stays.
"""

from __future__ import annotations

import argparse
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
from gleaner.stores.items import to_item, to_timestamp
from harness.capacity import read_units, size_of
from harness.keyword_lookup import check_shape, made_up_keywords, stored_items, vocabulary, write_items
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
        rows = [_measure(running, size) for size in sizes]
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
    print_table("Pruning run", columns, [*rows, _computed(rows[-1])])


def _measure(running: Database, size: int) -> tuple[object, ...]:
    name = f"prune-{size}"
    table = running.keywords_table(name)
    check_shape(running, table, name)
    write_items(running, name, (item for keyword in _keywords_of_all_kinds(size) for item in keyword))
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
    )


def _computed(largest: Sequence[Any]) -> tuple[object, ...]:
    """Compute a larger table by the bounds of the code, which reads one item for each pruned keyword."""
    size, pruned_before, *_, other_items, other_units, writes, _seconds = largest
    pruned = COMPUTED * pruned_before // size
    partitions = len(schema.active_partitions()) + sum(len(schema.queue_partitions(what)) for what in schema.PruneQueue)
    queries = partitions + pruned // PAGE_ITEMS
    head = size_of(to_item(_head(next(_keywords_of_all_kinds(len(KINDS))))))
    units = queries * read_units(PAGE_ITEMS * head)
    per_thousand = units / (pruned / 1000)
    rest = (per_thousand, other_items, other_units, writes, "-")
    return f"{COMPUTED} (computed)", pruned, pruned, "1.000", queries, units, *rest


def _keywords_of_all_kinds(size: int) -> Iterator[list[dict[str, Any]]]:
    """The items of each keyword; the kinds of keywords take turns."""
    for number, keyword in enumerate(made_up_keywords(size, vocabulary(size))):
        items = stored_items(keyword)
        kind = KINDS[number % len(KINDS)]
        head = _head(items)
        if kind != "fresh":
            head["last_used_at"] = to_timestamp(utc_now() - timedelta(days=100))
        if kind == "old and popular":
            head["usage_count"] = POPULAR_USES
            head["queue"] = schema.active_partition(head["keyword_id"], POPULAR_USES)
        yield items


def _head(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    [head] = [item for item in items if item["sk"] == "KEYWORD"]
    return head


def _units(items: Sequence[Mapping[str, Any]]) -> float:
    """Units of a consistent read."""
    return read_units(sum(map(size_of, items)), consistent=True)


if __name__ == "__main__":
    main()
