"""A function that does what its event's body lists, one `[verb, argument]` after the other."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from snapshot_restore_py import register_after_restore, register_before_snapshot

from gleaner.runtime.response_stream import ClientGone, find_stream
from gleaner.runtime.telemetry import make_logger, make_metrics

logger = make_logger()
metrics = make_metrics("streamed")
hooks: list[str] = []
register_before_snapshot(lambda: hooks.append("before"))
register_after_restore(lambda: hooks.append("after"))
if os.environ.get("FAILS_TO_LOAD"):
    raise ValueError("cannot load")


@logger.inject_lambda_context(clear_state=True, log_event=False)
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Do what the body lists; return the last `return`, or a plain answer."""
    stream, answer, gone = find_stream(context), {"statusCode": 200, "body": "plain"}, 0
    for verb, argument in json.loads(event["body"]):
        if verb == "return":
            answer = argument
        elif verb == "raise":
            raise ValueError(argument)
        elif verb == "wait":
            while not Path(argument).exists():
                time.sleep(0.002)
        elif verb == "measure":
            metrics.add_metric(argument, unit="Count", value=1)
        elif verb == "log":
            logger.info(argument)
        elif verb == "describe":
            answer = {"statusCode": 200, "body": json.dumps({"stream": stream is not None, "hooks": hooks})}
        elif verb == "note":
            Path(argument).write_text(str(gone))
        elif stream is not None:
            try:
                stream.start(*argument) if verb == "start" else stream.write(argument.encode())
            except ClientGone:
                gone += 1
    return answer
