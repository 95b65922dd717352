"""The query function: answers API Gateway REST proxy events."""

from __future__ import annotations

import gc

gc.disable()  # what is loaded here stays; collecting garbage would add a fifteenth to the start

import os
import random
from typing import TYPE_CHECKING, Any

from snapshot_restore_py import register_after_restore, register_before_snapshot

from gleaner.application import build_api
from gleaner.runtime.settings import Settings
from gleaner.runtime.telemetry import make_logger, make_metrics, redact_errors
from gleaner.runtime.tracing import make_tracer

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

logger = make_logger()
tracer = make_tracer("botocore")
metrics = make_metrics("query")
api = build_api(Settings.from_env(os.environ), logger=logger, tracer=tracer, metrics=metrics)
# Without a snapshot, an environment that answers no question does not load what only questions need.
register_before_snapshot(api.prepare)
# All environments of a version start from its snapshot. Unique ids come from the operating system, but the random
# delays between retries, here and in the SDKs, come from this generator.
register_after_restore(random.seed)
gc.freeze()  # later collections skip it, too
gc.enable()


@redact_errors(logger)
@logger.inject_lambda_context(clear_state=True, log_event=False)
@tracer.capture_lambda_handler(capture_response=False, capture_error=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return api.handle(event, context)
