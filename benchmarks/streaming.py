"""Measures streamed answers: when a reader sees something, and what streaming costs.

    .venv/bin/python benchmarks/streaming.py [--questions 20] [--streams 32]

A real `gleaner serve` asks a scripted model, which writes 50 pieces of four characters a second, as a model of 50
tokens does. The same question is asked on the route that streams and on the one that does not, and the CPU time of the
service's processes for a question is compared, with a model that writes at once and with one that takes its time. At
once, streaming may cost 1.3 times as much. The routes take turns, so that what else the machine does slows down both,
and the median of the rounds counts. At last many readers ask at the same moment, and all must get the whole answer.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner_local.servers.asgi import AsgiServer
from harness import processes
from harness.own_environment import positive
from harness.own_service import scripted_service
from tests.doubles.scripted_model import ScriptedModel, calls, search

PIECE, PIECES_PER_SECOND = 4, 50  # characters of a token
ANSWER = " ".join(f"Keyword {number} is merged by a conditional write of its own. [kb-1]" for number in range(1, 11))
ARGUMENTS = {"sources": ["kb-1"], "answer": ANSWER, "used_internal_kb": True, "used_external_kb": False}
QUESTION = {"query": "How are duplicate keywords merged?"}
MAX_CPU = 1.3  # of a streamed question, in the CPU time of one that is answered whole
WARM_UP = 8
CPU_ROUNDS, CPU_QUESTIONS = 24, 5  # of a model that writes at once
SLOW_ROUNDS = 6  # of one that takes its time, with one question each
SETTLE_SECONDS = 0.05  # after a round, in which threads end that nobody waits for
WAVE = 4  # function processes that start at once
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds from the request to the first event, to the first words of the answer and to the end."""

    event: float
    word: float
    end: float


