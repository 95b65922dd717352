"""The quotas of a UTC day: how many questions, and how much money, for each caller and for the whole environment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from gleaner.errors import ConfigurationError
from gleaner.runtime.variables import read_optional_positive, read_switch

_OF_CALLERS = ("QUESTIONS_PER_DAY", "USD_PER_DAY")
_OF_ENVIRONMENT = ("ENVIRONMENT_QUESTIONS_PER_DAY", "ENVIRONMENT_USD_PER_DAY")
# A number of DynamoDB has at most 38 digits. Within these bounds sums have at most 18, to the digits that are counted.
MAX_QUESTIONS = 1_000_000_000
MAX_USD = 1_000_000_000.0
USD_DIGITS = 8  # behind the point, to which costs are counted
MIN_USD = 10.0**-USD_DIGITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one day may take; None is no limit."""

    questions: int | None = None
    usd: float | None = None

    @property
    def exist(self) -> bool:
        """Whether anything is limited."""
        return self.questions is not None or self.usd is not None


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """The limits of a day."""

    caller: Limits = NO_LIMITS  # each of them
    environment: Limits = NO_LIMITS  # all callers together
    admins_exempt: bool = False  # admins are counted, but never refused


def read_quota(env: Mapping[str, str], *, counts_money: bool) -> Quota:
    """Read the limits; variables that are not set limit nothing.

    Raises ConfigurationError, also for a limit of money without the prices by which money is counted.
    """
    caller, environment = (_read_limits(env, names) for names in (_OF_CALLERS, _OF_ENVIRONMENT))
    if not counts_money and (caller.usd, environment.usd) != (None, None):
        raise ConfigurationError(
            f"{_OF_CALLERS[1]} and {_OF_ENVIRONMENT[1]} need OPENAI_PRICES and WEB_SEARCH_PRICE, "
            "without which, or if all of them are 0, no question is known to cost anything."
        )
    return Quota(caller=caller, environment=environment, admins_exempt=read_switch(env, "QUOTA_ADMINS_EXEMPT"))


def _read_limits(env: Mapping[str, str], names: tuple[str, str]) -> Limits:
    questions, usd = (read_optional_positive(env, name) for name in names)
    if questions is not None and not questions.is_integer():
        raise ConfigurationError(f"{names[0]} must be a whole number.")
    if questions is not None and questions > MAX_QUESTIONS:
        raise ConfigurationError(f"{names[0]} must be at most {MAX_QUESTIONS:,}.")
    if usd is not None and not MIN_USD <= usd <= MAX_USD:
        raise ConfigurationError(f"{names[1]} must be at least {MIN_USD:.{USD_DIGITS}f} and at most {MAX_USD:,.0f}.")
    return Limits(questions=None if questions is None else int(questions), usd=usd)


def resets_at(now: datetime) -> datetime:
    """When quotas begin anew: at the next midnight of UTC."""
    return datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)


def seconds_to_reset(now: datetime) -> int:
    """The seconds until then, rounded up, at least 1."""
    return max(1, math.ceil((resets_at(now) - now).total_seconds()))
