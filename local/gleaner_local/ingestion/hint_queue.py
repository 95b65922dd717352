"""The queue of a deployed environment: its messages have the function look at documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from gleaner.errors import ServiceUnavailable

_MAX_MESSAGES = 10  # of one request (SendMessageBatch in the API reference of SQS)
_ATTEMPTS = 3
_SENDERS = 8


class QueueUnavailable(ServiceUnavailable):
    """The queue of documents did not take a message."""

    service = "queue of documents"


class HintQueue:
    """Sends hints that objects are to be looked at. Methods also raise BotoCoreError and ClientError."""

    def __init__(self, client: Any, url: str, bucket: str) -> None:
        self._client = client
        self._url = url
        self._bucket = bucket

    def send(self, keys: Iterable[str]) -> int:
        """Send a hint for each key, many at once; returns their number. Raises QueueUnavailable."""
        with ThreadPoolExecutor(_SENDERS) as pool:
            return sum(pool.map(self._send_batch, _batches(keys)))

    def _send_batch(self, keys: Sequence[str]) -> int:
        entries = [
            {"Id": str(position), "MessageBody": json.dumps({"bucket": self._bucket, "key": key})}
            for position, key in enumerate(keys)
        ]
        for _ in range(_ATTEMPTS):
            response = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            refused = {failure["Id"] for failure in response.get("Failed", ())}
            entries = [entry for entry in entries if entry["Id"] in refused]
            if not entries:
                return len(keys)
        codes = sorted({failure["Code"] for failure in response["Failed"]})
        raise QueueUnavailable(f"The queue of documents takes no messages ({', '.join(codes)}).")


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while batch := list(islice(rest, _MAX_MESSAGES)):
        yield batch
