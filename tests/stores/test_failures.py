"""Which errors of a request to DynamoDB are retried, and for how long."""

from __future__ import annotations

import time

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)

from gleaner.runtime.deadline import Deadline
from gleaner.stores.failures import retry_within

URL = "https://dynamodb.example"
NO_CONNECTION = [
    ConnectTimeoutError(endpoint_url=URL),
    EndpointConnectionError(endpoint_url=URL),
    ProxyConnectionError(proxy_url=URL),
]


@pytest.mark.parametrize("error", NO_CONNECTION)
def test_a_connection_that_cannot_be_made_is_retried_for_half_of_the_time(error: BotoCoreError) -> None:
    retry_after = retry_within(Deadline.after(0.2))
    assert retry_after(error) == 0.0
    time.sleep(0.11)
    assert retry_after(error) is None


@pytest.mark.parametrize("error", [ReadTimeoutError(endpoint_url=URL), ConnectionClosedError(endpoint_url=URL)])
def test_a_lost_response_is_retried_as_long_as_there_is_time(error: BotoCoreError) -> None:
    retry_after = retry_within(Deadline.after(0.02))
    time.sleep(0.03)
    assert retry_after(error) == 0.0  # `with_retries` ends at the deadline


def test_an_error_of_the_encryption_is_final() -> None:
    assert retry_within(Deadline.after(5))(SSLError(endpoint_url=URL, error="bad certificate")) is None
