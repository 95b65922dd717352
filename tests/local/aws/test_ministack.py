"""The local DynamoDB loses nothing that it answered, refuses damaged files and is replaced when it dies."""

from __future__ import annotations

import itertools
import json
import os
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from gleaner.runtime.deadline import Deadline
from gleaner.stores.failures import retry_within
from gleaner_local.aws import ministack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

pytestmark = pytest.mark.slow


@contextmanager
def running(
    path: Path, options: Mapping[str, str] | None = None
) -> Iterator[tuple[ministack.Ministack, DynamoDBClient]]:
    server = ministack.Ministack(path / "state", path / "log", options=options)
    server.start()
    try:
        yield server, ministack.admin_client(server.url)
    finally:
        server.stop()


def create(client: DynamoDBClient) -> None:
    ministack.create_tables(
        client, {name.lower(): schema for name, schema in ministack.TABLES.items() if name == "CONVERSATIONS_TABLE"}
    )


def expire(client: DynamoDBClient) -> None:
    client.update_time_to_live(
        TableName=TABLE, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"}
    )


def key_names(client: DynamoDBClient) -> list[str]:
    keys = client.describe_table(TableName=TABLE)["Table"]["KeySchema"]
    return [key["AttributeName"] for key in keys]


TABLE = "conversations_table"


def make_item(client: DynamoDBClient, key: str, **attributes: Any) -> Any:
    return {name: {"S": key} for name in key_names(client)} | attributes


def put(client: DynamoDBClient, key: str, **attributes: Any) -> None:
    client.put_item(TableName=TABLE, Item=make_item(client, key, **attributes))


def stored(client: DynamoDBClient) -> list[dict[str, Any]]:
    pages = client.get_paginator("scan").paginate(TableName=TABLE, ConsistentRead=True)
    return [dict(item) for page in pages for item in page["Items"]]


def kill(server: ministack.Ministack) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)


def wait_until_up(server: ministack.Ministack, old_pid: int | None) -> None:
    deadline = time.monotonic() + 60
    while not (server.pid != old_pid and server.is_up()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


VALUES: dict[str, Any] = {
    "text": {"S": "Zürich 🦉 \u202e \x1b \ud800"},
    "number": {"N": "3.14159265358979323846264338327950288"},
    "bytes": {"B": b"\x00\xff"},
    "set": {"SS": ["a", "b"]},
    "nested": {"M": {"list": {"L": [{"NULL": True}, {"BOOL": False}, {"M": {}}]}}},
    "empty": {"S": ""},
}


def test_every_kind_of_write_and_value_survives_a_kill(tmp_path: Path) -> None:
    with running(tmp_path) as (server, client):
        create(client)
        put(client, "put", **{name: value for name, value in VALUES.items() if name != "text"})
        put(client, "replaced")
        put(client, "replaced", text={"S": "second"})
        put(client, "deleted")
        client.delete_item(TableName=TABLE, Key=make_item(client, "deleted"))
        update: Any = {"UpdateExpression": "ADD uses :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        for _ in range(3):
            client.update_item(TableName=TABLE, Key=make_item(client, "counted"), **update)
        batch = [{"PutRequest": {"Item": make_item(client, f"batch{number}")}} for number in range(5)]
        client.batch_write_item(RequestItems={TABLE: batch})  # type: ignore[dict-item]
        client.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": make_item(client, "transaction")}},
                {"Delete": {"TableName": TABLE, "Key": make_item(client, "batch0")}},
            ]
        )
        where = " AND ".join(f"{name} = 'batch1'" for name in key_names(client))
        client.execute_statement(Statement=f"DELETE FROM {TABLE} WHERE {where}")  # noqa: S608 - constants
        expire(client)
        before, old_pid = stored(client), server.pid
        count = client.describe_table(TableName=TABLE)["Table"]["ItemCount"]
        kill(server)
        wait_until_up(server, old_pid)
        assert sorted(stored(client), key=str) == sorted(before, key=str)
        assert len(before) == 7 == count == client.describe_table(TableName=TABLE)["Table"]["ItemCount"]
        assert client.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]["AttributeName"] == "expires_at"
        client.delete_table(TableName=TABLE)
    with running(tmp_path) as (_, client):
        assert client.list_tables()["TableNames"] == []


