"""The events of S3 as EventBridge delivers them, for the objects of the bucket on this machine.

docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html. Unlike in S3's own notifications, keys are not encoded.
"""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from typing import Any

CREATED, DELETED = "Object Created", "Object Deleted"
_ACCOUNT, _REGION = "000000000000", "us-east-1"


def object_event(
    bucket: str, key: str, *, reason: str, size: int | None = None, etag: str | None = None
) -> dict[str, Any]:
    """The event of an object that was created, with its size and ETag, or of one that was deleted, without them.

    `reason` is the operation: PutObject, POST Object, DeleteObject.
    """
    # Events of one key are ordered by it.
    changed: dict[str, Any] = {"key": key, "sequencer": f"{time.time_ns():018X}"}
    if etag is not None:
        changed |= {"size": size, "etag": etag}
    detail: dict[str, Any] = {
        "version": "0",
        "bucket": {"name": bucket},
        "object": changed,
        "request-id": uuid.uuid4().hex[:16].upper(),
        "requester": _ACCOUNT,
        "source-ip-address": "127.0.0.1",
        "reason": reason,
    }
    if etag is None:
        detail["deletion-type"] = "Permanently Deleted"
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": DELETED if etag is None else CREATED,
        "source": "aws.s3",
        "account": _ACCOUNT,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": _REGION,
        "resources": [f"arn:aws:s3:::{bucket}"],
        "detail": detail,
    }
