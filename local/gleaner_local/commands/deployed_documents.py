"""Finds where a deployed environment keeps documents, and explains what AWS refuses meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from gleaner.clients.object_store import ObjectStore
from gleaner.errors import GleanerError
from gleaner.stores import dynamodb
from gleaner.stores.documents import DocumentStore
from gleaner.stores.dynamodb import Table
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.diagnosis.aws import Account, explain_error
from gleaner_local.diagnosis.deployed import find_outputs
from gleaner_local.ingestion.bucket_files import Place
from gleaner_local.ingestion.hint_queue import HintQueue
from gleaner_local.ingestion.resync import Backfill
from infra.account import open_session

# The SDK repeats what fails on the way, with pauses that grow. A body of 50 MB may take long.
_CLIENT = Config(
    connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 5}, max_pool_connections=20
)
_FORBIDDEN = 'docs/17, "What must the command be allowed to do?", lists what they must be allowed to do.'


class DeployedDocuments(NamedTuple):
    """Where an environment keeps the documents of a knowledge base, and what lists its bucket into the queue."""

    place: Place
    backfill: Backfill


def find_documents(env: str, kb_id: str) -> DeployedDocuments:
    """What the stacks of the environment name. Raises CallFailed, BotoCoreError and ClientError."""
    account = Account()
    data, documents = (find_outputs(account, f"gleaner-{env}-{kind}") for kind in ("data", "documents"))
    if data is None:
        region = account.client("cloudformation").meta.region_name
        raise CallFailed(
            f"{env} is not deployed in {region} of this account. Name another region in AWS_REGION or account in "
            f"AWS_PROFILE, or deploy it: make deploy ENV={env}"
        )
    if documents is None:
        raise CallFailed(
            f"{env} has no stack for documents. Deploy it: make deploy ENV={env} STACK=documents; if its record in "
            "infra/environments.py has documents=None, load from this machine instead: docs/04."
        )
    table = _read(data, "DocumentsTable", env, "data")
    bucket, queue_url, backfill = (
        _read(documents, name, env, "documents") for name in ("DocumentsBucket", "DocumentsQueueUrl", "BackfillArn")
    )
    session = open_session()
    place = Place(
        kb_id=kb_id,
        objects=ObjectStore(session.client("s3", config=_CLIENT), bucket),
        states=DocumentStore(Table(session.client("dynamodb", config=dynamodb.LIMITS), table)),
        queue=HintQueue(session.client("sqs", config=_CLIENT), queue_url, bucket),
    )
    return DeployedDocuments(place, Backfill(session.client("stepfunctions", config=_CLIENT), backfill))


@contextmanager
def explain_aws_errors() -> Iterator[None]:
    """Raise CallFailed, which says what to do, in the place of what AWS refuses."""
    try:
        yield
    except (GleanerError, BotoCoreError, ClientError, ValueError) as error:  # ValueError: the region makes no address
        raise CallFailed(explain(error)) from error


def explain(error: Exception) -> str:
    """What an error of AWS means and what to do about it, also of one that a client of ours has translated."""
    cause = error.__cause__ if isinstance(error, GleanerError) else error
    if not isinstance(cause, BotoCoreError | ClientError | ValueError):
        return str(error)
    finding = explain_error("documents", cause, forbidden=_FORBIDDEN)
    return f"{finding.seen} {finding.remedy}"


def _read(outputs: Mapping[str, str], name: str, env: str, kind: str) -> str:
    value = outputs.get(name)
    if not value:
        raise CallFailed(
            f"gleaner-{env}-{kind} has no output {name}. Deploy it again: make deploy ENV={env} STACK={kind}"
        )
    return value