def test_what_was_answered_to_concurrent_writers_survives_repeated_kills(tmp_path: Path) -> None:
    answered: list[str] = []
    is_over = threading.Event()

    def write(writer: int, client: DynamoDBClient) -> None:
        for number in itertools.count():
            key = f"{writer}-{number}"
            try:
                put(client, key)
            except (ClientError, BotoCoreError):  # unanswered: it may be stored or not
                time.sleep(0.01)
            else:
                answered.append(key)
            if is_over.is_set():
                return

    with running(tmp_path) as (server, client):
        create(client)
        writers = [threading.Thread(target=write, args=(number, client), daemon=True) for number in range(4)]
        for writer in writers:
            writer.start()
        for _ in range(3):
            wait_for_more(answered, 100)
            old_pid = server.pid
            kill(server)
            wait_until_up(server, old_pid)
        is_over.set()
        for writer in writers:
            writer.join()
        [first, *_] = key_names(client)
        keys = {item[first]["S"] for item in stored(client)}
    assert set(answered) <= keys


def wait_for_more(answered: list[str], count: int) -> None:
    """Wait until so many more writes were answered."""
    enough, deadline = len(answered) + count, time.monotonic() + 120
    while len(answered) < enough:
        assert time.monotonic() < deadline
        time.sleep(0.01)


# ministack deletes expired items once a minute, in a thread of its own.
WITHOUT_PAUSES = """
import time
sleep = time.sleep
time.sleep = lambda seconds: sleep(seconds if seconds < 60 else 0.001)
"""


