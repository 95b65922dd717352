"""Asks questions when told to and says what they cost: the part that all programs compared by loop.py share.

Needs the standard library alone, for each program runs in the environment of its framework.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODEL_URL = sys.argv[1]
MATERIALS: dict[str, Any] = json.loads(Path(sys.argv[2]).read_text())
SYSTEM: str = MATERIALS["system"]
DESCRIPTIONS: dict[str, str] = MATERIALS["descriptions"]  # by tool
PASSAGES: dict[str, Any] = MATERIALS["passages"]  # what every search of the knowledge base finds
WEB: dict[str, Any] = MATERIALS["web"]  # what every search of the web finds


def search_result() -> str:
    """What a search gives the model."""
    return json.dumps(PASSAGES, ensure_ascii=False)


def web_result() -> str:
    """What a web search gives the model."""
    return json.dumps(WEB, ensure_ascii=False)


def serve(ask: Callable[[str], str]) -> None:
    """For each line of questions (a JSON list) answer them one after the other, and print what it took.

    `ask` returns the text of the answer; an empty one is a failure.
    """
    says = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the program itself writes, as a log, goes nowhere
    print(json.dumps("ready"), file=says, flush=True)
    for line in sys.stdin:
        walls = []
        cpu = time.process_time()
        for question in json.loads(line):
            began = time.perf_counter()
            if not ask(question):
                raise RuntimeError("there was no answer")
            walls.append(time.perf_counter() - began)
        print(json.dumps({"cpu": (time.process_time() - cpu) / len(walls), "walls": walls}), file=says, flush=True)
