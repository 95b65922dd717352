"""Which errors of a request to DynamoDB are retried, and for how long."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)

from gleaner.runtime.deadline import Deadline
from gleaner.stores.failures import log_throttled_statements, retry_within
from tests.doubles.still_clock import StillClock

URL = "https://dynamodb.example"
NO_CONNECTION = [
    ConnectTimeoutError(endpoint_url=URL),
    EndpointConnectionError(endpoint_url=URL),
    ProxyConnectionError(proxy_url=URL),
]


@pytest.mark.parametrize("error", [*NO_CONNECTION, ReadTimeoutError(endpoint_url=URL)])
def test_a_store_that_takes_no_connection_or_gives_no_answer_is_asked_again_for_half_of_the_time(
    error: BotoCoreError, still_clock: StillClock
) -> None:
    retry_after = retry_within(Deadline.after(0.2), "table")
    assert retry_after(error) == 0.0
    still_clock.move(0.11)
    assert retry_after(error) is None


def test_no_answer_is_awaited_for_long_even_if_there_is_time(still_clock: StillClock) -> None:
    retry_after = retry_within(Deadline.after(300), "table")
    still_clock.move(3)
    assert retry_after(ReadTimeoutError(endpoint_url=URL)) == 0.0
    still_clock.move(3)
    assert retry_after(ReadTimeoutError(endpoint_url=URL)) is None


def test_a_lost_response_is_retried_as_long_as_there_is_time(still_clock: StillClock) -> None:
    error = ConnectionClosedError(endpoint_url=URL)
    retry_after = retry_within(Deadline.after(0.02), "table")
    still_clock.move(0.03)
    assert retry_after(error) == 0.0  # `with_retries` ends at the deadline


def test_an_error_of_the_encryption_is_final() -> None:
    assert retry_within(Deadline.after(20), "table")(SSLError(endpoint_url=URL, error="bad certificate")) is None


# `ThrottlingReasons` and the codes are those of botocore's model of DynamoDB; a transaction names them by its actions.
THROTTLED: list[dict[str, Any]] = [
    {
        "Error": {"Code": "ProvisionedThroughputExceededException"},
        "ThrottlingReasons": [{"reason": "IndexWriteKeyRangeThroughputExceeded", "resource": "arn:by_tool"}],
    },
    {"Error": {"Code": "ThrottlingException"}, "throttlingReasons": [{"reason": "TableReadMaxOnDemand"}]},
    {"Error": {"Code": "RequestLimitExceeded"}},
    {
        "Error": {"Code": "TransactionCanceledException"},
        "CancellationReasons": [{"Code": "None"}, {"Code": "ThrottlingError"}],
    },
]


@pytest.mark.parametrize("response", THROTTLED, ids=[one["Error"]["Code"] for one in THROTTLED])
def test_throttling_is_logged_once_for_each_call(response: Any, caplog: pytest.LogCaptureFixture) -> None:
    error = ClientError(response, "UpdateItem")
    with caplog.at_level(logging.WARNING):
        retry_after = retry_within(Deadline.after(20), "keywords")
        assert [retry_after(error) for _ in range(3)] == [0.0] * 3
    (line,) = caplog.records
    assert (line.message, vars(line)["table"], vars(line)["operation"]) == (
        "DynamoDB throttled a request",
        "keywords",
        "UpdateItem",
    )
    (reason, *_) = response.get("ThrottlingReasons") or response.get("throttlingReasons") or [{}]
    assert (vars(line)["cause"], vars(line)["resource"]) == (reason.get("reason"), reason.get("resource"))


@pytest.mark.parametrize("code", ["ConditionalCheckFailedException", "TransactionConflictException", "ValidationError"])
def test_other_errors_are_not_logged_as_throttling(code: str, caplog: pytest.LogCaptureFixture) -> None:
    retry_within(Deadline.after(20), "keywords")(ClientError({"Error": {"Code": code}}, "PutItem"))
    assert caplog.records == []


def test_statements_that_are_throttled_are_logged_once_for_each_table(caplog: pytest.LogCaptureFixture) -> None:
    codes = [("usage", "ThrottlingError"), ("usage", "RequestLimitExceeded"), ("calls", "DuplicateItem"), ("calls", "")]
    responses = [
        {"TableName": table, "Error": {"Code": code}} if code else {"TableName": table} for table, code in codes
    ]
    log_throttled_statements("BatchExecuteStatement", responses)
    assert [(record.getMessage(), record.__dict__["table"]) for record in caplog.records] == [
        ("DynamoDB throttled a request", "usage")
    ]
