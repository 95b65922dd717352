"""Builds the ingest function's clients and stores, once per process."""

from __future__ import annotations

from aws_lambda_powertools import Metrics

from gleaner.clients import document_queue, object_store, pinecone
from gleaner.clients.secrets import ApiKeysSecret
from gleaner.stores import dynamodb
from gleaner.stores.document_leases import DocumentLeases
from gleaner.stores.dynamodb import Table
from gleaner_documents.loading.ingestion import Ingestion
from gleaner_documents.loading.object_loading import ObjectLoader
from gleaner_documents.loading.settings import IngestSettings
from gleaner_documents.reading_process import ReadingProcess


def build_ingestion(settings: IngestSettings, metrics: Metrics) -> Ingestion:
    """What the function does with messages; sends nothing yet."""
    arn = settings.api_keys_secret_arn
    secret = ApiKeysSecret(arn) if arn else None
    knowledge_base = pinecone.connect(
        host=settings.pinecone_index_host,
        api_key=lambda: secret.read().pinecone if secret else settings.pinecone_api_key,
        repeats=False,
    )
    loader = ObjectLoader(
        object_store.connect(bucket=settings.documents_bucket, endpoint_url=settings.s3_endpoint_url),
        DocumentLeases(Table(dynamodb.connect(endpoint_url=settings.dynamodb_endpoint_url), settings.documents_table)),
        knowledge_base,
        read=ReadingProcess(max_memory_bytes=settings.reading_memory_bytes).read,
    )
    queue = document_queue.connect(url=settings.documents_queue_url, endpoint_url=settings.sqs_endpoint_url)
    return Ingestion(loader, queue, settings.documents_bucket, metrics)
