"""A function that does what its event's body lists, one `[verb, argument]` after the other."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from snapshot_restore_py import register_after_restore, register_before_snapshot

from gleaner.runtime.response_stream import ClientGone, ResponseStream, find_stream
from gleaner.runtime.telemetry import make_logger, make_metrics

logger = make_logger()
metrics = make_metrics("streamed")
hooks: list[str] = []
register_before_snapshot(lambda: hooks.append("before"))
register_after_restore(lambda: hooks.append("after"))
if os.environ.get("FAILS_TO_LOAD"):
    raise ValueError("cannot load")


class Run:
    """One invocation."""

    def __init__(self, stream: ResponseStream | None) -> None:
        self._stream = stream
        self._gone = 0  # how often a piece found no client
        self.answer: dict[str, Any] = {"statusCode": 200, "body": "plain"}

    def do(self, verb: str, argument: Any) -> None:
        """Do one thing."""
        verbs: dict[str, Callable[[Any], Any]] = {
            "start": lambda arguments: self._stream and self._stream.start(*arguments),
            "write": self._write,
            "write often": lambda arguments: [self._write(arguments[0]) for _ in range(arguments[1])],
            "write at once": self._write_at_once,
            "wait": _wait,
            "exit": os._exit,
            "raise": _fail,
            "log": logger.info,
            "measure": lambda name: metrics.add_metric(name, unit="Count", value=1),
            "note": lambda path: Path(path).write_text(str(self._gone)),
            "return": self.answer.update,
            "describe": lambda _: self.answer.update(
                body=json.dumps({"stream": self._stream is not None, "hooks": hooks})
            ),
        }
        verbs[verb](argument)

    def _write(self, text: str) -> None:
        try:
            if self._stream is not None:
                self._stream.write(text.encode())
        except ClientGone:
            self._gone += 1

    def _write_at_once(self, texts: list[str]) -> None:
        with ThreadPoolExecutor(len(texts)) as executor:
            list(executor.map(self._write, texts * 20))


def _wait(path: str) -> None:
    while not Path(path).exists():
        time.sleep(0.002)


def _fail(message: str) -> None:
    raise ValueError(message)


@logger.inject_lambda_context(clear_state=True, log_event=False)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do what the body lists; return the last `return`, or a plain answer."""
    run = Run(find_stream(context))
    for verb, argument in json.loads(event["body"]):
        run.do(verb, argument)
    return run.answer
