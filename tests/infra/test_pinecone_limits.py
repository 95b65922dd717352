"""An environment lets in no more questions than the vector index can search for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS, PROD
from infra.limits import SEARCHES_PER_QUESTION, PineconeLimits, Throttle


def throttled(rate: float, burst: int, queries: int = 100) -> Environment:
    throttle = replace(PROD.throttle, rate_per_second=rate, burst=burst)
    return replace(PROD, throttle=throttle, pinecone_limits=PineconeLimits(queries_per_second=queries))


def test_fifty_questions_a_second_are_too_many() -> None:
    with pytest.raises(ValueError, match=r"prod: 50 questions a second may search 150 times.*100 queries.*33\.33"):
        throttled(50, 66)
    assert throttled(50, 66, queries=150).throttle.rate_per_second == 50


def test_a_burst_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="a burst of 101 questions"):
        throttled(33, 101)


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_each_environment_stays_within_the_documented_limit(environment: Environment) -> None:
    assert environment.pinecone_limits.queries_per_second == 100  # nobody asked Pinecone for more
    assert environment.throttle.rate_per_second * SEARCHES_PER_QUESTION <= 100


@given(st.floats(0.1, 1_000), st.integers(1, 1_000), st.integers(1, 1_000))
def test_exactly_what_exceeds_the_limit_is_refused(rate: float, burst: int, queries: int) -> None:
    throttle = Throttle(rate_per_second=rate, burst=burst, quota_per_day=1)
    objection = PineconeLimits(queries_per_second=queries).check(throttle)
    assert (objection is None) == (rate * SEARCHES_PER_QUESTION <= queries and burst <= queries)


def test_the_smallest_environment_has_room() -> None:
    assert replace(DEV, pinecone_limits=PineconeLimits(queries_per_second=15)).throttle == DEV.throttle
