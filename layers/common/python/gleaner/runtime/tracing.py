"""Traces of a function. What they say of requests and errors is redacted here."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools import Tracer
from aws_xray_sdk.core import xray_recorder
from aws_xray_sdk.core.emitters.udp_emitter import UDPEmitter

from gleaner.guards.redaction import redact_json
from gleaner.runtime.telemetry import SERVICE

_TRACE_IDS = ("id", "trace_id", "parent_id")


def make_tracer(*traced: str) -> Tracer:
    """The tracer of a function. Calls through the packages `traced` are in its traces.

    They are named, for left to itself it loads and patches every HTTP and database package that it finds.
    """
    xray_recorder.configure(emitter=_RedactingEmitter())
    return Tracer(service=SERVICE, patch_modules=traced)


class _RedactingEmitter(UDPEmitter):  # type: ignore[misc]  # the SDK has no types
    """Sends segments without secrets: they hold addresses, and the texts of exceptions."""

    def send_entity(self, entity: Any) -> None:
        super().send_entity(_Redacted(entity))


class _Redacted:
    def __init__(self, entity: Any) -> None:
        self._entity = entity

    def serialize(self) -> str:
        text = self._entity.serialize()
        document = json.loads(text)
        ids = {name: document[name] for name in _TRACE_IDS if name in document}
        return json.dumps(json.loads(redact_json(text)) | ids)
