"""When alarms fire: a part of the record of an environment."""

from __future__ import annotations

from dataclasses import dataclass

from infra.limits import Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The share of questions that must meet a criterion, and the periods over which it is evaluated.

    A period with too few questions is not evaluated, because their share would mean little. CloudWatch requires whole
    hours for periods of more than an hour, and evaluates at most seven days of them, or one day of shorter periods.
    """

    percent: float  # at least
    minutes: int  # length of a period
    questions: int = 1  # minimum in a period
    periods: int = 1  # the number of recent periods to evaluate
    misses: int = 1  # periods below the bar before the alarm fires


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBar:
    """The share of requests that may fail, and the period over which it is evaluated.

    The minimum of failures lets the alarm of a little-used service fire when it is down, but not for one failure.
    """

    percent: float  # at most
    failures: int  # minimum in a period
    minutes: int  # length of a period


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingBar:
    """What the answers may cost: the model and the web search, estimated at the prices of the record.

    The alarm of the hour fires soon when something asks much at once, that of the day when it goes on. Both look at the
    last hour or day up to now. That of the day must warn before the quota of the environment refuses every question.
    """

    usd_per_day: float
    usd_per_hour: float

    def __post_init__(self) -> None:
        """Raise ValueError if one of the alarms could never fire before the other, or would always fire."""
        if not 0 < self.usd_per_hour <= self.usd_per_day <= 24 * self.usd_per_hour:
            raise ValueError("usd_per_day must be between usd_per_hour and 24 times that, and both above 0.")

    def check(self, quota: Quota) -> str | None:
        """What is wrong with a bar that a quota keeps from being exceeded, or None."""
        limit = quota.environment_usd_per_day
        if limit is None or self.usd_per_day < limit:
            return None
        return (
            f"the alarm on {self.usd_per_day:g} USD a day cannot warn before questions are refused at {limit:g} USD. "
            "Set usd_per_day of the SpendingBar to half of environment_usd_per_day."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """When alarms fire and whom they notify. docs/16 says what each criterion measures."""

    email: str | None  # None: alarms show on the dashboard only
    server_errors: FailureBar
    knowledge_base_searched: Bar  # SC-001
    answered_on_first_attempt: Bar  # SC-002
    keywords_after_web: Bar  # SC-003
    fast_answers: Bar  # SC-005: the share of answers in time
    fast_answer_seconds: float  # SC-005: the time limit
    helped_by_keywords: Bar  # SC-006
    retries_recovered: Bar  # SC-007
    spending: SpendingBar | None = None  # None: what answers cost raises no alarm
