"""The deployed tables are those that the stores address."""

from __future__ import annotations

from typing import Any

import pytest

from gleaner.stores import schema
from gleaner.stores.schema import TableSchema
from tests.infra.synthesis import NAMES, resources, synthesis

TABLES = {
    "Keywords": schema.KEYWORDS,
    "Conversations": schema.CONVERSATIONS,
    "ToolCalls": schema.TOOL_CALLS,
    "Idempotency": schema.IDEMPOTENCY,
}


@pytest.mark.parametrize("environment", NAMES)
@pytest.mark.parametrize("name", TABLES)
def test_keys_indexes_and_expiry_are_the_schemas(environment: str, name: str) -> None:
    found = resources(synthesis().data[environment], "AWS::DynamoDB::GlobalTable")
    (table,) = [table["Properties"] for id, table in found.items() if id.startswith(f"Tables{name}")]
    assert _schema_of(table) == TABLES[name]
    types = {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}
    assert types == {"S"}


def _schema_of(table: dict[str, Any]) -> TableSchema:
    partition_key, sort_key = _keys(table["KeySchema"])
    indexes = []
    for index in table.get("GlobalSecondaryIndexes", ()):
        keys_only = index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
        assert keys_only or index["Projection"] == {"ProjectionType": "ALL"}
        partition, sort = _keys(index["KeySchema"])
        indexes.append(schema.Index(index["IndexName"], partition, sort or "", keys_only=keys_only))
    ttl = table.get("TimeToLiveSpecification", {})
    return TableSchema(
        partition_key=partition_key,
        sort_key=sort_key,
        indexes=tuple(indexes),
        ttl_attribute=ttl.get("AttributeName"),
    )


def _keys(key_schema: list[dict[str, str]]) -> tuple[str, str | None]:
    by_kind = {key["KeyType"]: key["AttributeName"] for key in key_schema}
    return by_kind["HASH"], by_kind.get("RANGE")
