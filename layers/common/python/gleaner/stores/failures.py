"""Classifies DynamoDB's errors: transient, permanent, or a failed condition. Logs those that mean throttling."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    ReadTimeoutError,
)

from gleaner.runtime.deadline import Deadline

logger = logging.getLogger(__name__)

# Connections that cannot be made are retried for so long. A question makes several calls in a row, and each of them
# may wait: the sum must leave time to report that the store is down.
_MAX_OUTAGE_SECONDS = 2.0
# Requests that get no answer at all are sent again for so long: one response may be lost, but a store that answers
# nothing would otherwise hold every reader until the deadline. With the time that a response is waited for, one request
# is sent again.
_MAX_SILENCE_SECONDS = 4.0

_THROTTLED = frozenset(["ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded"])
_TRANSIENT_ERRORS = _THROTTLED | {
    "TransactionInProgressException",
    "InternalServerError",
    "ServiceUnavailable",
    "TransactionConflictException",
}
_THROTTLED_REASONS = frozenset(["ThrottlingError", "ProvisionedThroughputExceeded"])
_THROTTLED_STATEMENTS = _THROTTLED_REASONS | {"RequestLimitExceeded"}
_TRANSIENT_REASONS = _THROTTLED_REASONS | {"TransactionConflict"}
_LOST_RESPONSES = frozenset(["ConnectionClosedError", "ResponseStreamingError", "IncompleteReadError"])
# No connection was made, so nothing was executed. SSLError is left out: an open connection can raise it, too.
_NO_CONNECTION = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError)
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
    """The items that a write whose condition failed returns, as attribute values, by the position of their action."""
    response: Any = error.response
    if "Item" in response:  # of a write without a transaction
        return {0: response["Item"]}
    return {position: reason["Item"] for position, reason in enumerate(_reasons(error)) if "Item" in reason}


def log_throttling(table: str, operation: str, response: Any) -> None:
    """Log that a request was throttled. DynamoDB names the table or the index, and its limit, in some responses."""
    reasons = response.get("ThrottlingReasons") or response.get("throttlingReasons") or [{}]
    facts = {
        "table": table,
        "operation": operation,
        "cause": reasons[0].get("reason"),
        "resource": reasons[0].get("resource"),
    }
    logger.warning("DynamoDB throttled a request", extra=facts)


def log_throttled_statements(operation: str, responses: Sequence[Any]) -> None:
    """Log once for each table that statements of an otherwise successful request were throttled."""
    throttled = [one for one in responses if one.get("Error", {}).get("Code") in _THROTTLED_STATEMENTS]
    for table in {str(one.get("TableName")) for one in throttled}:
        log_throttling(table, operation, {})


def retry_within(deadline: Deadline, table: str) -> Callable[[Exception], float | None]:
    """Build the `retry_after` of one call (see `retries.with_retries`): 0 for a transient error, else None.

    Connections that cannot be made, and requests that are not answered, are retried for half of the time, and for a few
    seconds at most. That requests to `table` are throttled is logged once for each call: alarms count these lines.
    """
    outage, silence = deadline.part(_MAX_OUTAGE_SECONDS), deadline.part(_MAX_SILENCE_SECONDS)
    has_logged = False

    def retry_after(error: Exception) -> float | None:
        nonlocal has_logged
        if not has_logged and isinstance(error, ClientError) and _is_throttled(error):
            has_logged = True
            log_throttling(table, error.operation_name, error.response)
        if isinstance(error, _NO_CONNECTION):
            is_transient = outage.remaining() > 0
        elif isinstance(error, ReadTimeoutError):
            is_transient = silence.remaining() > 0
        else:
            is_transient = _is_transient(error)
        return 0.0 if is_transient else None

    return retry_after


def _is_throttled(error: ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _THROTTLED or bool(_THROTTLED_REASONS & set(_codes(error)))


def _is_transient(error: Exception) -> bool:
    # A lost connection may hide a write that succeeded. Every write here is conditional, so a retry is safe.
    if isinstance(error, BotoCoreError):
        return type(error).__name__ in _LOST_RESPONSES
    if not isinstance(error, ClientError):
        return False
    if error.response.get("Error", {}).get("Code") in _TRANSIENT_ERRORS or _is_server_error(error):
        return True
    reasons = set(_codes(error)) - {"None"}
    return bool(reasons) and reasons <= _TRANSIENT_REASONS
