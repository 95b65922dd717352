"""Lambda's event source for SQS on this machine: hands the messages of a queue to a function, in batches.

docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html: what the function reports in `batchItemFailures`
comes again, all of a batch if the function fails, and the rest is deleted.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from gleaner.errors import GleanerError
from gleaner_local.aws.document_queue import MAX_RECEIVES, DocumentQueue, Message
from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed

_POLL_SECONDS = 1.0  # while a message is delayed
_FAULT_SECONDS = 2.0  # between tries to reach a queue that does not answer
_IDLE_SECONDS = 60.0  # then the function's process ends, which keeps the packages of all readers in memory

logger = logging.getLogger(__name__)

Handled = Callable[[Sequence[Message]], None]


class EventSource:
    """Polls a queue in a thread while anything is in it; otherwise it waits for wake().

    A failed message comes again after `retry_seconds` for each time that it was received. If the function was cut off,
    its messages come again after `cut_off_seconds`, when whatever it held has expired.
    """

    def __init__(
        self,
        queue: DocumentQueue,
        environments: ExecutionEnvironments,
        *,
        outbox: Callable[[bool], Iterable[str]],
        on_done: Handled,
        on_dead: Handled,
        retry_seconds: int,
        cut_off_seconds: int,
    ) -> None:
        """`outbox` has the bodies of messages to send: all that are not done (True), or those since it was asked last.

        `on_done` gets messages that are done, and `on_dead` those that were given up.
        """
        self._queue = queue
        self._environments = environments
        self._outbox = outbox
        self._on_done = on_done
        self._on_dead = on_dead
        self._retry_seconds = retry_seconds
        self._cut_off_seconds = cut_off_seconds
        self._has_queue = False
        self._is_stopping = False
        self._wakened = threading.Event()
        self._thread = threading.Thread(target=self._run, name="event-source", daemon=True)

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def wake(self) -> None:
        """Look into the outbox and the queue, as a message may be there."""
        self._wakened.set()

    def stop(self) -> None:
        """Stop polling and cut off the invocation in flight: its messages are sent again at the next start."""
        self._is_stopping = True
        self._wakened.set()
        self._environments.cut_off()
        if self._thread.is_alive():
            self._thread.join()
        self._environments.stop()

    def _run(self) -> None:
        while not self._is_stopping:
            try:
                self._send()
                if self._has_queue:
                    self._poll()
                else:
                    self._wait(None)
            except (ClientError, BotoCoreError, GleanerError) as error:
                logger.warning("The queue of documents fails: %s", error)
                self._has_queue = False  # it was in memory: everything is sent again
                self._wait(_FAULT_SECONDS)

    def _send(self) -> None:
        """Send what is in the outbox. The queue is created for the first message: most services never have one."""
        bodies = list(self._outbox(not self._has_queue))
        if bodies and not self._has_queue:
            self._queue.create()
            self._has_queue = True
        if bodies:
            self._queue.send(bodies)

    def _poll(self) -> None:
        """Hand on what can be received now, or wait until there may be something."""
        if messages := self._queue.receive():
            self._deliver(messages)
        elif dead := self._queue.receive_dead():
            self._on_dead(dead)
        elif not self._queue.is_empty():
            self._wait(_POLL_SECONDS)
        elif not self._wait(_IDLE_SECONDS):
            self._environments.stop_idle()
            self._wait(None)

    def _wait(self, seconds: float | None) -> bool:
        """Wait for wake(), and return whether it came."""
        is_wakened = self._wakened.wait(seconds)
        self._wakened.clear()
        return is_wakened

    def _deliver(self, messages: Sequence[Message]) -> None:
        event = {"Records": [_to_record(message) for message in messages]}
        try:
            answer = self._environments.invoke(event, str(uuid.uuid4()))
        except HandlerFailed as error:
            if not self._is_stopping:
                logger.warning("The ingest function failed: %s", error)
                self._put_back(messages, self._cut_off_seconds)
            return
        failed = _find_failed(answer, messages)
        done = [message for message in messages if message not in failed]
        self._queue.delete(done)
        for message in failed:
            self._put_back([message], self._retry_seconds * _receives(message))
        self._on_done(done)

    def _put_back(self, messages: Sequence[Message], seconds: int) -> None:
        """Let messages come again; those that have come too often become dead letters when they are asked for."""
        for message in messages:
            self._queue.postpone([message], 0 if _receives(message) >= MAX_RECEIVES else seconds)


def _receives(message: Message) -> int:
    return int(message["Attributes"]["ApproximateReceiveCount"])


def _to_record(message: Message) -> dict[str, Any]:
    """A message as the event of Lambda has it."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:gleaner-documents",
        "awsRegion": "us-east-1",
    }


def _find_failed(answer: dict[str, Any] | None, messages: Sequence[Message]) -> list[Message]:
    """The messages that the function reports as failed; all, as for Lambda, if it reports one that it did not get."""
    reported = {item.get("itemIdentifier") for item in (answer or {}).get("batchItemFailures") or ()}
    if not reported <= {message["MessageId"] for message in messages}:
        return list(messages)
    return [message for message in messages if message["MessageId"] in reported]
