"""The ingest function: takes messages from the queue and loads the documents that they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from aws_cdk import CfnResource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.document_events import DocumentEvents
from infra.constructs.grants import allow
from infra.constructs.python_function import PythonFunction
from infra.data_stack import DataStack
from infra.documents import Documents
from infra.environment import Environment, Function

# Of a batch, each message waits until the one before is done, and a document may take the whole invocation.
_BATCH = 1


class Ingestion(Construct):
    """The function and what invokes it. It reads the bucket, and can change nothing there."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        documents: Documents,
        code: Path,
        layers: Sequence[lambda_.ILayerVersion],
        data: DataStack,
        bucket: s3.Bucket,
        events: DocumentEvents,
        pinecone_index_host: str,
    ) -> None:
        super().__init__(scope, id)
        python = PythonFunction(
            self,
            "Python",
            environment=environment,
            description=f"Gleaner {environment.name}: loads documents into the index",
            code=code,
            layers=layers,
            size=Function(memory_mb=documents.memory_mb, timeout_seconds=documents.timeout_seconds),
            variables={
                "DOCUMENTS_TABLE": data.tables.documents.table_name,
                "DOCUMENTS_BUCKET": bucket.bucket_name,
                "DOCUMENTS_QUEUE_URL": events.queue.queue_url,
                "PINECONE_INDEX_HOST": pinecone_index_host,
                "API_KEYS_SECRET_ARN": data.api_keys.secret_arn,
                "POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(environment),
            },
            # Lambda follows messages by the SDK's trace header, and after 16 invocations in a row would send the one
            # that goes on with a long document, or waits for the index, to the dead letters ("Lambda recursive loop
            # detection" in its guide). What ends the chain is a checkpoint that grows, or an index that takes more.
            invokes_itself=True,
        )
        self.function = python.function
        self.log_group = python.log_group
        _grant(python.role, data, bucket, events)
        lambda_.EventSourceMapping(
            self,
            "Messages",
            target=self.function,
            event_source_arn=events.queue.queue_arn,
            batch_size=_BATCH,
            max_concurrency=documents.max_concurrency,
            report_batch_item_failures=True,
        )


def _grant(role: iam.Role, data: DataStack, bucket: s3.Bucket, events: DocumentEvents) -> None:
    allow(role, data.tables.documents, ("GetItem", "UpdateItem", "DeleteItem"))
    role.add_to_policy(
        iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=[data.api_keys.secret_arn])
    )
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[bucket.arn_for_objects("*")]))
    # Without this S3 answers 403, and not 404, for an object that is gone ("GetObject" in its API reference).
    role.add_to_policy(iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn]))
    # To itself: a document that outlasts the function goes on with a message of its own.
    actions = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"]
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=[events.queue.queue_arn]))
    acknowledge(
        role, f"AwsSolutions-IAM5[Resource::<{_logical_id(bucket)}.Arn>/*]", "The function loads every document."
    )


def _logical_id(bucket: s3.Bucket) -> str:
    return bucket.stack.get_logical_id(cast(CfnResource, bucket.node.default_child))
