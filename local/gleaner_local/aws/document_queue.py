"""The queue between the bucket and the ingest function: SQS of a ministack, with a dead-letter queue."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError

from gleaner_local.aws import ministack

MAX_RECEIVES = 5  # then a message is a dead letter, as on AWS
BATCH_SIZE = 1  # of a delivery, as infra/constructs/ingestion.py has it
_MAX_ENTRIES = 10  # of one request
_NAME = "gleaner-documents"
_DEAD_NAME = f"{_NAME}-dead"
_ACCOUNT = "000000000000"
_LIMITS = Config(connect_timeout=2, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})
_COUNTS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

Message = dict[str, Any]  # as ReceiveMessage returns it


class DocumentQueue:
    """The queue at one endpoint. It is kept in memory: whoever starts it sends again what is to be done.

    Methods raise what boto3 raises: ClientError with the code QueueDoesNotExist before create() and after the
    endpoint was started again.
    """

    def __init__(self, endpoint_url: str, *, visibility_seconds: int) -> None:
        """`visibility_seconds`: after them a message that was received and not deleted comes again."""
        self._endpoint_url = endpoint_url
        self._visibility_seconds = visibility_seconds
        self.url = f"{endpoint_url}/{_ACCOUNT}/{_NAME}"
        self._dead_url = f"{endpoint_url}/{_ACCOUNT}/{_DEAD_NAME}"

    @cached_property
    def _client(self) -> Any:  # most services never need one
        return ministack.session().client("sqs", endpoint_url=self._endpoint_url, config=_LIMITS)

    def create(self) -> None:
        """Create the queues that do not exist."""
        self._client.create_queue(QueueName=_DEAD_NAME)
        redrive = {
            "deadLetterTargetArn": f"arn:aws:sqs:{ministack.session().region_name}:{_ACCOUNT}:{_DEAD_NAME}",
            "maxReceiveCount": MAX_RECEIVES,
        }
        attributes = {"VisibilityTimeout": str(self._visibility_seconds), "RedrivePolicy": json.dumps(redrive)}
        self._client.create_queue(QueueName=_NAME, Attributes=attributes)

    def send(self, bodies: Iterable[str], *, delay_seconds: int = 0) -> None:
        """Send messages, which can be received after `delay_seconds`, at most 900."""
        rest = iter(bodies)
        while batch := list(islice(rest, _MAX_ENTRIES)):
            entries = [
                {"Id": str(number), "MessageBody": body, "DelaySeconds": delay_seconds}
                for number, body in enumerate(batch)
            ]
            answer = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)
            if refused := answer.get("Failed"):
                raise ClientError({"Error": refused[0]}, "SendMessageBatch")

    def receive(self) -> list[Message]:
        """At most BATCH_SIZE messages, without waiting for any."""
        return self._receive(self.url, BATCH_SIZE)

    def receive_dead(self) -> list[Message]:
        """Messages that were received too often; each is deleted from the dead-letter queue by this."""
        dead = self._receive(self._dead_url, _MAX_ENTRIES)
        self._delete(self._dead_url, dead)
        return dead

    def delete(self, messages: Sequence[Message]) -> None:
        """Delete messages that are done."""
        self._delete(self.url, messages)

    def postpone(self, messages: Sequence[Message], seconds: int) -> None:
        """Let messages come again after `seconds`."""
        if messages:
            entries = [one | {"VisibilityTimeout": seconds} for one in _receipts(messages)]
            self._client.change_message_visibility_batch(QueueUrl=self.url, Entries=entries)

    def is_empty(self) -> bool:
        """Whether nothing is to come: no message waits, is delayed, or was received and not deleted."""
        counts = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(_COUNTS))["Attributes"]
        return all(counts[name] == "0" for name in _COUNTS)

    def _receive(self, url: str, size: int) -> list[Message]:
        answer = self._client.receive_message(
            QueueUrl=url, MaxNumberOfMessages=size, MessageSystemAttributeNames=["All"], WaitTimeSeconds=0
        )
        messages: list[Message] = answer.get("Messages", [])
        return messages

    def _delete(self, url: str, messages: Sequence[Message]) -> None:
        if messages:
            self._client.delete_message_batch(QueueUrl=url, Entries=_receipts(messages))


def _receipts(messages: Sequence[Message]) -> list[Message]:
    return [{"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]} for number, message in enumerate(messages)]
