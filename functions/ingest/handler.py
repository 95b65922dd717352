"""The ingest function: loads the documents that the messages of the queue hint at."""

from __future__ import annotations

import gc

gc.disable()  # what is loaded here stays; collecting garbage would add a fifteenth to the start

import os
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from gleaner.errors import ConfigurationError
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.telemetry import make_logger, make_metrics, redact_errors
from gleaner_documents.loading.object_loading import MIN_SECONDS
from gleaner_documents.loading.settings import IngestSettings
from gleaner_documents.loading.wiring import build_ingestion

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

_RESERVE_SECONDS = 30.0  # to note what is done, and to hand on what is not, before Lambda ends the function

logger = make_logger("gleaner_documents")
metrics = make_metrics("ingest")
ingestion = build_ingestion(IngestSettings.from_env(os.environ), metrics)
# All messages may fail: they are delivered again, and the metrics count them. The function did not fail.
processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
gc.freeze()  # later collections skip it, too
gc.enable()


@redact_errors(logger)
@logger.inject_lambda_context(clear_state=True, log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Load the documents of a batch; return the ids of the messages that are to be delivered again."""
    seconds = context.get_remaining_time_in_millis() / 1000 - _RESERVE_SECONDS
    if seconds < MIN_SECONDS:  # every message would be handed on for ever
        raise ConfigurationError(f"The function needs a timeout of {MIN_SECONDS + _RESERVE_SECONDS:g} seconds or more.")
    deadline = Deadline.after(seconds)

    def take(record: SQSRecord) -> None:
        ingestion.take(record.body, deadline=deadline)

    response = process_partial_response(event=event, record_handler=take, processor=processor, context=context)
    return dict(response)
