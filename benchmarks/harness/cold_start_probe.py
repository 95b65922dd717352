"""Times its own imports and invocations in a fresh process that cold_start.py starts."""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


class Context:
    """The context that Lambda passes to a handler."""

    function_name = "function"
    function_version = "1"
    memory_limit_in_mb = 1024
    aws_request_id = "request-1"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:function"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def load(target: str) -> Any:
    """Load a function and return its handler, or just the SDKs with a client of each."""
    if target == "boto3":
        import boto3

        boto3.client("dynamodb")
        return None
    if target == "openai and boto3":
        import boto3
        import openai

        openai.OpenAI(api_key="k")
        boto3.client("dynamodb")
        return None
    sys.path.insert(0, target)
    return import_module("handler").lambda_handler


def main() -> None:
    """`cold_start_probe.py TARGET EVENT`: the directory of a handler or the names of SDKs, and an event file."""
    target, event = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    steps: dict[str, tuple[float, float]] = {}
    start, cpu = time.perf_counter(), time.process_time()

    def record(step: str) -> None:
        nonlocal start, cpu
        steps[step] = (time.perf_counter() - start, time.process_time() - cpu)
        start, cpu = time.perf_counter(), time.process_time()

    handler = load(target)
    record("ready")
    modules = len(sys.modules)
    for step in ("first", "second") if handler else ():
        answer = handler(event, Context())
        record(step)
        if answer.get("statusCode", 200) != 200:
            raise RuntimeError(answer["body"])
    print(json.dumps({"steps": steps, "modules": modules}), file=sys.stderr)


main()
