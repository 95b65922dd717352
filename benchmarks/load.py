"""Puts the local service under load: throughput, latency, errors, CPU time by process, and memory over time.

    .venv/bin/python benchmarks/load.py [--questions 5000] [--clients 1 8 32]

A real `gleaner serve` runs with its gateway, four function processes, index and DynamoDB. The model and the web answer
at once (harness/scripted_services.py), so the figures are Gleaner's own. Every tenth question goes to the web and
teaches keywords. The clients share the machine with the service. The baseline of the same run is the same two model
calls by the bare openai SDK. Each number of clients asks a tenth of the questions. Then eight clients ask all of them
while the memory of the processes is sampled. 5,000 questions take about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import queue
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import processes, scripted_services
from harness.own_environment import positive
from harness.own_service import scripted_service

WEB_EVERY = 10  # questions
SOAK_CLIENTS = 8
MEMORY_SAMPLES = 10
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Run:
    """The measurements of a number of clients."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Print the tables; exit with 1 if any question failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=5000)
    parser.add_argument("--clients", type=positive, nargs="+", default=[1, 8, 32])
    options = parser.parse_args()
    step = max(100, options.questions // 10)
    numbers = iter(range(10**9))  # makes every question different
    with scripted_services.start() as services, scripted_service(services.model_url, services.web_url) as (url, root):
        print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
        load(url, numbers, SOAK_CLIENTS, 100)  # to warm up
        bare = bare_sdk(services.model_url, 200)
        print(f"\n{'':28}{'questions/s':>12}{'p50 ms':>9}{'p95 ms':>9}{'errors':>8}{'CPU ms/question':>17}")
        print(f"{'bare SDK, two model calls':28}{1 / statistics.mean(bare):12.1f}{percentiles(bare)}")
        runs = [report(url, root, numbers, clients, step) for clients in options.clients]
        print(
            f"\nwall time, one client / bare SDK: {statistics.median(runs[0].latencies) / statistics.median(bare):.1f}"
        )
        runs.append(soak(url, root, numbers, options.questions))
    errors = sum((run.errors for run in runs), Counter())
    print(f"\nerrors: {dict(errors) or 'none'}")
    sys.exit(1 if errors else 0)


def report(url: str, root: int, numbers: Iterator[int], clients: int, questions: int) -> Run:
    """Ask so many questions with so many clients at once, and print a line."""
    before = processes.cpu_seconds(root)
    run = load(url, numbers, clients, questions)
    cpu_seconds = processes.cpu_seconds(root) - before
    breakdown = ", ".join(f"{role} {seconds / questions * 1000:.0f}" for role, seconds in cpu_seconds.most_common())
    rate = questions / run.seconds
    print(
        f"{f'clients at once: {clients}':28}{rate:12.1f}{percentiles(run.latencies)}{run.errors.total():8}"
        f"{cpu_seconds.total() / questions * 1000:17.0f}   ({breakdown})"
    )
    return run


def soak(url: str, root: int, numbers: Iterator[int], questions: int) -> Run:
    """Ask all questions, and print the memory of the processes after each tenth of them."""
    total, part = Run(), questions // MEMORY_SAMPLES
    first = processes.resident_bytes(root)
    print(f"\nmemory in MB while {SOAK_CLIENTS} clients ask\n{'questions':>10}" + "".join(f"{r:>22}" for r in first))
    for sample in range(MEMORY_SAMPLES + 1):
        current = processes.resident_bytes(root)
        print(f"{sample * part:10}" + "".join(f"{current[role] / MEGABYTE:22.1f}" for role in first))
        if sample < MEMORY_SAMPLES:
            run = load(url, numbers, SOAK_CLIENTS, part)
            total.errors += run.errors
    return total


def load(url: str, numbers: Iterator[int], clients: int, questions: int) -> Run:
    """Ask so many questions with so many clients, each of which asks its next question when it has its answer."""
    pending: queue.SimpleQueue[int] = queue.SimpleQueue()
    for _ in range(questions):
        pending.put(next(numbers))
    run = Run()
    threads = [threading.Thread(target=ask_all, args=(url, pending, run)) for _ in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.seconds = time.perf_counter() - start
    return run


def ask_all(url: str, pending: queue.SimpleQueue[int], run: Run) -> None:
    """Run one client until no question is pending."""
    with httpx.Client(base_url=url, timeout=60) as client:
        while True:
            try:
                number = pending.get_nowait()
            except queue.Empty:
                return
            start = time.perf_counter()
            if error := ask(client, number):
                run.errors[error] += 1
            run.latencies.append(time.perf_counter() - start)


def ask(client: httpx.Client, number: int) -> str | None:
    """Ask a question and return the error, if any."""
    form = scripted_services.QUESTION if number % WEB_EVERY else scripted_services.WEB_QUESTION
    try:
        answer = client.post("/api/chat/query", json={"query": form.format(word=scripted_services.word(number))})
    except httpx.HTTPError as error:
        return type(error).__name__
    if answer.status_code != 200:
        return f"HTTP {answer.status_code}"
    return None if answer.json()["status"] == "success" else "not answered in full"


def bare_sdk(model_url: str, questions: int) -> list[float]:
    """Seconds of the two model calls of a question by the openai SDK alone."""
    sdk = openai.OpenAI(api_key="k", base_url=model_url, max_retries=0)
    text = scripted_services.QUESTION.format(word="books")
    first: list[Any] = [{"role": "user", "content": text}]
    second: list[Any] = [*first, {"role": "assistant", "content": "searched"}]
    tool: Any = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}}

    def ask_twice() -> None:
        for messages in (first, second):
            sdk.chat.completions.create(model="m", messages=messages, tools=[tool])

    time_runs(ask_twice, 20)
    return time_runs(ask_twice, questions)


def time_runs(run: Callable[[], None], times: int) -> list[float]:
    """The wall seconds of each run."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return seconds


def percentiles(seconds: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"{statistics.median(seconds) * 1000:9.1f}{statistics.quantiles(seconds, n=20)[-1] * 1000:9.1f}"


if __name__ == "__main__":
    main()
