"""Checks what keeps deployed tables safe and tidy: recovery to a point in time, protection, expiry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gleaner.stores.schema import TableSchema
from gleaner_local.diagnosis.finding import Finding, ok, problem

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

SUBJECT = "table upkeep"


def check_upkeep(
    client: DynamoDBClient, schemas: Mapping[str, TableSchema], *, protected: bool, mend: str
) -> Iterator[Finding]:
    """Check the tables by name; `protected` says whether they should be safe from deletion."""
    wrong = [(name, text) for name, schema in schemas.items() for text in _wrong_with(client, name, schema, protected)]
    yield from (problem(SUBJECT, f"The table {name} {text}.", mend) for name, text in wrong)
    if not wrong:
        safe = " and protected against deletion" if protected else ""
        yield ok(SUBJECT, f"Recoverable to a point in time{safe}; what has an expiry goes by itself.")


def _wrong_with(client: DynamoDBClient, name: str, schema: TableSchema, protected: bool) -> Iterator[str]:
    try:
        table = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return  # which the check of the tables tells
    if protected and not table.get("DeletionProtectionEnabled"):
        yield "is not protected against deletion"
    backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    if backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus") != "ENABLED":
        yield "cannot be recovered to a point in time"
    if schema.ttl_attribute and _expires_by(client, name) != schema.ttl_attribute:
        yield f"does not expire items by `{schema.ttl_attribute}`"


def _expires_by(client: DynamoDBClient, name: str) -> str | None:
    expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    return expiry.get("AttributeName") if expiry.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") else None
