"""The rules, the counts and the report of a pruning run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRules:
    """Which keywords are pruned. Ages are days since the last use, or since creation if there was none."""

    max_age_days: float  # older keywords are pruned if they were used fewer than min_usage times
    min_usage: int
    hard_max_age_days: float  # older keywords are pruned regardless of use

    def reason(self, last_used: datetime, usage_count: int, now: datetime) -> str | None:
        """Why to prune a keyword, or None to keep it."""
        age = (now - last_used) / timedelta(days=1)
        if age > self.hard_max_age_days:
            return f"not used for {age:.0f} days"
        if age > self.max_age_days and usage_count < self.min_usage:
            return f"not used for {age:.0f} days, and fewer than {self.min_usage} times in all"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A keyword that a run prunes, or would prune in a dry run."""

    keyword_id: str
    keyword_text: str
    usage_count: int
    last_used_at: str
    reason: str


@dataclass(slots=True, kw_only=True)
class PruneCounts:
    """Counts of a run, or of a part of one."""

    examined: int = 0  # items read to find candidates
    candidates: int = 0
    pruned: int = 0
    kept: int = 0  # candidates that were used, or pruned by another run, after they were read
    broken: int = 0  # malformed items that were skipped
    answers_deleted: int = 0
    moved: int = 0  # keywords of earlier versions: words put into posting lists, and stems claimed
    unfinished: int = 0  # parts of the index for which time ran out; the next run continues them
    first_candidates: list[Candidate] = field(default_factory=list)

    def add(self, other: PruneCounts) -> None:
        """Add the counts and candidates of another part."""
        for name in ("examined", "candidates", "pruned", "kept", "broken", "answers_deleted", "moved", "unfinished"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first_candidates += other.first_candidates


Part = Callable[[PruneCounts], None]  # a part of a run; it adds to the counts that it receives


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneReport:
    """The report of one run. `rules` is None if one keyword was pruned by hand."""

    run_id: str
    by: str
    dry_run: bool
    rules: PruneRules | None
    counts: PruneCounts
    duration_ms: float

    @property
    def finished(self) -> bool:
        """Whether every part of the index was processed."""
        return self.counts.unfinished == 0


def read_usage(head: Mapping[str, Any], counts: PruneCounts) -> tuple[datetime, int] | None:
    """The time of a keyword's last use and its usage count, or None (and counted) if its item is malformed."""
    try:
        return _parse_time(head.get("last_used_at") or head["created_at"]), int(head["usage_count"])
    except (KeyError, TypeError, ValueError) as error:
        counts.broken += 1
        logger.warning("skipped a malformed keyword", extra={"key": head.get("pk"), "reason": repr(error)})
        return None


def _parse_time(timestamp: str) -> datetime:
    """Parse ISO 8601 text; without a time zone it is UTC."""
    time_used = datetime.fromisoformat(timestamp)
    return time_used if time_used.tzinfo else time_used.replace(tzinfo=UTC)
