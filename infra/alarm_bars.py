"""When alarms fire: a part of the record of an environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields

from infra.bounds import check_positive, check_whole
from infra.limits import Quota

_HOUR, _DAY, _WEEK = 60, 24 * 60, 7 * 24 * 60  # minutes
_ALL = 100  # percent


def _check_period(name: str, minutes: int, periods: int = 1) -> Iterator[str]:
    """Say what CloudWatch would refuse ("PutMetricAlarm" in its API reference)."""
    yield from check_whole(f"{name}.minutes", minutes, 1)
    yield from check_whole(f"{name}.periods", periods, 1)
    if minutes > _HOUR and minutes % _HOUR:
        yield f"{name}.minutes: CloudWatch takes whole hours for periods of more than an hour."
    longest, text = (_DAY, "one day of periods below an hour") if minutes < _HOUR else (_WEEK, "seven days of periods")
    if minutes * periods > longest:
        yield f"{name}: CloudWatch evaluates at most {text}. Lower minutes or periods."


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

    def check(self, name: str) -> Iterator[str]:
        """Say what CloudWatch would refuse of the bar that has this name in the record."""
        if not 0 < self.percent <= _ALL:
            yield f"{name}.percent must be above 0, and 100 at most."
        yield from _check_period(name, self.minutes, self.periods)
        yield from check_whole(f"{name}.questions", self.questions, 1)
        yield from check_whole(f"{name}.misses", self.misses, 1, self.periods)  # DatapointsToAlarm, ditto


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBar:
    """The share of requests that may fail, and the period over which it is evaluated.

    The minimum of failures lets the alarm of a little-used service fire when it is down, but not for one failure.
    """

    percent: float  # at most
    failures: int  # minimum in a period
    minutes: int  # length of a period

    def check(self, name: str) -> Iterator[str]:
        """Say what CloudWatch would refuse of the bar that has this name in the record."""
        if not 0 <= self.percent < _ALL:
            yield f"{name}.percent must be below 100, which is never exceeded, and not negative."
        yield from _check_period(name, self.minutes)
        yield from check_whole(f"{name}.failures", self.failures, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingBar:
    """How long a message may wait until its document is loaded.

    The queue hides a message for 90 minutes once a function has taken it, so that its second try begins then. An alarm
    after three hours says that more than one try failed, or that there is more to load than is loaded in that time.
    """

    minutes: int = 180

    def check(self, name: str) -> Iterator[str]:
        """Say what is wrong with the bar that has this name in the record."""
        yield from check_whole(f"{name}.minutes", self.minutes, 1, 14 * _DAY)  # for which SQS keeps a message


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
    documents_waiting: WaitingBar = WaitingBar()

    def check(self) -> Iterator[str]:
        """Say what CloudWatch would refuse, and an address to which SNS could send nothing."""
        for one in fields(self):
            bar = getattr(self, one.name)
            if isinstance(bar, Bar | FailureBar | WaitingBar):
                yield from bar.check(f"alarms.{one.name}")
        yield from check_positive("alarms.fast_answer_seconds", self.fast_answer_seconds)
        if self.email is not None and not re.fullmatch(r"[^@\s]+@[^@\s]+", self.email):
            yield f"alarms.email must be an e-mail address, or None, not {self.email!r}."
