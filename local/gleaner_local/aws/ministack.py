"""DynamoDB on this machine: ministack in a subprocess, and its tables."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore.config import Config

from gleaner.model import utc_now
from gleaner.stores import dynamodb, schema
from gleaner.stores.items import to_item
from gleaner.stores.keyword_layout import COMPACT_FOR
from gleaner.stores.keyword_moving import new_layout
from gleaner.stores.schema import TableSchema
from gleaner_local.aws._ministack_process import MinistackProcess
from gleaner_local.ports import hold_port

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

NEW_LAYOUT: Any = to_item(new_layout(utc_now(), until=utc_now() + COMPACT_FOR))
_RESTART_PAUSE_SECONDS = 5.0
# ministack accepts any credentials, but boto3 requires some.
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
}
_PROFILE_VARIABLES = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE")


def with_credentials(env: Mapping[str, str]) -> dict[str, str]:
    """`env` with credentials and without a profile, as boto3 fails on one that is not configured."""
    return {name: value for name, value in env.items() if name not in _PROFILE_VARIABLES} | CREDENTIALS


class Ministack:
    """A ministack that keeps its tables in `state_dir`. If its process dies, another one takes its place."""

    def __init__(
        self, state_dir: Path, log_path: Path, *, services: str = "dynamodb", options: Mapping[str, str] | None = None
    ) -> None:
        """`services` are the emulated services, comma-separated; `options` are further variables of the process."""
        self._state_dir = state_dir
        self._log_path = log_path
        self._services = services
        self._options = dict(options or {})
        self._held_port: socket.socket | None = None
        self._process: MinistackProcess | None = None
        self._answers = False
        self._stop_requested = threading.Event()
        self._change = threading.Lock()  # held while a process is started or the stop is requested
        self._watch = threading.Thread(target=self._replace_dead_processes, name="ministack-watch", daemon=True)
        self.url = ""

    def start(self) -> None:
        """Start the process and wait until it answers. Raises RuntimeError that says why it does not."""
        self._state_dir.mkdir(parents=True, exist_ok=True)
        self._held_port = hold_port(0)  # also while the process is started again
        self.url = f"http://127.0.0.1:{self._held_port.getsockname()[1]}"
        self._launch()
        self._watch.start()

    def is_up(self) -> bool:
        """Whether the process runs and has answered."""
        return self._answers and self._process is not None and self._process.is_alive()

    @property
    def pid(self) -> int | None:
        """The id of the current process."""
        return self._process.pid if self._process else None

    def stop(self) -> None:
        """End the process. Nothing that it answered is lost."""
        with self._change:
            self._stop_requested.set()
        if self._process is not None:
            self._process.stop()
        if self._watch.is_alive():
            self._watch.join()
        if self._held_port is not None:
            self._held_port.close()

    def _launch(self) -> None:
        with self._change:
            if self._stop_requested.is_set():
                return
            process = MinistackProcess(self.url, self._state_dir, self._log_path, self._environment())
            self._process = process
        process.wait_until_it_answers()
        self._answers = True

    def _replace_dead_processes(self) -> None:
        while self._process is not None:
            self._process.wait()
            self._answers = False
            if self._stop_requested.is_set():
                return
            logger.warning("The local DynamoDB has ended. It is started again; its log is %s.", self._log_path)
            try:
                self._launch()
            except (RuntimeError, OSError) as error:
                logger.error("%s", error)  # noqa: TRY400 - the message says it all
                self._stop_requested.wait(_RESTART_PAUSE_SECONDS)

    def _environment(self) -> dict[str, str]:
        return (
            with_credentials(os.environ)
            | {
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(urlsplit(self.url).port),
                "SERVICES": self._services,
                "IOT_MTLS_ENABLED": "0",  # otherwise it listens on port 8883 of every interface, whatever the services
                "PERSIST_STATE": "0",  # it would write only when it is stopped; _durable_tables writes each change
                "LOG_LEVEL": "WARNING",
            }
            | self._options
        )


def create_tables(client: DynamoDBClient, names: dict[str, TableSchema]) -> None:
    """Create the tables that do not exist yet, and have all of them delete expired items.

    A new table holds no keywords of earlier versions, and says so, as after a first pruning run.
    """
    existing = set(client.list_tables()["TableNames"])
    for name, table in names.items():
        if name not in existing:
            client.create_table(**_table_definition(name, table))
            if table is schema.KEYWORDS:
                client.put_item(TableName=name, Item=NEW_LAYOUT)
        if table.ttl_attribute and not (name in existing and _expires_items(client, name)):
            expiry: Any = {"Enabled": True, "AttributeName": table.ttl_attribute}
            client.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)


def _expires_items(client: DynamoDBClient, name: str) -> bool:
    return client.describe_time_to_live(TableName=name)["TimeToLiveDescription"].get("TimeToLiveStatus") == "ENABLED"


# The variables that name the tables, and the tables' schemas.
TABLES = {
    "KEYWORDS_TABLE": schema.KEYWORDS,
    "CONVERSATIONS_TABLE": schema.CONVERSATIONS,
    "TOOL_CALLS_TABLE": schema.TOOL_CALLS,
    "IDEMPOTENCY_TABLE": schema.IDEMPOTENCY,
    "ACCESS_TABLE": schema.ACCESS,
    "USAGE_TABLE": schema.USAGE,
    "DOCUMENTS_TABLE": schema.DOCUMENTS,
}


def table_schemas(env: Mapping[str, str]) -> dict[str, TableSchema]:
    """The schemas of the tables, by the names that the environment gives them."""
    return {env[variable]: table for variable, table in TABLES.items()}


def table_client(endpoint_url: str) -> DynamoDBClient:
    """A client for `Table`, which does not wait for a local DynamoDB that hangs."""
    return dynamodb.connect(endpoint_url=endpoint_url, session=session())


def admin_client(endpoint_url: str) -> DynamoDBClient:
    """A client that may create tables in the local DynamoDB at `endpoint_url`, and validates its requests."""
    return dynamodb.connect(endpoint_url=endpoint_url, session=session(), config=Config())


@cache
def session() -> boto3.Session:
    """A session for clients of ministack that ignores the profile of the environment."""
    return boto3.Session(
        botocore_session=botocore.session.Session(session_vars={"profile": (None, None, None, None)}),
        region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def _table_definition(name: str, table: TableSchema) -> dict[str, Any]:
    keys = [table.partition_key, *([table.sort_key] if table.sort_key else [])]
    attributes = {*keys, *(key for index in table.indexes for key in (index.partition_key, index.sort_key))}
    definition: dict[str, Any] = {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": _key_schema(*keys),
        "AttributeDefinitions": [{"AttributeName": a, "AttributeType": "S"} for a in sorted(attributes)],
    }
    if table.indexes:
        definition["GlobalSecondaryIndexes"] = [
            {
                "IndexName": index.name,
                "KeySchema": _key_schema(index.partition_key, index.sort_key),
                "Projection": {"ProjectionType": "KEYS_ONLY" if index.keys_only else "ALL"},
            }
            for index in table.indexes
        ]
    return definition


def _key_schema(*keys: str) -> list[dict[str, str]]:
    return [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
