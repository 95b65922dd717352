"""What DynamoDB's errors mean: passing ones, final ones, and conditions that did not hold."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

_PASSING_ERRORS = frozenset(
    [
        "TransactionInProgressException",
        "ThrottlingException",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "InternalServerError",
        "ServiceUnavailable",
        "TransactionConflictException",
    ]
)
_PASSING_REASONS = frozenset(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
_LOST_ANSWERS = frozenset(
    ["ReadTimeoutError", "ConnectionClosedError", "ResponseStreamingError", "IncompleteReadError"]
)
_CONDITION_FAILED = "ConditionalCheckFailed"


def _reasons(error: ClientError) -> list[dict[str, Any]]:
    response: Any = error.response
    reasons: list[dict[str, Any]] = response.get("CancellationReasons", [])
    return reasons


def _codes(error: ClientError) -> list[str]:
    return [reason.get("Code", "None") for reason in _reasons(error)]


def _is_server_error(error: ClientError) -> bool:
    # What stands between us and DynamoDB answers 502 or 503 with a page of its own and no code.
    response: Any = error.response
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= HTTPStatus.INTERNAL_SERVER_ERROR


def failed_conditions(error: ClientError) -> tuple[int, ...]:
    """The positions of the actions whose condition did not hold."""
    if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
        return (0,)
    return tuple(position for position, code in enumerate(_codes(error)) if code == _CONDITION_FAILED)


def existing_items(error: ClientError) -> dict[int, dict[str, Any]]:
    """Attribute values of the items that a cancelled transaction tells of, by the position of their action."""
    return {position: reason["Item"] for position, reason in enumerate(_reasons(error)) if "Item" in reason}


def retry_after(error: Exception) -> float | None:
    """0 when the call may be made again at once, None when the error is final (see `retries.with_retries`)."""
    # A lost connection may hide a write that was done; every write here is conditional, so doing it
    # again changes nothing.
    if isinstance(error, BotoCoreError):
        return 0.0 if type(error).__name__ in _LOST_ANSWERS else None
    if not isinstance(error, ClientError):
        return None
    if error.response.get("Error", {}).get("Code") in _PASSING_ERRORS or _is_server_error(error):
        return 0.0
    reasons = set(_codes(error)) - {"None"}
    return 0.0 if reasons and reasons <= _PASSING_REASONS else None