def test_expired_items_are_deleted_while_others_are_written(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_PAUSES)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    expired = {"expires_at": {"N": str(int(time.time()) - 60)}}
    refused: list[Exception] = []

    def write(writer: int, client: DynamoDBClient) -> None:
        for number in range(400):
            try:
                put(client, f"{writer}-expired-{number}", **expired)
                put(client, f"{writer}-renewed-{number}", **expired)
                put(client, f"{writer}-renewed-{number}")
            except ClientError as error:
                refused.append(error)

    with running(tmp_path, {"PYTHONPATH": path}) as (_, client):
        create(client)
        expire(client)
        writers = [threading.Thread(target=write, args=(number, client), daemon=True) for number in range(2)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        deadline = time.monotonic() + 120
        while any("expires_at" in item for item in stored(client)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert refused == []
        assert len(stored(client)) == 800 and not any("expires_at" in item for item in stored(client))


def test_what_expired_more_than_five_years_ago_or_has_no_number_for_its_time_stays(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_PAUSES)
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    expired = {f"{age}-years": {"N": str(int(time.time() - age * 366 * 24 * 3600))} for age in (4, 6)}
    with running(tmp_path, {"PYTHONPATH": path}) as (_, client):
        create(client)
        put(client, "a-text", expires_at={"S": "1"})
        for key, expires_at in expired.items():
            put(client, key, expires_at=expires_at)
        expire(client)
        deadline = time.monotonic() + 60
        while len(stored(client)) == 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)  # for many more rounds
        assert {item[key_names(client)[0]]["S"] for item in stored(client)} == {"a-text", "6-years"}


def test_a_stop_leaves_one_file_and_two_servers_never_share_it(tmp_path: Path) -> None:
    with running(tmp_path) as (_, client):
        create(client)
        put(client, "one")
    assert not list((tmp_path / "state").glob("*-wal"))
    with running(tmp_path) as (_, client):
        assert len(stored(client)) == 1


DAMAGE = {
    "empty": lambda _: b"",
    "half": lambda data: data[: len(data) // 2],
    "a page less": lambda data: data[:-4096],
    "ten bytes less": lambda data: data[:-10],
    "no header": lambda data: b"\x00" * 100 + data[100:],
    "zeros in the middle": lambda data: data[:8192] + b"\x00" * 4096 + data[12288:],
    "JSON": lambda _: b"{}",
    "text": lambda _: b"not a database at all, but longer than a header of one hundred bytes" * 3,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_and_left_alone(tmp_path: Path, damage: str) -> None:
    with running(tmp_path) as (_, client):
        create(client)
        for number in range(40):
            put(client, f"{number}", text={"S": "x" * 300})
    file = tmp_path / "state" / "tables.sqlite"
    damaged = DAMAGE[damage](file.read_bytes())
    file.write_bytes(damaged)
    with pytest.raises(RuntimeError, match=r"damaged.*move it away"), running(tmp_path):
        pass
    assert file.read_bytes() == damaged


def test_items_that_are_no_json_and_newer_versions_are_refused(tmp_path: Path) -> None:
    with running(tmp_path) as (_, client):
        create(client)
        put(client, "one")
    file = tmp_path / "state" / "tables.sqlite"
    for statement in ("PRAGMA user_version = 2", "UPDATE items SET item = '{\"half'", "DROP TABLE settings"):
        good = file.read_bytes()
        with sqlite3.connect(file) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(RuntimeError, match="damaged"), running(tmp_path):
            pass
        file.write_bytes(good)


def test_the_snapshot_of_an_earlier_version_is_moved_into_the_file(tmp_path: Path) -> None:
    with running(tmp_path) as (_, client):
        create(client)
        put(client, "one", **{name: value for name, value in VALUES.items() if name != "text"})
        before = stored(client)
    snapshot = tmp_path / "state" / "dynamodb.json"
    snapshot.write_text(json.dumps(_as_snapshot(tmp_path / "state" / "tables.sqlite")))
    (tmp_path / "state" / "tables.sqlite").unlink()
    with running(tmp_path) as (_, client):
        assert stored(client) == before
        put(client, "two")
    assert not snapshot.exists()
    with running(tmp_path) as (_, client):
        assert len(stored(client)) == 2
    snapshot.write_text('{"__ministack_format__": 2, "payl')
    (tmp_path / "state" / "tables.sqlite").unlink()
    with pytest.raises(RuntimeError, match="damaged"), running(tmp_path):
        pass
    assert snapshot.exists()


def _as_snapshot(file: Path) -> dict[str, Any]:
    """The tables as ministack 1.5.33 writes them at its stop (ministack/core/persistence.py)."""
    connection = sqlite3.connect(file)
    [(account, region, name, definition)] = connection.execute("SELECT account, region, name, definition FROM tables")
    items: dict[str, dict[str, Any]] = {}
    for partition_key, sort_key, item in connection.execute("SELECT partition_key, sort_key, item FROM items"):
        items.setdefault(partition_key, {})[sort_key] = json.loads(item)
    connection.close()
    table = json.loads(definition) | {"items": items}
    tables = {"__account_region_scoped__": True, "data": {f"{account}\0{region}\0{name!r}": table}}
    return {"__ministack_format__": 2, "payload": {"tables": tables}}


def test_a_write_to_a_locked_file_is_a_transient_error_and_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as (server, client):
        create(client)
        put(client, "one")
        other = sqlite3.connect(tmp_path / "state" / "tables.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ClientError, match="cannot write") as refusal:
            put(client, "two")
        assert retry_within(Deadline.after(60), "keywords")(refusal.value) == 0.0
        assert len(stored(client)) == 1
        other.execute("ROLLBACK")
        other.close()
        put(client, "three")
        assert len(stored(client)) == 2 and server.is_up()


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux has it")
def test_a_write_that_the_disk_refuses_is_a_permanent_error_and_changes_nothing(tmp_path: Path) -> None:
    with running(tmp_path) as (server, client):
        create(client)
        put(client, "one")
        assert server.pid is not None
        # A limit on the size of files stands for a full disk: the system refuses SQLite's write.
        unlimited = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (1, unlimited[1]))
        with pytest.raises(ClientError, match="cannot write") as refusal:
            put(client, "two")
        assert retry_within(Deadline.after(60), "keywords")(refusal.value) is None
        assert len(stored(client)) == 1
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, unlimited)
        put(client, "three")
        assert len(stored(client)) == 2 and server.is_up()


def test_a_file_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "state" / "tables.new").mkdir(parents=True)
    with pytest.raises(RuntimeError, match="cannot be written"), running(tmp_path):
        pass
