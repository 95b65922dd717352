"""How much callers may ask, and how fast: parts of the record of an environment."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from infra.bounds import check_positive, check_whole

# What the service accepts (gleaner.runtime.quota says why); a test compares them.
MAX_QUESTIONS_PER_DAY = 1_000_000_000
MIN_USD_PER_DAY, MAX_USD_PER_DAY = 1e-8, 1e9
SEARCHES_PER_QUESTION = 3  # at most, in each namespace: LoopLimits.knowledge_base_searches


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """The request rates that the API allows."""

    rate_per_second: float
    burst: int
    quota_per_day: int | None = None  # requests with each API key, whatever they ask for; where callers have keys
    open_rate_per_second: int = 5  # for each route that needs no credentials
    page_rate_per_second: int = 50  # for the files of the page, of which a first visit needs about 30

    def check(self) -> Iterator[str]:
        """Say what API Gateway would refuse, and what would refuse every request."""
        yield from check_positive("throttle.rate_per_second", self.rate_per_second)
        for name in ("burst", "open_rate_per_second", "page_rate_per_second"):
            yield from check_whole(f"throttle.{name}", getattr(self, name), 1)
        if self.quota_per_day is not None:
            yield from check_whole("throttle.quota_per_day", self.quota_per_day, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconeLimits:
    """How many queries the vector index takes, which limits how many questions the API may take."""

    # In each namespace (docs.pinecone.io/reference/api/database-limits/rate-limits, on every plan). Set what Pinecone's
    # support raised it to. A question searches the namespace of documents and that of stored answers equally often.
    queries_per_second: int = 100

    def check(self, throttle: Throttle) -> str | None:
        """What is wrong with a throttle that lets more questions in than the index can search for, or None."""
        searches = throttle.rate_per_second * SEARCHES_PER_QUESTION
        if searches > self.queries_per_second:
            return (
                f"{throttle.rate_per_second:g} questions a second may search {searches:g} times, but Pinecone takes "
                f"{self.queries_per_second} queries a second in a namespace. Lower rate_per_second to "
                f"{self.queries_per_second / SEARCHES_PER_QUESTION:.4g}, or raise pinecone_limits once Pinecone has."
            )
        if throttle.burst > self.queries_per_second:
            return (
                f"a burst of {throttle.burst} questions searches that often at once, but Pinecone takes "
                f"{self.queries_per_second} queries a second in a namespace. Lower burst."
            )
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How many questions may be asked on a day (UTC), and what they may cost by estimate; None is no limit.

    Whatever calls the model is a question. The limit of questions is exact; that of money refuses once the sum has
    reached it (docs/11).
    """

    questions_per_day: int | None = None  # for each caller
    usd_per_day: float | None = None
    environment_questions_per_day: int | None = None  # for all callers together
    environment_usd_per_day: float | None = None
    admins_exempt: bool = False  # admins are counted, but never refused

    def __post_init__(self) -> None:
        """Raise ValueError for a limit that refuses everything, or that another limit makes pointless."""
        of_questions = (self.questions_per_day, self.environment_questions_per_day)
        of_usd = (self.usd_per_day, self.environment_usd_per_day)
        for of_caller, of_environment in (of_questions, of_usd):
            if any(limit is not None and not 0 < limit < math.inf for limit in (of_caller, of_environment)):
                raise ValueError("Quota: a limit must be a positive number, or None for no limit.")
            if of_caller is not None and of_environment is not None and of_caller > of_environment:
                raise ValueError("Quota: a caller may not use more in a day than the environment.")
        if any(limit is not None and int(limit) != limit for limit in of_questions):
            raise ValueError("Quota: questions are counted in whole numbers.")
        if any(limit is not None and limit > MAX_QUESTIONS_PER_DAY for limit in of_questions):
            raise ValueError(f"Quota: at most {MAX_QUESTIONS_PER_DAY:,} questions can be counted.")
        if any(limit is not None and not MIN_USD_PER_DAY <= limit <= MAX_USD_PER_DAY for limit in of_usd):
            raise ValueError(f"Quota: a limit of money is {MIN_USD_PER_DAY:.8f} to {MAX_USD_PER_DAY:,.0f} USD.")
        if self.admins_exempt and (*of_questions, *of_usd) == (None,) * 4:
            raise ValueError("Quota: without limits there is nothing from which admins_exempt exempts.")

    @property
    def limits_usd(self) -> bool:
        """Whether money is limited."""
        return (self.usd_per_day, self.environment_usd_per_day) != (None, None)
