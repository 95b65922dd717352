"""Checks what keeps deployed tables safe and tidy: point-in-time recovery, deletion protection, expiry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gleaner.stores.schema import TableSchema
from gleaner_local.diagnosis.finding import Finding, ok, problem

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SUBJECT = "table upkeep"


def check_upkeep(
    client: DynamoDBClient, schemas: Mapping[str, TableSchema], *, protected: bool, fix: str
) -> Iterator[Finding]:
    """Check the tables by name; `protected` says whether deletion protection is expected."""
    faults = [
        (name, text) for name, schema in schemas.items() for text in _find_faults(client, name, schema, protected)
    ]
    yield from (problem(SUBJECT, f"The table {name} {text}.", fix) for name, text in faults)
    if not faults:
        protection = " and deletion protection" if protected else ""
        yield ok(SUBJECT, f"The tables have point-in-time recovery{protection}; expired items are deleted.")


def _find_faults(client: DynamoDBClient, name: str, schema: TableSchema, protected: bool) -> Iterator[str]:
    try:
        table = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return  # the check of the tables reports it
    if protected and not table.get("DeletionProtectionEnabled"):
        yield "has no deletion protection"
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        yield "has no point-in-time recovery"
    if schema.ttl_attribute and _expiry_attribute(client, name) != schema.ttl_attribute:
        yield f"does not expire items by `{schema.ttl_attribute}`"


def _expiry_attribute(client: DynamoDBClient, name: str) -> str | None:
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return expiry.get("AttributeName") if expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else None
