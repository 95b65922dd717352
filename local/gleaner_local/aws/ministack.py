"""DynamoDB on this machine: ministack in a subprocess, and its tables."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import botocore.session

from gleaner.stores import schema
from gleaner.stores.schema import TableSchema

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

START_SECONDS = 30.0
STOP_SECONDS = 10.0
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
    """One ministack process that saves its state in `state_dir` when it is stopped."""

    def __init__(
        self, state_dir: Path, log_path: Path, *, services: str = "dynamodb", options: Mapping[str, str] | None = None
    ) -> None:
        """`services` are the emulated services, comma-separated; `options` are further variables of the process."""
        self._state_dir = state_dir
        self._log_path = log_path
        self._services = services
        self._options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        """Start the process and wait until it answers. Raises RuntimeError that names its log if it does not."""
        self._state_dir.mkdir(parents=True, exist_ok=True)
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        env = (
            with_credentials(os.environ)
            | {
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(port),
                "SERVICES": self._services,
                "IOT_MTLS_ENABLED": "0",  # otherwise it listens on port 8883 of every interface, whatever the services
                "PERSIST_STATE": "1",
                "STATE_DIR": str(self._state_dir),
                "LOG_LEVEL": "WARNING",
            }
            | self._options
        )
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [sys.executable, "-m", "gleaner_local.aws._ministack_keeper", str(self._state_dir)],
                env=env,
                stdin=subprocess.PIPE,  # stays open while this process lives
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_it_answers()

    def stop(self) -> None:
        """End the process after it has written its state."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process is not None and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}/_ministack/health", timeout=1):  # noqa: S310 - loopback
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        self.stop()
        raise RuntimeError(f"The local DynamoDB did not start; see {self._log_path}.")


def create_tables(client: DynamoDBClient, names: dict[str, TableSchema]) -> None:
    """Create the tables that do not exist yet."""
    existing = set(client.list_tables()["TableNames"])
    for name, table in names.items():
        if name not in existing:
            client.create_table(**_table_definition(name, table))


# The variables that name the tables, and the tables' schemas.
TABLES = {
    "KEYWORDS_TABLE": schema.KEYWORDS,
    "CONVERSATIONS_TABLE": schema.CONVERSATIONS,
    "TOOL_CALLS_TABLE": schema.TOOL_CALLS,
    "IDEMPOTENCY_TABLE": schema.IDEMPOTENCY,
}


def table_schemas(env: Mapping[str, str]) -> dict[str, TableSchema]:
    """The schemas of the tables, by the names that the environment gives them."""
    return {env[variable]: table for variable, table in TABLES.items()}


def admin_client(endpoint_url: str) -> DynamoDBClient:
    """A client that may create tables in the local DynamoDB at `endpoint_url`."""
    return session().client("dynamodb", endpoint_url=endpoint_url)


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
