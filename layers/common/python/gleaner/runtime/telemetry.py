"""Logs and metrics of the functions, and the errors that they end in. What may hold text of others is redacted here."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import AmazonCloudWatchEMFProvider

from gleaner.guards.redaction import redact_value

SERVICE = "gleaner"  # also the name of the logger that the loggers of the package's modules stand below

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class FunctionFailed(Exception):
    """What Lambda is told of an error that nobody foresaw: its text is in the log, redacted."""


class _Provider(AmazonCloudWatchEMFProvider):
    def flush_metrics(self, raise_on_empty_metrics: bool = False) -> None:
        """As the provider it derives from, which warns when there is nothing to publish, as after most requests."""
        if self.metric_set or raise_on_empty_metrics:
            super().flush_metrics(raise_on_empty_metrics)


def make_metrics(service: str) -> Metrics:
    """The metrics of a function; an invocation that counts nothing publishes nothing."""
    return Metrics(provider=_Provider(service=service))


def make_logger() -> Logger:
    """The logger of a function. Every line of the process is one JSON object, also those of other packages.

    Of those only warnings and errors are shown, whatever their own settings: they log what they send.
    """
    logger = Logger(service=SERVICE, json_serializer=_to_line)
    own = logging.getLogger(SERVICE)
    own.propagate = False
    others = logging.StreamHandler(logger.logger_handler.stream)  # type: ignore[attr-defined]
    others.setFormatter(logger.logger_handler.formatter)
    others.setLevel(logging.WARNING)
    logging.root.handlers = [others]
    logging.captureWarnings(True)
    logging.raiseExceptions = False  # else a record that cannot be formatted is printed as it is
    return logger


def without_leaks(logger: Logger) -> Callable[[Handler], Handler]:
    """The outermost edge of a function: Lambda writes what a handler raises to the log as it is."""

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
    # ASCII: no character may end a line or be one that standard output cannot take.
    return json.dumps(redact_value(record), separators=(",", ":"))
