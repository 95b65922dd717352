"""What cold_start.py runs in each fresh process: it times its own imports and invocations, and prints them."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


class Context:
    """What Lambda tells a handler of its invocation."""

    function_name = "function"
    function_version = "1"
    memory_limit_in_mb = 1024
    aws_request_id = "request-1"
    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:function"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


def load(what: str) -> Any:
    """Load a function's handler, or just the SDKs with a client of each; the handler, if there is one."""
    if what == "boto3":
        import boto3

        boto3.client("dynamodb")
        return None
    if what == "openai and boto3":
        import boto3
        import openai

        openai.OpenAI(api_key="k")
        boto3.client("dynamodb")
        return None
    sys.path.insert(0, what)
    import handler

    return handler.lambda_handler


def main() -> None:
    """`cold_start_probe.py WHAT EVENT`: the directory of a handler or the name of SDKs; a file with an event."""
    what, event = sys.argv[1], json.loads(Path(sys.argv[2]).read_text())
    steps: dict[str, tuple[float, float]] = {}
    began, cpu = time.perf_counter(), time.process_time()

    def took(step: str) -> None:
        nonlocal began, cpu
        steps[step] = (time.perf_counter() - began, time.process_time() - cpu)
        began, cpu = time.perf_counter(), time.process_time()

    handler = load(what)
    took("ready")
    modules = len(sys.modules)
    for step in ("first", "second") if handler else ():
        answer = handler(event, Context())
        took(step)
        if answer.get("statusCode", 200) != 200:
            raise RuntimeError(answer["body"])
    print(json.dumps({"steps": steps, "modules": modules}), file=sys.stderr)


main()
