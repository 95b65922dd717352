"""Reads hints that an object may have changed: events of S3 by EventBridge, and what is sent to look again.

The form of the events is in docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html. Object Created has the
reasons PutObject, POST Object, CopyObject and CompleteMultipartUpload; Object Deleted a `deletion-type`, Permanently
Deleted or Delete Marker Created. `version-id` and `sequencer` would order the events of a key. Nothing of that is
needed, as every event only makes the object be read as it is then. The key is the object's own: unlike in the
notifications that S3 sends to queues by itself it is not percent-encoded, so "+" and "%" stand for themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


class NotAHint(ValueError):
    """The message names no object."""


@dataclass(frozen=True, slots=True)
class Hint:
    """An object that may have changed."""

    bucket: str
    key: str


def read_hint(body: str) -> Hint:
    """The object that a message is about. Raises NotAHint."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAHint("The message is no JSON.") from error
    detail = _as_object(_as_object(message).get("detail"))
    bucket = _as_object(detail.get("bucket")).get("name") if detail else _as_object(message).get("bucket")
    key = _as_object(detail.get("object")).get("key") if detail else _as_object(message).get("key")
    if not (isinstance(bucket, str) and isinstance(key, str) and bucket and key):
        raise NotAHint("The message names no bucket and no object.")
    return Hint(bucket, key)


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
