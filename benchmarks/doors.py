"""Measures chat completions beside Gleaner's own stream: when the first words come, when the end, and the CPU time.

    .venv/bin/python benchmarks/doors.py [--questions 20]

A real `gleaner serve` asks a scripted model that writes 50 pieces of four characters a second. The same question is
asked by both doors in turns, so that what else the machine does slows down both. The medians of the first word and of
the end by `POST /v1/chat/completions` may be 1.1 times those of `POST /api/chat/stream`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner_local.servers.asgi import AsgiServer
from harness.own_environment import positive
from harness.own_service import scripted_service
from streaming import ANSWER, PIECES_PER_SECOND, QUESTION, WARM_UP, Times, cpu_milliseconds, follow, play, read_stream
from tests.doubles.scripted_model import ScriptedModel

MAX_LATENCY = 1.1  # of a chat completion, in that of the own stream
BODY = {"model": "gleaner", "stream": True, "messages": [{"role": "user", "content": QUESTION["query"]}]}
CPU_ROUNDS, CPU_QUESTIONS = 12, 5  # of a model that writes at once


def main() -> None:
    """Print the figures; exit with 1 if chat completions are late."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=20)
    options = parser.parse_args()
    model = ScriptedModel()
    server = AsgiServer(model.app)
    server.start()
    with scripted_service(f"{server.url}/v1", server.url, "--concurrency", "1") as (url, root):
        print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}; an answer of {len(ANSWER)} characters")
        doors: dict[str, Callable[[], Times]] = {
            "own stream": partial(follow, url),
            "chat completion": partial(complete, url),
        }
        play(model, seconds=0)
        for _ in range(WARM_UP):
            for ask in doors.values():
                ask()
        compare_cpu(root, doors)
        play(model, seconds=1 / PIECES_PER_SECOND)
        ratio = compare_times(doors, options.questions)
    server.stop()
    sys.exit(0 if ratio <= MAX_LATENCY else f"A chat completion takes {ratio:.2f} times as long, above {MAX_LATENCY}.")


def complete(url: str) -> Times:
    """Ask for a chat completion that streams. Exits if the text is not the answer."""
    return read_stream(f"{url}/v1/chat/completions", BODY, _words_of)


def _words_of(chunk: dict[str, Any]) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in chunk.get("choices", ()))


def compare_cpu(root: int, doors: dict[str, Callable[[], Times]]) -> None:
    """Print the CPU milliseconds of a question by each door, with a model that writes at once."""
    spent: dict[str, list[float]] = {name: [] for name in doors}
    for number in range(CPU_ROUNDS):
        for name in reversed(doors) if number % 2 else doors:
            spent[name].append(cpu_milliseconds(root, doors[name], CPU_QUESTIONS).total())
    print(f"\n{'CPU ms, at once':24}{'median':>10}")
    for name, values in spent.items():
        print(f"{name:24}{statistics.median(values):10.1f}")


def compare_times(doors: dict[str, Callable[[], Times]], questions: int) -> float:
    """Print the times by each door; the larger of the ratios of the first word and the end, by their medians."""
    times: dict[str, list[Times]] = {name: [] for name in doors}
    for number in range(questions):
        for name in reversed(doors) if number % 2 else doors:
            times[name].append(doors[name]())
    print(f"\n{'seconds to':24}{'first event':>14}{'first word':>14}{'end':>10}")
    medians = {}
    for name, values in times.items():
        columns = ([one.event for one in values], [one.word for one in values], [one.end for one in values])
        medians[name] = [statistics.median(column) for column in columns]
        event, word, end = medians[name]
        print(f"{name:24}{event:14.3f}{word:14.3f}{end:10.3f}")
    own, other = medians.values()
    ratios = [theirs / ours for ours, theirs in zip(own, other, strict=True)]
    print(f"{'ratio':24}" + "".join(f"{ratio:{width}.3f}" for ratio, width in zip(ratios, (14, 14, 10), strict=True)))
    return max(ratios[1:])


if __name__ == "__main__":
    main()
