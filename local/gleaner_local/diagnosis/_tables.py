"""Checks DynamoDB tables against the schema that the stores expect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gleaner.stores.schema import Index, TableSchema
from gleaner_local.diagnosis.finding import Finding, ok, problem

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SUBJECT = "tables"


def check_tables(client: DynamoDBClient, schemas: Mapping[str, TableSchema], *, fix: str) -> Iterator[Finding]:
    """Check keys, indexes and state of the tables by name; `fix` says how to repair a faulty table.

    Errors of the client pass through, except that a missing table is a finding.
    """
    faultless = []
    for name, schema in schemas.items():
        faults = list(_find_faults(client, name, schema))
        yield from (problem(SUBJECT, f"The table {name} {text}.", fix) for text in faults)
        if not faults:
            faultless.append(name)
    if faultless:
        yield ok(SUBJECT, f"Active, with the keys and indexes that the stores expect: {', '.join(faultless)}.")


def _find_faults(client: DynamoDBClient, name: str, schema: TableSchema) -> Iterator[str]:
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
        yield f"has the keys {', '.join(_keys(table))} instead of the string keys {', '.join(keys)}"
    indexes = {index["IndexName"]: index for index in table.get("GlobalSecondaryIndexes", ())}
    for index in schema.indexes:
        yield from _find_index_faults(index, indexes.get(index.name), types)


def _find_index_faults(index: Index, description: Mapping[str, Any] | None, types: Mapping[str, str]) -> Iterator[str]:
    if description is None:
        yield f"has no index {index.name}"
        return
    keys, actual_keys = [index.partition_key, index.sort_key], _keys(description)
    if actual_keys != keys or any(types.get(key) != "S" for key in keys):
        yield f"has the index {index.name} over {', '.join(actual_keys)} instead of the string keys {', '.join(keys)}"
    if not index.keys_only and description.get("Projection", {}).get("ProjectionType") != "ALL":
        yield f"has the index {index.name} without all attributes"
    if description.get("IndexStatus", "ACTIVE") != "ACTIVE":
        yield f"has the index {index.name}, which is {description['IndexStatus']}"


def _keys(description: Mapping[str, Any]) -> list[str]:
    """The key attributes of a table or an index, the partition key first."""
    return [key["AttributeName"] for key in sorted(description["KeySchema"], key=lambda key: str(key["KeyType"]))]
