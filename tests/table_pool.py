"""Empty tables for tests: used ones are emptied and lent again, because the emulator slows down with every table."""

from __future__ import annotations

from collections import deque
from typing import Any

from gleaner.stores import schema
from gleaner.stores.schema import TableSchema
from gleaner_local.aws import ministack

# Calls that a test abandoned may still write; until its tables are lent again, they have ended.
_MIN_RESTING = 8
_MAX_ITEMS = 100  # tables with more are not lent again
_MAX_DELETES = 25  # in one request


class TablePool:
    """Lends sets of tables, as names by the variables that a function reads them from."""

    def __init__(self, url: str) -> None:
        self._client = ministack.admin_client(url)
        self._resting: deque[dict[str, str]] = deque()
        self._created = 0

    def borrow(self) -> dict[str, str]:
        """Return names of empty tables."""
        while len(self._resting) > _MIN_RESTING:
            names = self._resting.popleft()
            if all(self._clear(names[variable], table) for variable, table in ministack.TABLES.items()):
                return names
        return self._create()

    def give_back(self, names: dict[str, str]) -> None:
        """Take tables back, whatever they contain."""
        self._resting.append(names)

    def _create(self) -> dict[str, str]:
        self._created += 1
        names = {
            variable: f"t{self._created}-{variable.removesuffix('_TABLE').lower().replace('_', '-')}"
            for variable in ministack.TABLES
        }
        ministack.create_tables(self._client, ministack.table_schemas(names))
        return names

    def _clear(self, name: str, table: TableSchema) -> bool:
        """Delete the items of a table; return False if they are too many, or the table is gone."""
        keys = {f"#{number}": key for number, key in enumerate((table.partition_key, table.sort_key)) if key}
        try:
            page: Any = self._client.scan(
                TableName=name, ProjectionExpression=", ".join(keys), ExpressionAttributeNames=keys, Limit=_MAX_ITEMS
            )
        except self._client.exceptions.ResourceNotFoundException:
            return False
        if page.get("LastEvaluatedKey"):
            return False
        items = page["Items"]
        for start in range(0, len(items), _MAX_DELETES):
            deletes: Any = [{"DeleteRequest": {"Key": item}} for item in items[start : start + _MAX_DELETES]]
            self._client.batch_write_item(RequestItems={name: deletes})
        if table is schema.KEYWORDS:
            self._client.put_item(TableName=name, Item=ministack.NEW_LAYOUT)
        return True
