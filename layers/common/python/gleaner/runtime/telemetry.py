"""Logs, metrics and final errors of the functions, redacted wherever they may contain foreign text."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from aws_lambda_powertools import Logger, Metrics, single_metric
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from gleaner.guards.redaction import redact_value

SERVICE = "gleaner"  # also the parent of the loggers of the package's modules

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class FunctionFailed(Exception):
    """Replaces an unexpected error before it reaches Lambda; the redacted text is in the log."""


class _Provider(AmazonCloudWatchEMFProvider):
    def flush_metrics(self, raise_on_empty_metrics: bool = False) -> None:
        """Flush only if there are metrics: the base class warns if there are none, as after most requests."""
        if self.metric_set or raise_on_empty_metrics:
            super().flush_metrics(raise_on_empty_metrics)


def make_metrics(service: str) -> Metrics:
    """Build the metrics of a function; an invocation without metrics publishes nothing."""
    return Metrics(provider=_Provider(service=service))


def count_failed_answer(metrics: Metrics, version: str) -> None:
    """Write the metric of a request that this version of the function answered with a status of 500 or more.

    It is no error for Lambda. Where a new version gets a part of the requests, an alarm on its failures rolls it back,
    so this metric has the version as a dimension. It is written for failures only, because each version's is billed.
    """
    dimensions = {"service": metrics.service, "version": version}
    namespace = metrics.namespace
    with single_metric("FailedAnswers", MetricUnit.Count, 1, namespace=namespace, default_dimensions=dimensions):
        pass


def make_logger(*packages: str) -> Logger:
    """Build the logger of a function. Every log line of the process is one JSON object, even of other packages.

    `packages` are ours besides this one. Others log warnings and errors only, whatever their own settings: they would
    log what they send.
    """
    logger = Logger(service=SERVICE, json_serializer=_to_line)
    own = logging.getLogger(SERVICE)
    own.propagate = False
    for package in packages:
        logging.getLogger(package).parent = own
    others = logging.StreamHandler(logger.logger_handler.stream)  # type: ignore[attr-defined]
    others.setFormatter(logger.logger_handler.formatter)
    others.setLevel(logging.WARNING)
    logging.root.handlers = [others]
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # otherwise a record that cannot be formatted is printed unredacted
    return logger


def redact_errors(logger: Logger) -> Callable[[Handler], Handler]:
    """Wrap a handler so that no error reaches Lambda, which would log it unredacted."""

    def decorate(handler: Handler) -> Handler:
        @wraps(handler)
        def guarded(event: dict[str, Any], context: Any) -> dict[str, Any]:
            try:
                return handler(event, context)
            except Exception as error:
                logger.exception("the function failed")
                raise FunctionFailed(f"{type(error).__name__}; the log says more.") from None

        return guarded

    return decorate


def _to_line(record: dict[str, Any]) -> str:
    # ASCII only: no character may break the line or be one that standard output cannot encode.
    return json.dumps(redact_value(record), separators=(",", ":"))
