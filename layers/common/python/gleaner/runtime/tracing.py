"""Traces of a function, with requests and errors redacted."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools import Tracer
from aws_xray_sdk.core import xray_recorder
from aws_xray_sdk.core.emitters.udp_emitter import UDPEmitter

from gleaner.guards.redaction import redact_json
from gleaner.runtime.telemetry import SERVICE

_TRACE_IDS = ("id", "trace_id", "parent_id")


def make_tracer(*packages: str) -> Tracer:
    """Build the tracer of a function; it traces calls made through `packages`.

    Without a list the tracer would load and patch every HTTP and database package that it finds.
    """
    xray_recorder.configure(emitter=_RedactingEmitter())
    return Tracer(service=SERVICE, patch_modules=packages)


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
