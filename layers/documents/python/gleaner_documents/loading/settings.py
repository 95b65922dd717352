"""The settings of the ingest function, read once from environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gleaner.errors import ConfigurationError
from gleaner.runtime.settings import read_index_host
from gleaner.runtime.variables import read_positive, read_url, require
from gleaner_documents.reading_process import MAX_MEMORY_BYTES

_MB = 1024**2
# Of the function's memory, for the function itself: its packages, a file of 50 MB, its text and its chunks.
_OWN_MEMORY_MB = 512
_MIN_READING_MB = 512  # of address space, of which Python and a parser take half before they read anything


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class IngestSettings:
    """The configuration of the ingest function. Has no repr: it may hold a key."""

    documents_table: str
    documents_bucket: str
    documents_queue_url: str
    pinecone_index_host: str
    api_keys_secret_arn: str | None
    pinecone_api_key: str
    dynamodb_endpoint_url: str | None
    s3_endpoint_url: str | None
    sqs_endpoint_url: str | None
    reading_memory_bytes: int  # of the process that reads documents

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> IngestSettings:
        """Read the settings from environment variables. Raises ConfigurationError as `Settings.from_env` does."""
        keys = () if env.get("API_KEYS_SECRET_ARN") else ("PINECONE_API_KEY",)
        require(env, ("DOCUMENTS_TABLE", "DOCUMENTS_BUCKET", "DOCUMENTS_QUEUE_URL", *keys))
        host = read_index_host(env)
        if host is None:
            raise ConfigurationError("Set the environment variable(s) PINECONE_INDEX_HOST.")
        return cls(
            documents_table=env["DOCUMENTS_TABLE"],
            documents_bucket=env["DOCUMENTS_BUCKET"],
            documents_queue_url=env["DOCUMENTS_QUEUE_URL"],
            pinecone_index_host=host,
            api_keys_secret_arn=env.get("API_KEYS_SECRET_ARN") or None,
            pinecone_api_key=env.get("PINECONE_API_KEY", ""),
            dynamodb_endpoint_url=read_url(env, "AWS_ENDPOINT_URL_DYNAMODB"),
            s3_endpoint_url=read_url(env, "AWS_ENDPOINT_URL_S3"),
            sqs_endpoint_url=read_url(env, "AWS_ENDPOINT_URL_SQS"),
            reading_memory_bytes=_read_reading_memory(env),
        )


def _read_reading_memory(env: Mapping[str, str]) -> int:
    """Lambda kills a function that takes more memory than it has, with all that it was doing."""
    own_mb = read_positive(env, "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", MAX_MEMORY_BYTES / _MB + _OWN_MEMORY_MB)
    return min(MAX_MEMORY_BYTES, int(max(_MIN_READING_MB, own_mb - _OWN_MEMORY_MB)) * _MB)
