"""From a change in the bucket to a message: a rule of EventBridge, the queue, and where messages end that fail."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.documents import Documents

MAX_RECEIVES = 5  # at least 5, so that throttling alone gives no message up (AWS's advice for functions behind queues)
_KEPT = Duration.days(14)  # the most that SQS keeps a message: a million documents wait for days
_DELIVERY_HOURS = 24  # how long EventBridge tries, which is the most that it can
_DELIVERY_TRIES = 185  # ditto


class DocumentEvents(Construct):
    """The queue gets a message for each object that comes or goes.

    A message that keeps failing ends in `dead_letters`, one that EventBridge could not deliver in `undelivered`.
    """

    def __init__(self, scope: Construct, id: str, *, documents: Documents, bucket: s3.Bucket) -> None:
        super().__init__(scope, id)
        self.dead_letters = self._last_queue("DeadLetters")
        self.undelivered = self._last_queue("Undelivered")
        self.queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=_KEPT,
            visibility_timeout=Duration.seconds(documents.hidden_seconds),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead_letters, max_receive_count=MAX_RECEIVES),
        )
        events.Rule(
            self,
            "Changes",
            description="Objects that come into the bucket of the documents, and that go",
            event_pattern=events.EventPattern(
                source=["aws.s3"],
                detail_type=["Object Created", "Object Deleted"],
                detail={"bucket": {"name": [bucket.bucket_name]}},
            ),
            targets=[
                targets.SqsQueue(
                    self.queue,
                    dead_letter_queue=self.undelivered,
                    max_event_age=Duration.hours(_DELIVERY_HOURS),
                    retry_attempts=_DELIVERY_TRIES,
                )
            ],
        )

    def _last_queue(self, id: str) -> sqs.Queue:
        queue = sqs.Queue(
            self, id, encryption=sqs.QueueEncryption.SQS_MANAGED, enforce_ssl=True, retention_period=_KEPT
        )
        acknowledge(queue, "AwsSolutions-SQS3", "This queue is a dead-letter queue.")
        return queue
