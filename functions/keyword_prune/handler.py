"""The prune function: prunes keywords by the configured rules when the schedule invokes it."""

from __future__ import annotations

import gc

gc.disable()  # what is loaded here stays; collecting garbage would add a fifteenth to the start

import os
import time
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from gleaner.pruning.rules import PruneRules
from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.telemetry import make_logger, redact_errors
from gleaner.wiring import build_pruner

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_RESERVE_SECONDS = 5.0  # for work in flight to finish before Lambda times out

logger = make_logger()
metrics = Metrics(service="keyword-prune")
settings = PruneSettings.from_env(os.environ)
pruner = build_pruner(settings)
rules = PruneRules(
    max_age_days=settings.max_age_days, min_usage=settings.min_usage, hard_max_age_days=settings.hard_max_age_days
)
gc.freeze()  # later collections skip it, too
gc.enable()


@redact_errors(logger)
@logger.inject_lambda_context(clear_state=True, log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Prune until done or almost out of time; return the progress."""
    seconds_left = context.get_remaining_time_in_millis() / 1000 - _RESERVE_SECONDS
    report = pruner.run(rules, by="schedule", dry_run=False, deadline=Deadline(time.monotonic() + seconds_left))
    counts = report.counts
    metrics.add_metric("KeywordsPruned", MetricUnit.Count, counts.pruned)
    metrics.add_metric("KeywordsKept", MetricUnit.Count, counts.kept)
    metrics.add_metric("BrokenKeywords", MetricUnit.Count, counts.broken)
    metrics.add_metric("WebAnswersDeleted", MetricUnit.Count, counts.answers_deleted)
    metrics.add_metric("UnfinishedRuns", MetricUnit.Count, int(not report.finished))
    result = {
        "run_id": report.run_id,
        "finished": report.finished,
        "examined": counts.examined,
        "pruned": counts.pruned,
        "kept": counts.kept,
        "broken": counts.broken,
        "answers_deleted": counts.answers_deleted,
        "duration_ms": report.duration_ms,
    }
    logger.info("pruning run", extra=result)
    return result
