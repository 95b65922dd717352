"""Permissions on a table and its indexes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from aws_cdk import Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam


def allow(role: iam.Role, table: dynamodb.ITableV2, actions: Sequence[str]) -> None:
    """Allow `role` the DynamoDB `actions` on `table`; with "Query", also to query all of its indexes."""
    _allow_on(role, actions, [table.table_arn])
    names = _index_names(table)
    if names and "Query" in actions:
        _allow_on(role, ["Query"], [f"{table.table_arn}/index/{name}" for name in names])


def _allow_on(role: iam.Role, actions: Sequence[str], arns: Sequence[str]) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=[f"dynamodb:{action}" for action in actions], resources=list(arns)))


def _index_names(table: dynamodb.ITableV2) -> list[str]:
    resource = cast(dynamodb.CfnGlobalTable, table.node.default_child)
    indexes = Stack.of(table).resolve(resource.global_secondary_indexes)
    return [index["indexName"] for index in indexes or ()]
