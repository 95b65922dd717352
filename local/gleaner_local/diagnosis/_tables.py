"""Checks DynamoDB tables against the schema that the stores address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gleaner.stores.schema import Index, TableSchema
from gleaner_local.diagnosis.finding import Finding, ok, problem

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SUBJECT = "tables"


def check_tables(client: DynamoDBClient, schemas: Mapping[str, TableSchema], *, mend: str) -> Iterator[Finding]:
    """Check keys, indexes and state of the tables by name; `mend` says how a wrong table is put right.

    Raises what the client raises, but for a table that does not exist.
    """
    right = []
    for name, schema in schemas.items():
        wrong = list(_wrong_with(client, name, schema))
        yield from (problem(SUBJECT, f"The table {name} {text}.", mend) for text in wrong)
        if not wrong:
            right.append(name)
    if right:
        yield ok(SUBJECT, f"Active, with the keys and indexes that the stores address: {', '.join(right)}.")


def _wrong_with(client: DynamoDBClient, name: str, schema: TableSchema) -> Iterator[str]:
    try:
        table: Mapping[str, Any] = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        yield "does not exist"
        return
    if table["TableStatus"] != "ACTIVE":
        yield f"is {table['TableStatus']}, not ACTIVE"
    keys = [schema.partition_key, *([schema.sort_key] if schema.sort_key else [])]
    types = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}
    if _keys(table) != keys or any(types.get(key) != "S" for key in keys):
        yield f"has the keys {', '.join(_keys(table))} instead of the texts {', '.join(keys)}"
    found = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", ())}
    for index in schema.indexes:
        yield from _wrong_with_index(index, found.get(index.name), types)


def _wrong_with_index(index: Index, found: Mapping[str, Any] | None, types: Mapping[str, str]) -> Iterator[str]:
    if found is None:
        yield f"has no index {index.name}"
        return
    keys = [index.partition_key, index.sort_key]
    if _keys(found) != keys or any(types.get(key) != "S" for key in keys):
        yield f"has the index {index.name} over {', '.join(_keys(found))} instead of the texts {', '.join(keys)}"
    if not index.keys_only and found.get("Projection", {}).get("ProjectionType") != "ALL":
        yield f"has the index {index.name} without all attributes"
    if found.get("IndexStatus", "ACTIVE") != "ACTIVE":
        yield f"has the index {index.name}, which is {found['IndexStatus']}"


def _keys(described: Mapping[str, Any]) -> list[str]:
    """The attributes of a key, the partition's first."""
    return [key["AttributeName"] for key in sorted(described["KeySchema"], key=lambda key: str(key["KeyType"]))]
