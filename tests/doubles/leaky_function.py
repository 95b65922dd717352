"""A function that writes secrets to its log and its traces in every possible way.

Load it in a separate process: it changes the logging of its process.
"""

from __future__ import annotations

import logging
import warnings
from typing import Any

from gleaner.guards.redaction import protect
from gleaner.runtime.telemetry import make_logger, redact_errors
from gleaner.runtime.tracing import make_tracer
from tests.doubles.planted_secrets import FORGED, PROTECTED, SECRETS

logger = make_logger()
tracer = make_tracer("botocore")
protect([PROTECTED])


class Unprintable:
    """An object that cannot be converted to text."""

    def __str__(self) -> str:
        raise ValueError(PROTECTED)


@redact_errors(logger)
@logger.inject_lambda_context(clear_state=True, log_event=False)
@tracer.capture_lambda_handler(capture_response=False, capture_error=False)
def lambda_handler(event: dict[str, Any], _context: Any) -> dict[str, Any]:
    """Leak every secret, then fail."""
    everything = f"before\n{FORGED}\r{FORGED}\u2028{FORGED} \ud800 {event} " + "\n".join(SECRETS)
    names = ("gleaner", "gleaner.api.somewhere", "httpx", "botocore.endpoint", "")
    for name in names:
        log = logging.getLogger(name)
        log.setLevel(logging.DEBUG)
        log.debug("debug of %s: %s", name or "root", everything)
        log.warning("warning of %s: %s", name or "root", everything, extra={"said": [everything, {everything: 1}]})
        log.warning("too %s %s few", everything)  # noqa: PLE1206 - a message that cannot be formatted must not be printed
        log.warning("%s", Unprintable())
    warnings.warn(everything, stacklevel=1)
    logger.append_keys(kept=everything)
    try:
        raise ValueError(everything) from KeyError(everything)  # noqa: TRY301
    except ValueError as error:
        error.add_note(everything)
        logger.exception("caught", extra={"error": error})
    tracer.put_annotation("said", everything)
    tracer.put_metadata("said", {"password": "open sesame", "all": [everything]})
    with tracer.provider.in_subsegment("## leak"):
        raise ValueError(everything)
