"""The local service under load: throughput, latency, errors, CPU time by process, and memory over many questions.

    .venv/bin/python benchmarks/load.py [--questions 5000] [--clients 1 8 32]

Real `gleaner serve`, with its gateway, four function processes, index and DynamoDB; the model and the web answer at
once (scripted_services.py), so the figures are Gleaner's own. Every tenth question goes to the web and is learned from.
The clients share the machine with the service. The baseline, in the same run, is the same two model calls by the bare
openai SDK. Each number of clients asks a tenth of the questions; then eight clients ask all of them while the memory
of the processes is watched. 5,000 questions take about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import os
import queue
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner_local.service.running import running_service
from harness import processes, scripted_services
from harness.own_environment import positive, without_remote_services

DOCUMENT = "# Keywords\n\n## Merging\n\nDuplicate keywords are merged by a conditional write.\n"
WEB_EVERY = 10  # questions
SOAK_CLIENTS = 8
SAMPLES = 10  # of the memory
START_SECONDS = 60
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Run:
    """What a number of clients saw."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def main() -> None:
    """Print the tables; ends with 1 if any question failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=5000)
    parser.add_argument("--clients", type=positive, nargs="+", default=[1, 8, 32])
    options = parser.parse_args()
    step = max(100, options.questions // 10)
    numbers = iter(range(10**9))  # every question is another one
    with scripted_services.start() as services, service(services) as (url, root):
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
    failed = sum((run.errors for run in runs), Counter())
    print(f"\nerrors: {dict(failed) or 'none'}")
    sys.exit(1 if failed else 0)


@contextmanager
def service(services: scripted_services.Services) -> Iterator[tuple[str, int]]:
    """A running `gleaner serve` over one small document: its URL and process id."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir, document = Path(folder) / "data", Path(folder) / "keywords.md"
        document.write_text(DOCUMENT)
        command = [Path(sys.executable).parent / "gleaner", "serve", "--port", "0", "--data-dir", data_dir]
        env = without_remote_services() | {
            "OPENAI_BASE_URL": services.model_url,
            "PERPLEXITY_BASE_URL": services.web_url,
        }
        process = subprocess.Popen([*command, "--load", document], env=env, stdout=subprocess.DEVNULL)
        try:
            give_up = time.monotonic() + START_SECONDS
            while not (state := running_service(data_dir) if (data_dir / "running.json").exists() else {}):
                assert process.poll() is None and time.monotonic() < give_up, "the service did not start"
                time.sleep(0.1)
            yield state["url"], process.pid
        finally:
            process.terminate()
            process.wait()


def report(url: str, root: int, numbers: Iterator[int], clients: int, questions: int) -> Run:
    """Ask `questions` with so many clients at once, and print a line."""
    before = processes.cpu_seconds(root)
    run = load(url, numbers, clients, questions)
    used = processes.cpu_seconds(root) - before
    shown = ", ".join(f"{role} {seconds / questions * 1000:.0f}" for role, seconds in used.most_common())
    rate = questions / run.seconds
    print(
        f"{f'clients at once: {clients}':28}{rate:12.1f}{percentiles(run.latencies)}{run.errors.total():8}"
        f"{used.total() / questions * 1000:17.0f}   ({shown})"
    )
    return run


def soak(url: str, root: int, numbers: Iterator[int], questions: int) -> Run:
    """Ask all questions, and print the memory of the processes after each tenth of them."""
    whole, part = Run(), questions // SAMPLES
    first = processes.resident_bytes(root)
    print(f"\nmemory in MB while {SOAK_CLIENTS} clients ask\n{'questions':>10}" + "".join(f"{r:>22}" for r in first))
    for sample in range(SAMPLES + 1):
        now = processes.resident_bytes(root)
        print(f"{sample * part:10}" + "".join(f"{now[role] / MEGABYTE:22.1f}" for role in first))
        if sample < SAMPLES:
            run = load(url, numbers, SOAK_CLIENTS, part)
            whole.errors += run.errors
    return whole


def load(url: str, numbers: Iterator[int], clients: int, questions: int) -> Run:
    """Ask so many questions with so many clients, each of which asks its next when it has its answer."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for _ in range(questions):
        waiting.put(next(numbers))
    run = Run()
    threads = [threading.Thread(target=ask_all, args=(url, waiting, run)) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.seconds = time.perf_counter() - began
    return run


def ask_all(url: str, waiting: queue.SimpleQueue[int], run: Run) -> None:
    """One client: asks until nothing waits."""
    with httpx.Client(base_url=url, timeout=60) as client:
        while True:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            began = time.perf_counter()
            if error := ask(client, number):
                run.errors[error] += 1
            run.latencies.append(time.perf_counter() - began)


def ask(client: httpx.Client, number: int) -> str | None:
    """Ask a question; what is wrong with its answer, if anything."""
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
    asked: list[Any] = [{"role": "user", "content": text}]
    answered: list[Any] = [*asked, {"role": "assistant", "content": "searched"}]
    tool: Any = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}}

    def both() -> None:
        for messages in (asked, answered):
            sdk.chat.completions.create(model="m", messages=messages, tools=[tool])

    timed(both, 20)
    return timed(both, questions)


def timed(run: Callable[[], None], times: int) -> list[float]:
    """Wall seconds of each run."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return seconds


def percentiles(seconds: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"{statistics.median(seconds) * 1000:9.1f}{statistics.quantiles(seconds, n=20)[-1] * 1000:9.1f}"


if __name__ == "__main__":
    main()
