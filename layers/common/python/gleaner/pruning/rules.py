"""What a pruning run goes by, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """What is pruned. Ages are days since the last use, or since creation when there was none."""

    max_age_days: float  # older ones go when they were used less than min_usage times
    min_usage: int
    hard_max_age_days: float  # older ones go whatever their use

    def reason(self, last_used: datetime, usage_count: int, now: datetime) -> str | None:
        """Why a keyword is to be pruned, or None."""
        age = (now - last_used) / timedelta(days=1)
        if age > self.hard_max_age_days:
            return f"not used for {age:.0f} days"
        if age > self.max_age_days and usage_count < self.min_usage:
            return f"not used for {age:.0f} days, and less than {self.min_usage} times in all"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A keyword that is to be pruned, or was."""

    keyword_id: str
    keyword_text: str
    usage_count: int
    last_used_at: str
    reason: str


@dataclass(slots=True, kw_only=True)
class PruneCounts:
    """What was done, in part or in all."""

    examined: int = 0  # items read to find candidates
    candidates: int = 0
    pruned: int = 0
    kept: int = 0  # candidates that were used, or pruned by another, since they were read
    broken: int = 0  # items that could not be understood, and were skipped
    answers_deleted: int = 0
    unfinished: int = 0  # parts of the index where time ran out: the next run goes on there
    first_candidates: list[Candidate] = field(default_factory=list)  # the first candidates

    def add(self, other: PruneCounts) -> None:
        """Add up."""
        for name in ("examined", "candidates", "pruned", "kept", "broken", "answers_deleted", "unfinished"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_candidates += other.first_candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """One run. `rules` is None when one keyword was pruned by hand."""

    run_id: str
    by: str
    dry_run: bool
    rules: PruneRules | None
    counts: PruneCounts
    duration_ms: float

    @property
    def finished(self) -> bool:
        """Whether everything was looked at."""
        return self.counts.unfinished == 0
