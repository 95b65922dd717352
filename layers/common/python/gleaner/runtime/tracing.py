"""Traces of a function, with requests and errors redacted."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Tracer
from aws_xray_sdk.core import xray_recorder
from aws_xray_sdk.core.emitters.udp_emitter import UDPEmitter
from aws_xray_sdk.core.exceptions.exceptions import AlreadyEndedException
from aws_xray_sdk.core.models.subsegment import Subsegment

from gleaner.guards.redaction import redact_json
from gleaner.runtime.telemetry import SERVICE

if TYPE_CHECKING:
    from gleaner.runtime.spans import RecordSpan, Span

_TRACE_IDS = ("id", "trace_id", "parent_id")
_MIN_FAILED_STATUS = 400


def make_tracer(*packages: str) -> Tracer:
    """Build the tracer of a function; it traces calls made through `packages`.

    Without a list the tracer would load and patch every HTTP and database package that it finds.
    """
    xray_recorder.configure(emitter=_RedactingEmitter())
    return Tracer(service=SERVICE, patch_modules=packages)


def name_query(parent: Any, query_id: str) -> None:
    """Let traces be found by the id of a query; `parent` is None if the trace is not sampled."""
    if parent is not None:
        parent.put_annotation("query_id", query_id)


def span_recorder(parent: Any) -> RecordSpan | None:
    """Build what records spans as subsegments of `parent`, from any thread; None if the trace is not sampled."""
    return partial(_record_span, parent) if parent is not None and parent.sampled else None


def _record_span(parent: Any, span: Span) -> None:
    """Add a span to the trace. X-Ray indexes only 50 annotations of a trace, so numbers are metadata."""
    subsegment = Subsegment(span.name, "remote" if span.is_remote else "local", parent.parent_segment)
    subsegment.start_time = span.started_at
    subsegment.put_annotation("outcome", span.error or "ok")
    for name, fact in span.facts.items():
        if name == "http_status":
            subsegment.put_http_meta("status", fact)  # also marks the subsegment as failed
        elif isinstance(fact, str):
            subsegment.put_annotation(name, fact)
        else:
            subsegment.put_metadata(name, fact, SERVICE)
    if span.error and int(span.facts.get("http_status", 0)) < _MIN_FAILED_STATUS:
        subsegment.add_fault_flag()
    subsegment.close(span.ended_at)
    with suppress(AlreadyEndedException):  # a call may outlive its question, whose segment is then sent already
        parent.add_subsegment(subsegment)


class _RedactingEmitter(UDPEmitter):  # type: ignore[misc]  # the SDK has no types
    """Redacts segments before they are sent: they contain URLs and exception messages."""

    def send_entity(self, entity: Any) -> None:
        super().send_entity(_RedactedEntity(entity))


class _RedactedEntity:
    def __init__(self, entity: Any) -> None:
        self._entity = entity

    def serialize(self) -> str:
        text = self._entity.serialize()
        document = json.loads(text)
        ids = {name: document[name] for name in _TRACE_IDS if name in document}
        return json.dumps(json.loads(redact_json(text)) | ids)
