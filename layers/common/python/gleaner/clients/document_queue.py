"""The queue of hints that an object may have changed: an SQS client, for what is to be looked at again."""

from __future__ import annotations

import json
import math
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from gleaner.errors import ServiceUnavailable

MAX_DELAY_SECONDS = 900  # of one message (docs.aws.amazon.com, SendMessage: DelaySeconds)
_CLIENT = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 4})


class QueueUnavailable(ServiceUnavailable):
    """The queue failed, refused the message or could not be reached."""

    service = "queue of documents"


class DocumentQueue:
    """Sends hints. Methods raise QueueUnavailable."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, bucket: str, key: str, *, delay_seconds: float = 0.0) -> None:
        """Have an object looked at after a delay, of at most MAX_DELAY_SECONDS."""
        body = json.dumps({"bucket": bucket, "key": key})
        delay = min(MAX_DELAY_SECONDS, max(0, math.ceil(delay_seconds)))
        try:
            self._client.send_message(QueueUrl=self._url, MessageBody=body, DelaySeconds=delay)
        except (BotoCoreError, ClientError) as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else type(error).__name__
            raise QueueUnavailable(f"The queue of documents failed ({code}).") from error


def connect(*, url: str, endpoint_url: str | None = None) -> DocumentQueue:
    """The queue at `url`; sends nothing yet."""
    return DocumentQueue(boto3.client("sqs", endpoint_url=endpoint_url, config=_CLIENT), url)
