"""Records whose deadlines cannot work are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.environments import DEV


def _change(function_seconds: int, **values: Any) -> Any:
    return replace(DEV, query=replace(DEV.query, timeout_seconds=function_seconds), **values)


@pytest.mark.parametrize(
    ("function_seconds", "values", "named"),
    [
        (180, {"integration_timeout_seconds": 0}, "integration_timeout_seconds"),
        (600, {"integration_timeout_seconds": 301, "query_deadline_seconds": 25}, "1 to 300"),  # above any quota
        (28, {"stream_deadline_seconds": 20}, "query.timeout_seconds"),  # Lambda would end it before API Gateway does
        (901, {}, "900"),
        (180, {"query_deadline_seconds": 29}, "query_deadline_seconds"),  # API Gateway would answer first
        (180, {"query_deadline_seconds": 0}, "query_deadline_seconds"),
        (180, {"stream_deadline_seconds": 180}, "stream_deadline_seconds"),
        (180, {"integration_timeout_seconds": 60, "query_deadline_seconds": 90}, "integration_timeout_seconds"),
    ],
)
def test_deadlines_that_cannot_work_are_refused(function_seconds: int, values: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"dev: .*{named}"):
        _change(function_seconds, **values)


def test_the_longest_deadlines_are_accepted() -> None:
    record = _change(900, integration_timeout_seconds=300, query_deadline_seconds=299.0, stream_deadline_seconds=899.0)
    assert record.query_deadline_seconds == 299


@given(
    function=st.integers(0, 1_000),
    gateway=st.integers(-1, 400),
    deadline=st.floats(-1, 400),
    stream=st.floats(-1, 1_000),
)
def test_whoever_waits_waits_longer_than_the_one_it_waits_for(
    function: int, gateway: int, deadline: float, stream: float
) -> None:
    values = {
        "integration_timeout_seconds": gateway,
        "query_deadline_seconds": deadline,
        "stream_deadline_seconds": stream,
    }
    works = 0 < deadline <= gateway - 1 and gateway <= 300 and gateway <= function <= 900 and 0 < stream <= function - 1
    try:
        _change(function, **values)
    except ValueError:
        assert not works
    else:
        assert works
