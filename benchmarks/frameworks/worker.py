"""Answers questions on request and reports their cost: the common part of the programs that loop.py compares.

It needs only the standard library, because each program runs in the environment of its framework.
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
DESCRIPTIONS: dict[str, str] = MATERIALS["descriptions"]  # by tool name
PASSAGES: dict[str, Any] = MATERIALS["passages"]  # the result of every search of the knowledge base
WEB: dict[str, Any] = MATERIALS["web"]  # the result of every web search


def search_result() -> str:
    """The result of a search for the model."""
    return json.dumps(PASSAGES, ensure_ascii=False)


def web_result() -> str:
    """The result of a web search for the model."""
    return json.dumps(WEB, ensure_ascii=False)


def serve(ask: Callable[[str], str]) -> None:
    """Answer each line of questions (a JSON list) one after the other, and print the time taken.

    `ask` returns the text of the answer; an empty text is a failure.
    """
    output = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # discards the program's own output, such as logs
    print(json.dumps("ready"), file=output, flush=True)
    for line in sys.stdin:
        walls = []
        cpu = time.process_time()
        for question in json.loads(line):
            start = time.perf_counter()
            if not ask(question):
                raise RuntimeError("no answer")
            walls.append(time.perf_counter() - start)
        print(json.dumps({"cpu": (time.process_time() - cpu) / len(walls), "walls": walls}), file=output, flush=True)
