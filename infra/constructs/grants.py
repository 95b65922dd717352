"""Permissions on a table and its indexes."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam


def allow(role: iam.Role, table: dynamodb.ITableV2, actions: Sequence[str], *, indexes: Sequence[str] = ()) -> None:
    """Allow `role` to perform the DynamoDB `actions` on `table` and to query its `indexes`."""
    role.add_to_policy(
        iam.PolicyStatement(actions=[f"dynamodb:{action}" for action in actions], resources=[table.table_arn])
    )
    if indexes:
        arns = [f"{table.table_arn}/index/{index}" for index in indexes]
        role.add_to_policy(iam.PolicyStatement(actions=["dynamodb:Query"], resources=arns))
