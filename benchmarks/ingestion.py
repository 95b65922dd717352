"""Measures how fast documents are loaded, with how much memory, and simulates loading many in the cloud.

    python benchmarks/ingestion.py [speed] [memory] [queue] [--data DIR…]

The documents are those of the handbook, and those of the directories. Without an argument all three run:

- speed: documents and chunks a second on this machine, beside its embedder alone, in turns. Loading must reach 80 % of
  it. What is judged is CPU time: the embedder uses all processors, which other programs may need meanwhile.
- memory: the memory of the process along 10,000 documents, which are copies, and are not embedded.
- queue: how long the queue, its function and the index's published limits take for 10,000 and 1 million documents,
  what that costs, and how many documents to load at once (`max_concurrency` of an environment's record).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from gleaner_local.ingestion.estimate import estimate_load
from harness.ingestion_costs import describe_costs, loading_costs
from harness.ingestion_local import (
    MIN_SHARE,
    Reading,
    Speed,
    compare_with_embedder,
    median_share,
    read_files,
    watch_memory,
)
from harness.ingestion_queue import Circumstances, Document, Run, choose_concurrency, simulate_many
from harness.own_environment import positive
from infra.prices import PINECONE_PLANS

HANDBOOK = Path(__file__).resolve().parents[1] / "docs"
CONCURRENCIES = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48)
PARTS = ("speed", "memory", "queue")


def main() -> None:
    """Run the chosen parts; exit with 1 if loading is too slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--data", type=Path, nargs="+", default=[], metavar="DIR", help="more documents")
    parser.add_argument("--rounds", type=positive, default=5)
    parser.add_argument("--chunks", type=positive, default=200, help="of each round of `speed`")
    parser.add_argument("--documents", type=positive, default=10_000, help="of `memory`")
    parser.add_argument("--counts", type=positive, nargs="+", default=[10_000, 1_000_000], help="documents of `queue`")
    options = parser.parse_args()
    parts = options.parts or PARTS
    readings = read_files([HANDBOOK, *options.data])
    is_fast = True
    if "speed" in parts:
        is_fast = measure_speed(readings, chunks=options.chunks, rounds=options.rounds)
    if "memory" in parts:
        measure_memory(readings, options.documents)
    if "queue" in parts:
        simulate_queue(readings, options.counts)
    sys.exit(0 if is_fast else 1)


def measure_speed(readings: Sequence[Reading], *, chunks: int, rounds: int) -> bool:
    """Print the speeds; whether loading reaches the bar."""
    sample = _take_chunks(readings, chunks)
    count = sum(len(reading.records) for reading in sample)
    loading, embedding = compare_with_embedder(sample, rounds)
    print(f"{len(sample)} documents with {count} chunks, {rounds} rounds; medians\n")
    print(f"{'':16}{'chunks/s':>10}{'documents/s':>13}{'CPU ms/chunk':>14}")
    for name, speeds in (("loading", loading), ("embedder alone", embedding)):
        best = sorted(speeds)[len(speeds) // 2]
        cpu = sorted(speed.cpu for speed in speeds)[len(speeds) // 2]
        print(f"{name:16}{count / best.wall:10.1f}{len(sample) / best.wall:13.2f}{1000 * cpu / count:14.1f}")
    wall, cpu_share = (median_share(loading, embedding, part) for part in Speed._fields)
    print(f"\nloading reaches {cpu_share:.0%} of the embedder by CPU time, {wall:.0%} by the clock")
    return cpu_share >= MIN_SHARE


def measure_memory(readings: Sequence[Reading], documents: int) -> None:
    """Print the memory along the way."""
    print(f"\n{'documents':>10}{'loading and index, MB':>24}{'reading process, MB':>22}")
    watch_memory(
        readings, documents, lambda done, own, reader: print(f"{done:10}{own:24.0f}{reader:22.0f}", flush=True)
    )


def simulate_queue(readings: Sequence[Reading], counts: Sequence[int]) -> None:
    """Print times and costs by plan and concurrency."""
    documents = [_describe(reading) for reading in readings]
    for name, plan in PINECONE_PLANS.items():
        if name in ("Builder", "Enterprise"):  # the limits of Starter and Standard
            continue
        print(f"\n{name}: {plan.passage_tokens_a_minute:,} tokens a minute")
        print(
            f"{'documents':>10}{'at once':>9}{'hours':>9}{'bound':>9}{'function h':>12}{'waiting':>9}{'handed on':>11}"
        )
        for count in counts:
            runs = {
                concurrency: simulate_many(
                    documents,
                    count,
                    Circumstances(concurrency=concurrency, tokens_a_minute=plan.passage_tokens_a_minute),
                )
                for concurrency in CONCURRENCIES
            }
            best = choose_concurrency(runs)
            for concurrency, run in runs.items():
                _print_run(count, concurrency, run, plan.passage_tokens_a_minute, chosen=concurrency == best)
    for count in counts:
        print()
        for line in describe_costs(loading_costs(documents, count)):
            print(line)


def _print_run(count: int, concurrency: int, run: Run, tokens_a_minute: int, *, chosen: bool) -> None:
    bound = run.tokens / tokens_a_minute / 60
    waiting = run.waited_seconds / run.busy_seconds
    mark = "  <- within 10 % of the best" if chosen else ""
    print(
        f"{count:10,}{concurrency:9}{run.seconds / 3600:9.2f}{bound:9.2f}{run.busy_seconds / 3600:12.1f}"
        f"{waiting:9.0%}{run.handed_on:11,}{mark}",
        flush=True,
    )


def _take_chunks(readings: Sequence[Reading], chunks: int) -> list[Reading]:
    """Documents from all over the collection, with about so many chunks together."""
    sample, count = [], 0
    for reading in sorted(readings, key=lambda one: hash_of(one.file.source_file_path)):
        if count >= chunks:
            break
        sample.append(reading)
        count += len(reading.records)
    return sample


def hash_of(name: str) -> int:
    """A number that orders names in a mixed way, and always in the same."""
    return sum(byte * pow(31, position, 1_000_003) for position, byte in enumerate(name.encode())) % 1_000_003


def _describe(reading: Reading) -> Document:
    estimate = estimate_load([reading.records])
    return Document(
        chunks=estimate.chunks,
        tokens=estimate.tokens,
        bytes=reading.file.path.stat().st_size,
        write_units=estimate.write_units,
    )


if __name__ == "__main__":
    main()
