"""The stack by which documents get into the index: a bucket, a queue, and the function that loads them."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.code import Code
from infra.constructs.backfill import Backfill
from infra.constructs.document_events import DocumentEvents
from infra.constructs.documents_bucket import documents_bucket, leave_bucket_name
from infra.constructs.index_host import read_index_host
from infra.constructs.ingestion import Ingestion
from infra.constructs.python_layer import common_layer, documents_layer
from infra.data_stack import DataStack
from infra.documents import Documents
from infra.environment import Environment
from infra.retention import is_protected
from infra.watched import WatchedDocuments, leave_names


class DocumentsStack(Stack):
    """What turns uploaded files into passages. The bucket holds the originals, so it is kept as the tables are."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        documents: Documents,
        data: DataStack,
        code: Code,
    ) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment.name}: bucket of documents, what loads them")
        self.termination_protection = is_protected(self, environment)
        bucket = documents_bucket(self, "Bucket", environment=environment, documents=documents)
        leave_bucket_name(self, environment, bucket)
        events = DocumentEvents(self, "Events", documents=documents, bucket=bucket)
        ingestion = Ingestion(
            self,
            "Ingestion",
            environment=environment,
            documents=documents,
            code=code.ingest,
            layers=[common_layer(self, "Layer", code), documents_layer(self, "DocumentsLayer", code)],
            data=data,
            bucket=bucket,
            events=events,
            pinecone_index_host=read_index_host(self, environment),
        )
        backfill = Backfill(self, "Backfill", bucket=bucket, queue=events.queue)
        leave_names(
            Construct(self, "Watched"),
            environment,
            WatchedDocuments(
                ingest_function=ingestion.function.function_name,
                ingest_log=ingestion.log_group.log_group_name,
                document_queue=events.queue.queue_name,
                document_dead_letters=events.dead_letters.queue_name,
                undelivered_documents=events.undelivered.queue_name,
            ),
        )
        for name, value in (
            ("DocumentsBucket", bucket.bucket_name),
            ("DocumentsQueueUrl", events.queue.queue_url),
            ("DocumentDeadLettersUrl", events.dead_letters.queue_url),
            ("UndeliveredDocumentsUrl", events.undelivered.queue_url),
            ("IngestFunctionName", ingestion.function.function_name),
            ("BackfillArn", backfill.machine.state_machine_arn),
        ):
            CfnOutput(self, name, value=value)