def main() -> None:
    """Print the figures; exit with 1 if streaming costs too much or an answer is not whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=20)
    parser.add_argument("--streams", type=positive, default=32)
    options = parser.parse_args()
    model = ScriptedModel()
    server = AsgiServer(model.app)
    server.start()
    # One function process for what is compared, so that no other one starts meanwhile.
    with scripted_service(f"{server.url}/v1", server.url, "--concurrency", "1") as (url, root):
        print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}; an answer of {len(ANSWER)} characters")
        play(model, seconds=0)
        for _ in range(WARM_UP):
            follow(url)
            ask(url)
        show_times(model, url, options.questions)
        compare_cpu(model, url, root, seconds=1 / PIECES_PER_SECOND, rounds=SLOW_ROUNDS, questions=1)
        ratio = compare_cpu(model, url, root, seconds=0, rounds=CPU_ROUNDS, questions=CPU_QUESTIONS)
    with scripted_service(f"{server.url}/v1", server.url, "--concurrency", str(options.streams)) as (url, root):
        show_many(model, url, options.streams)
    server.stop()
    sys.exit(0 if ratio <= MAX_CPU else f"A streamed question costs {ratio:.2f} times the CPU time, above {MAX_CPU}.")


def play(model: ScriptedModel, *, seconds: float, is_whole: bool = False) -> None:
    """Let the model search and answer, with so many seconds between its pieces, or before a whole answer in all."""

    def reply(request: dict[str, Any]) -> dict[str, Any]:
        if not any(message["role"] == "tool" for message in request["messages"]):
            return calls(search())
        if is_whole:
            time.sleep(seconds * len(json.dumps(ARGUMENTS)) / PIECE)
        return calls(("generate_response", ARGUMENTS))

    model.plays(reply)
    model.piece_size, model.piece_seconds = PIECE, seconds


def follow(url: str) -> Times:
    """Ask on the route that streams. Exits if the text is not the answer."""
    return read_stream(f"{url}/api/chat/stream", QUESTION, lambda part: part.get("delta", ""))


def read_stream(address: str, body: dict[str, Any], words_of: Callable[[dict[str, Any]], str]) -> Times:
    """Ask by a protocol whose events hold words of the answer, or none. Exits if the text is not the answer."""
    start = time.perf_counter()
    event = word = 0.0
    text = ""
    with httpx.stream("POST", address, json=body, timeout=SECONDS) as response:
        for line in response.iter_lines():
            words = words_of(json.loads(line.removeprefix("data: "))) if line.startswith("data: {") else ""
            event = event or time.perf_counter() - start
            if words:
                word = word or time.perf_counter() - start
                text += words
    if text != ANSWER:
        raise SystemExit(f"HTTP {response.status_code}: the stream held another text: {text[:200]!r}")
    return Times(event, word, time.perf_counter() - start)


def ask(url: str) -> float:
    """Ask on the route that does not stream; the seconds to the answer."""
    start = time.perf_counter()
    response = httpx.post(f"{url}/api/chat/query", json=QUESTION, timeout=SECONDS).raise_for_status()
    assert response.json()["answer"] == ANSWER
    return time.perf_counter() - start


def show_times(model: ScriptedModel, url: str, questions: int) -> None:
    """Print the times of questions that are asked one after the other."""
    play(model, seconds=1 / PIECES_PER_SECOND)
    streamed = [follow(url) for _ in range(questions)]
    play(model, seconds=1 / PIECES_PER_SECOND, is_whole=True)
    whole = [ask(url) for _ in range(questions)]
    print(f"\n{'seconds to':24}{'first event':>14}{'first word':>14}{'end':>10}")
    print_times("streamed", streamed)
    print(f"{'whole':24}{'':14}{'':14}{statistics.median(whole):10.2f}")


def print_times(name: str, times: Sequence[Times]) -> None:
    """Print the medians, and the 95th percentiles below them."""
    columns = ([t.event for t in times], [t.word for t in times], [t.end for t in times])
    for label, quantile in ((name, 10), ("  95th percentile", 19)):
        event, word, end = (statistics.quantiles(column, n=20)[quantile - 1] for column in columns)
        print(f"{label:24}{event:14.2f}{word:14.2f}{end:10.2f}")


def compare_cpu(model: ScriptedModel, url: str, root: int, *, seconds: float, rounds: int, questions: int) -> float:
    """Print the CPU milliseconds of a question on both routes, which take turns; the median of their ratios.

    The model takes `seconds` for a piece.
    """
    streamed: list[Counter[str]] = []
    whole: list[Counter[str]] = []
    for number in range(rounds):
        for is_whole in (False, True) if number % 2 else (True, False):
            play(model, seconds=seconds, is_whole=is_whole)
            run = partial(ask if is_whole else follow, url)
            (whole if is_whole else streamed).append(cpu_milliseconds(root, run, questions))
    speed = f"{1 / seconds:.0f} pieces a second" if seconds else "at once"
    print(f"\n{f'CPU ms, {speed}':32}{'streamed':>10}{'whole':>10}{'ratio':>8}")
    for role in whole[0]:
        print_ratio(role, *(statistics.median(run[role] for run in runs) for runs in (streamed, whole)))
    print_ratio("all", *(statistics.median(run.total() for run in runs) for runs in (streamed, whole)))
    ratios = [one.total() / other.total() for one, other in zip(streamed, whole, strict=True)]
    first, median, third = statistics.quantiles(ratios, n=4)
    print(f"ratio of a round: median {median:.2f}, quartiles {first:.2f} and {third:.2f}, {rounds} rounds")
    return median


def print_ratio(name: str, streamed: float, whole: float) -> None:
    """Print a line of the comparison, unless nothing was done."""
    if whole:
        print(f"{name:32}{streamed:10.1f}{whole:10.1f}{streamed / whole:8.2f}")


def cpu_milliseconds(root: int, run: Callable[[], object], times: int) -> Counter[str]:
    """CPU milliseconds of the service for each run, by the role of its processes."""
    before = processes.cpu_seconds(root)
    for _ in range(times):
        run()
    time.sleep(SETTLE_SECONDS)
    after = processes.cpu_seconds(root)
    return Counter({role: (after[role] - before[role]) / times * 1000 for role in after})


def show_many(model: ScriptedModel, url: str, streams: int) -> None:
    """Print the times of readers who ask at the same moment, once as many function processes run."""
    play(model, seconds=1 / PIECES_PER_SECOND)
    with ThreadPoolExecutor(streams) as threads:
        for started in range(WAVE, streams, WAVE):  # all at once, they would start too slowly on a busy machine
            list(threads.map(lambda _: follow(url), range(started)))
        list(threads.map(lambda _: follow(url), range(streams)))
        print(f"\n{'seconds to':24}{'first event':>14}{'first word':>14}{'end':>10}")
        print_times(f"{streams} at once", list(threads.map(lambda _: follow(url), range(streams))))


if __name__ == "__main__":
    main()
