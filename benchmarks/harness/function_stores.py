"""Starts a store and an index for the query function, to be used with the scripted services."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gleaner.clients import pinecone
from gleaner.model import Record
from gleaner_local.aws import ministack
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from harness import scripted_services

PASSAGE = (
    "Duplicate keywords are merged by a conditional write: the second keyword raises the usage count of the first, "
    "and its association is kept. What differs in case or in white space is the same keyword. Case {number}."
)


@contextmanager
def start(folder: Path, services: scripted_services.Services) -> Iterator[dict[str, str]]:
    """Start tables, a secret and an index outside the function's process; the variables for the function."""
    index = EmbeddedIndex(folder / "index", None)
    server = AsgiServer(pinecone_server.create_app(index))
    aws = ministack.Ministack(folder / "aws", folder / "log", services="dynamodb,secretsmanager")
    with ExitStack() as stack:
        stack.callback(index.close)
        for running in (server, aws):
            running.start()
            stack.callback(running.stop)
        tables = {variable: variable.lower() for variable in ministack.TABLES}
        ministack.create_tables(ministack.admin_client(aws.url), ministack.table_schemas(tables))
        pinecone.connect(host=server.url, api_key=lambda: "k").upsert("default_kb", _records(), timeout=10)
        addresses = {
            "OPENAI_BASE_URL": services.model_url,
            "PERPLEXITY_BASE_URL": services.web_url,
            "PINECONE_INDEX_HOST": server.url,
            "AWS_ENDPOINT_URL_DYNAMODB": aws.url,
            "AWS_ENDPOINT_URL_SECRETS_MANAGER": aws.url,
            "API_KEYS_SECRET_ARN": _secret(aws.url),
        }
        yield ministack.CREDENTIALS | tables | addresses | {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner"}


def _secret(url: str) -> str:
    """Create a secret with API keys, which the scripted services ignore; its ARN."""
    client = ministack.session().client("secretsmanager", endpoint_url=url)
    keys = dict.fromkeys(("openai", "pinecone", "perplexity"), "key")
    arn: str = client.create_secret(Name="keys", SecretString=json.dumps(keys))["ARN"]
    return arn


def _records() -> list[Record]:
    """The passages, as the knowledge base stores them."""
    return [
        Record(
            id=f"handbook#{number}",
            text=PASSAGE.format(number=number),
            title="Handbook",
            chapter="Keywords",
            source_file_path="docs/keywords.md",
            chunk_index=number,
            content_hash="h",
        )
        for number in range(1, 6)
    ]
