"""The deployed tables have the stores' schema, and the functions may query every index of their tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gleaner.stores import schema
from gleaner.stores.schema import TableSchema
from tests.infra.synthesis import NAMES, Template, functions, resources, synthesis

TABLES = {
    "Keywords": schema.KEYWORDS,
    "Conversations": schema.CONVERSATIONS,
    "ToolCalls": schema.TOOL_CALLS,
    "Idempotency": schema.IDEMPOTENCY,
    "Access": schema.ACCESS,
    "Usage": schema.USAGE,
}


@pytest.mark.parametrize("environment", NAMES)
@pytest.mark.parametrize("name", TABLES)
def test_deployed_keys_indexes_and_expiry_equal_the_schema(environment: str, name: str) -> None:
    tables = resources(synthesis().data[environment], "AWS::DynamoDB::GlobalTable")
    (table,) = [table["Properties"] for id, table in tables.items() if id.startswith(f"Tables{name}")]
    assert _schema_of(table) == TABLES[name]
    types = {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}
    assert types == {"S"}


@pytest.mark.parametrize("environment", NAMES)
@pytest.mark.parametrize("function", ["query", "prune"])
def test_a_function_may_query_every_index_of_its_tables(environment: str, function: str) -> None:
    template = synthesis().service[environment]
    properties = functions(template)[function]
    variables = properties["Environment"]["Variables"]
    arns = [json.dumps(arn) for arn in _queryable(template, properties["Role"])]
    tables = [name for name in TABLES if any(f"Tables{name}" in json.dumps(value) for value in variables.values())]
    assert "Keywords" in tables
    for name in tables:
        for index in TABLES[name].indexes:
            assert any(f"Tables{name}" in arn and f'/index/{index.name}"' in arn for arn in arns), (name, index.name)


def _queryable(template: Template, role_arn: dict[str, Any]) -> list[Any]:
    """The resources on which a role may call dynamodb:Query."""
    role = {"Ref": role_arn["Fn::GetAtt"][0]}
    policies = [policy["Properties"] for policy in resources(template, "AWS::IAM::Policy").values()]
    statements = [
        statement
        for policy in policies
        if role in policy["Roles"]
        for statement in policy["PolicyDocument"]["Statement"]
        if "dynamodb:Query" in statement["Action"]
    ]
    return [
        arn
        for resource in (statement["Resource"] for statement in statements)
        for arn in (resource if isinstance(resource, list) else [resource])
    ]


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
