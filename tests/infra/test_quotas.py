"""Quotas of the records: those that work are deployed, and those that cannot are refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.runtime import quota
from gleaner.runtime.pricing import ModelPrices, Prices, expected_usd
from infra import limits
from infra.alarm_bars import SpendingBar
from infra.environment import Authorizer, Environment
from infra.environments import DEV, ENVIRONMENTS, PROD
from infra.limits import Quota, Throttle
from infra.prices import MODELS, WEB_ANSWER
from tests.infra.synthesis import EVERY, UNPRICED, Synthesis, properties

QUIET = replace(PROD.alarms, spending=None)
USD = st.floats(min_value=0.01, max_value=10_000)


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_every_environment_limits_questions_and_money_of_each_caller_and_of_all(environment: Environment) -> None:
    of_day = environment.quota
    assert of_day.questions_per_day and of_day.usd_per_day
    assert of_day.environment_questions_per_day and of_day.environment_usd_per_day
    # A day of dear questions reaches the limit of money first, one of cheap questions that of questions.
    model = MODELS[environment.openai_model]
    prices = ModelPrices(input=model.input, cached_input=model.cached_input, output=model.output)
    dear = expected_usd(Prices(model=prices, web_search=WEB_ANSWER))
    assert dear * of_day.questions_per_day > of_day.usd_per_day > dear * 10
    assert dear * of_day.environment_questions_per_day > of_day.environment_usd_per_day


@EVERY
def test_only_api_keys_have_usage_plans(synthesised: Synthesis, environment: Environment) -> None:
    plans = properties(synthesised.service[environment.name], "AWS::ApiGateway::UsagePlan")
    of_plans = [plan.get("Quota", {}).get("Limit") for plan in plans]
    assert of_plans == ([environment.throttle.quota_per_day] if environment.authorizer is Authorizer.API_KEY else [])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"questions_per_day": 0}, "positive"),
        ({"questions_per_day": -1}, "positive"),
        ({"usd_per_day": 0.0}, "positive"),
        ({"usd_per_day": float("nan")}, "positive"),
        ({"environment_usd_per_day": float("inf")}, "positive"),
        ({"environment_questions_per_day": -5}, "positive"),
        ({"questions_per_day": 1.5}, "whole"),
        ({"questions_per_day": 10**50}, "at most 1,000,000,000 questions"),
        ({"environment_questions_per_day": 10**9 + 1}, "at most 1,000,000,000 questions"),
        ({"usd_per_day": 1e-9}, "0.00000001 to 1,000,000,000 USD"),
        ({"environment_usd_per_day": 1e130}, "0.00000001 to 1,000,000,000 USD"),
        ({"questions_per_day": 11, "environment_questions_per_day": 10}, "more in a day than the environment"),
        ({"usd_per_day": 2.0, "environment_usd_per_day": 1.0}, "more in a day than the environment"),
        ({"admins_exempt": True}, "nothing from which"),
    ],
)
def test_a_quota_that_cannot_work_is_refused(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Quota(**changes)


def test_a_record_takes_the_limits_that_the_service_takes() -> None:
    assert limits.MAX_QUESTIONS_PER_DAY == quota.MAX_QUESTIONS
    assert (limits.MIN_USD_PER_DAY, limits.MAX_USD_PER_DAY) == (quota.MIN_USD, quota.MAX_USD)


@pytest.mark.parametrize(
    ("environment", "changes", "reason"),
    [
        (DEV, {"openai_prices": None}, "dev: a quota of USD needs openai_prices"),
        (PROD, {"openai_prices": None, "quota": Quota(environment_usd_per_day=1)}, "needs openai_prices"),
        (PROD, {"throttle": Throttle(rate_per_second=5, burst=5, quota_per_day=9)}, "prod: Throttle.quota_per_day"),
        (PROD, {"authorizer": Authorizer.IAM, "throttle": replace(PROD.throttle, quota_per_day=9)}, "API keys"),
        (DEV, {"throttle": replace(DEV.throttle, quota_per_day=100)}, "above questions_per_day"),
        (DEV, {"throttle": replace(DEV.throttle, quota_per_day=0), "quota": Quota()}, "above questions_per_day"),
    ],
)
def test_a_record_whose_quota_cannot_work_is_refused(
    environment: Environment, changes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        replace(environment, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"quota": Quota(), "openai_prices": None, "alarms": UNPRICED.alarms},
        {"quota": Quota(questions_per_day=5), "openai_prices": None, "alarms": UNPRICED.alarms},
        {"quota": Quota(usd_per_day=1)},
        {"quota": Quota(questions_per_day=5, environment_usd_per_day=0.5, admins_exempt=True), "alarms": QUIET},
    ],
)
def test_limits_may_be_left_out(changes: dict[str, Any]) -> None:
    assert replace(PROD, **changes).quota == changes["quota"]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=lambda environment: environment.name)
def test_somebody_is_warned_at_half_of_the_quota_at_the_latest(environment: Environment) -> None:
    limit, spending = environment.quota.environment_usd_per_day, environment.alarms.spending
    assert limit is not None and spending is not None
    assert spending.usd_per_hour < spending.usd_per_day <= limit / 2


@given(bar=USD, limit=USD | st.none())
def test_a_bar_on_spending_that_the_quota_keeps_from_firing_is_refused(bar: float, limit: float | None) -> None:
    alarms = replace(PROD.alarms, spending=SpendingBar(usd_per_day=bar, usd_per_hour=bar))
    quota = Quota(environment_usd_per_day=limit)
    if limit is None or bar < limit:
        assert replace(PROD, alarms=alarms, quota=quota).alarms == alarms
    else:
        with pytest.raises(ValueError, match=r"prod: the alarm on .* cannot warn before"):
            replace(PROD, alarms=alarms, quota=quota)


def test_a_bar_that_equals_the_quota_is_refused() -> None:
    """The question that reaches the limit is the last one, and the alarm fires above its bar only."""
    alarms = replace(DEV.alarms, spending=SpendingBar(usd_per_day=5, usd_per_hour=2))
    with pytest.raises(ValueError, match="half of environment_usd_per_day"):
        replace(DEV, alarms=alarms, quota=Quota(environment_usd_per_day=5))
