"""Classifies DynamoDB's errors: transient, permanent, or a failed condition."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

_TRANSIENT_ERRORS = frozenset(
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
_TRANSIENT_REASONS = frozenset(["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
_LOST_RESPONSES = frozenset(
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
    # A proxy in front of DynamoDB answers 502 or 503 with a page of its own and no error code.
    response: Any = error.response
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= HTTPStatus.INTERNAL_SERVER_ERROR


def failed_conditions(error: ClientError) -> tuple[int, ...]:
    """The positions of the actions whose condition failed."""
    if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
        return (0,)
    return tuple(position for position, code in enumerate(_codes(error)) if code == _CONDITION_FAILED)


def existing_items(error: ClientError) -> dict[int, dict[str, Any]]:
    """The items that a cancelled transaction returns, as attribute values, by the position of their action."""
    return {position: reason["Item"] for position, reason in enumerate(_reasons(error)) if "Item" in reason}


def retry_after(error: Exception) -> float | None:
    """0 when the call may be retried at once, None when the error is permanent (see `retries.with_retries`)."""
    # A lost connection may hide a write that succeeded. Every write here is conditional, so a retry is safe.
    if isinstance(error, BotoCoreError):
        return 0.0 if type(error).__name__ in _LOST_RESPONSES else None
    if not isinstance(error, ClientError):
        return None
    if error.response.get("Error", {}).get("Code") in _TRANSIENT_ERRORS or _is_server_error(error):
        return 0.0
    reasons = set(_codes(error)) - {"None"}
    return 0.0 if reasons and reasons <= _TRANSIENT_REASONS else None
