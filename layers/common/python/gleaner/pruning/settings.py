"""The settings of the pruning function, read once from environment variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gleaner.runtime.variables import read_positive, read_url, require


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneSettings:
    """The configuration of the pruning function."""

    keywords_table: str
    dynamodb_endpoint_url: str | None
    max_age_days: float
    min_usage: int
    hard_max_age_days: float
    answer_grace_days: float

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> PruneSettings:
        """Read the settings from environment variables. Raises ConfigurationError as `Settings.from_env` does."""
        require(env, ("KEYWORDS_TABLE",))
        return cls(
            keywords_table=env["KEYWORDS_TABLE"],
            dynamodb_endpoint_url=read_url(env, "AWS_ENDPOINT_URL_DYNAMODB"),
            max_age_days=read_positive(env, "MAX_AGE_DAYS", 90.0),
            min_usage=int(read_positive(env, "MIN_USAGE", 3)),
            hard_max_age_days=read_positive(env, "HARD_MAX_AGE_DAYS", 365.0),
            answer_grace_days=read_positive(env, "ANSWER_GRACE_DAYS", 7.0),
        )
