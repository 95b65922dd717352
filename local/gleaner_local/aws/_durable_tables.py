"""Makes the DynamoDB of ministack write each change to a file before it answers the request.

ministack itself keeps tables in memory and writes them when it is stopped. Every item that it stores or deletes passes
`_set_item`, `_remove_item` or `_items_replaced` of its module `dynamodb` (1.5.33, the version that is pinned), and
every request passes `handle_request`, one after the other on one event loop. A thread deletes expired items once a
minute and holds `_lock` meanwhile, as requests do here: it would delete what a request has just renewed, or begin a
transaction of the file in the middle of another. It would also delete what expired more than five years ago, and what
has a text for its time, which DynamoDB keeps ("Using DynamoDB Time to Live (TTL)", docs.aws.amazon.com).
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from ministack.core import persistence, responses
from ministack.services import dynamodb

from gleaner_local.aws._table_file import StateUnreadable, StoredTable, TableFile

logger = logging.getLogger(__name__)

_ITEM_WRITES = ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems", "BatchExecuteStatement")
_READS = ("Get", "Query", "Scan", "BatchGet", "TransactGet", "Describe", "List")
_TABLE_CHANGES = ("CreateTable", "DeleteTable", "UpdateTable")
_NOT_DEFINITION = ("items", dynamodb._INDEX_MEMBERS)
_PRIMARY_CODE = 0xFF  # the rest of SQLite's result codes tells more than we need
# Of the errors that DynamoDB declares for writes, the one for storage that takes no more. It is permanent.
_STORAGE_FULL = "ItemCollectionSizeLimitExceededException"
_EXPIRY_THREAD = "dynamodb-ttl-reaper"
_MAX_EXPIRED_SECONDS = 5 * 365.25 * 24 * 3600
_Response = tuple[int, dict[str, str], bytes]


class DurableTables:
    """The tables of ministack's DynamoDB, which are loaded from a file and written to it."""

    def __init__(self, file: TableFile) -> None:
        self._file = file
        self._stored_arns: set[str] = set()
        self._handle_request = dynamodb.handle_request
        self._set_item = dynamodb._set_item
        self._remove_item = dynamodb._remove_item
        self._items_replaced = dynamodb._items_replaced

    def load(self) -> None:
        """Replace the tables in memory with those of the file. Raises StateUnreadable."""
        try:
            state = {"tables": self._read_tables()}
            if (settings := self._file.settings()) is not None:
                state |= json.loads(settings, object_hook=persistence._json_object_hook)
            dynamodb.reset()
            dynamodb.load_persisted_state(state)
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise StateUnreadable(f"{type(error).__name__}: {error}") from error

    def take_over(self, snapshot: Path) -> None:
        """Move the tables of a file that ministack wrote when it was stopped. Raises StateUnreadable."""
        if not snapshot.exists():
            return
        if not self._stored_arns:
            try:
                state = json.loads(snapshot.read_text(), object_hook=persistence._json_object_hook)
                dynamodb.load_persisted_state(state["payload"])
                for table in dynamodb._tables.all_values():
                    self._save_items(table)
                    self._save_definition(table)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise StateUnreadable(f"{snapshot}: {type(error).__name__}: {error}") from error
            self._save_settings()
            self._file.commit()
        snapshot.replace(snapshot.with_suffix(".moved"))

    def install(self) -> None:
        """Write all changes from now on."""
        dynamodb._lock = threading.RLock()  # some requests take it themselves
        dynamodb._set_item = self._set_and_save_item
        dynamodb._remove_item = self._remove_and_save_item
        dynamodb._items_replaced = self._save_replaced_items
        dynamodb.handle_request = self._handle_and_commit

    async def _handle_and_commit(
        self, method: str, path: str, headers: dict[str, str], body: bytes, query_params: dict[str, Any]
    ) -> _Response:
        with dynamodb._lock:
            try:
                response: _Response = await self._handle_request(method, path, headers, body, query_params)
                self._save_definitions(headers.get("x-amz-target", "").rpartition(".")[2], body)
                self._file.commit()
            except sqlite3.Error as error:
                logger.error("The tables cannot be written: %s", error)  # noqa: TRY400 - the message says it all
                self._file.rollback()
                self.load()  # memory must not hold more than the file
                return _refuse_write(error)
            return response

    def _save_definitions(self, action: str, body: bytes) -> None:
        if action in _ITEM_WRITES or action.startswith(_READS):
            return
        if action not in _TABLE_CHANGES:
            self._save_settings()
            changed = list(dynamodb._tables.all_values())
        else:
            name = dynamodb._normalize_table_name(json.loads(body).get("TableName"))
            changed = [table] if (table := dynamodb._tables.get(name)) else []
        for table in changed:
            self._save_definition(table)
        for arn in self._stored_arns - {table["TableArn"] for table in dynamodb._tables.all_values()}:
            self._file.delete_table(arn)
            self._stored_arns.discard(arn)

    def _save_definition(self, table: dict[str, Any]) -> None:
        definition = {name: value for name, value in table.items() if name not in _NOT_DEFINITION}
        arn = table["TableArn"]
        _, _, _, region, account, name = arn.split(":", 5)
        text = json.dumps(definition, default=persistence._json_default)
        self._file.put_table(StoredTable(arn, account, region, name.removeprefix("table/"), text))
        self._stored_arns.add(arn)

    def _save_settings(self) -> None:
        """Save the rest of the state: tags, times to live, backups."""
        rest = {name: value for name, value in dynamodb.get_state().items() if name != "tables"}
        self._file.put_settings(json.dumps(rest, default=persistence._json_default))

    def _save_items(self, table: dict[str, Any]) -> None:
        for partition_key, bucket in table["items"].items():
            for sort_key, item in bucket.items():
                self._file.put_item(table["TableArn"], partition_key, sort_key, item)

    def _set_and_save_item(self, table: dict[str, Any], partition_key: str, sort_key: str, item: dict[str, Any]) -> Any:
        if table["TableArn"] not in self._stored_arns:  # another service of ministack created it
            self._save_definition(table)
        old_item = self._set_item(table, partition_key, sort_key, item)
        self._file.put_item(table["TableArn"], partition_key, sort_key, item)
        return old_item

    def _remove_and_save_item(self, table: dict[str, Any], partition_key: str, sort_key: str) -> Any:
        expires = threading.current_thread().name == _EXPIRY_THREAD
        if expires and not _may_expire(table, table["items"][partition_key][sort_key]):
            return None
        old_item = self._remove_item(table, partition_key, sort_key)
        self._file.delete_item(table["TableArn"], partition_key, sort_key)
        return old_item

    def _save_replaced_items(self, table: dict[str, Any]) -> None:
        self._items_replaced(table)
        self._file.delete_items(table["TableArn"])
        self._save_items(table)

    def _read_tables(self) -> Any:
        tables = responses.AccountRegionScopedDict()
        self._stored_arns = set()
        for stored in self._file.tables():
            table = json.loads(stored.definition, object_hook=persistence._json_object_hook)
            table["items"] = defaultdict(dict)
            for partition_key, sort_key, item in self._file.items(stored.arn):
                table["items"][partition_key][sort_key] = item
            dynamodb._update_counts(table)
            tables.set_scoped(stored.account, stored.region, stored.name, table)
            self._stored_arns.add(stored.arn)
        return tables


def _may_expire(table: dict[str, Any], item: dict[str, Any]) -> bool:
    _, _, _, region, account, name = table["TableArn"].split(":", 5)
    settings = dynamodb._ttl_settings.get_scoped(account, region, name.removeprefix("table/"))
    seconds = item[settings["AttributeName"]].get("N")
    return seconds is not None and float(seconds) >= time.time() - _MAX_EXPIRED_SECONDS


def _refuse_write(error: sqlite3.Error) -> _Response:
    """An error that clients retry if the file is locked, and one that they do not if the disk is full or fails."""
    message = f"The local DynamoDB cannot write its file: {error}"
    is_locked = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE == sqlite3.SQLITE_BUSY
    code, status = ("InternalServerError", 500) if is_locked else (_STORAGE_FULL, 400)
    refusal: _Response = responses.error_response_json(code, message, status)
    return refusal
