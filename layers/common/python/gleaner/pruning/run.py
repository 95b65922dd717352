"""Pruning: keywords that nobody uses leave the index, by usage and age, with a record of each run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from gleaner.errors import DeadlineExceeded, UnknownKeyword, UnknownRun
from gleaner.model import new_id, utc_now
from gleaner.pruning.rules import Candidate, PruneCounts, PruneReport, PruneRules
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_pruning import PruneWriter
from gleaner.stores.keyword_restoring import RestoreWriter
from gleaner.stores.schema import PruneQueue

logger = logging.getLogger(__name__)

_PAGE = 100  # items of one read
_MOST_SHOWN = 500  # candidates that a report names
_SECONDS_FOR_RECORD = 1.0  # kept back for the record of the run
_BY_LAST_USE = schema.KEYWORDS.indexes[0]

Part = Callable[[PruneCounts], None]  # one part of a run, which adds to the counts handed to it


class Pruner:
    """Prunes and restores keywords."""

    def __init__(self, table: Table, executor: Executor, *, answer_grace: timedelta) -> None:
        """`answer_grace` is how long a web answer that no active keyword refers to is kept."""
        self._table = table
        self._writes = PruneWriter(table)
        self._restoring = RestoreWriter(table)
        self._executor = executor
        self._answer_grace = answer_grace

    def run(self, rules: PruneRules, *, by: str, dry_run: bool, deadline: Deadline) -> PruneReport:
        """Prune by `rules` until done or the time is nearly up; a dry run only tells what would go.

        Parts of the index go in parallel, each with its oldest first. Raises StoreUnavailable.
        """
        began, run_id = time.monotonic(), new_id()
        until = Deadline(deadline.at - _SECONDS_FOR_RECORD)
        parts: list[Part] = [
            partial(self._prune_partition, partition, rules, None if dry_run else run_id, until)
            for partition in schema.active_partitions()
        ]
        if not dry_run:
            parts += [partial(self._finish_interrupted, until), partial(self._delete_answers, until)]
        counts = PruneCounts()
        for done in [self._executor.submit(_in_time, part) for part in parts]:
            counts.add(done.result())
        counts.first_candidates = sorted(counts.first_candidates, key=lambda found: found.last_used_at)[:_MOST_SHOWN]
        report = _report(run_id, by, dry_run, rules, counts, began)
        if not dry_run:
            self._record(report, deadline)
        return report

    def prune_one(self, keyword_id: str, *, by: str, deadline: Deadline) -> PruneReport:
        """Prune one keyword by hand; one that is pruned already stays so. Raises UnknownKeyword, StoreUnavailable."""
        began, run_id = time.monotonic(), new_id()
        head = self._head(keyword_id, deadline)
        counts = PruneCounts(examined=1)
        if head["status"] == "active":
            counts.candidates = 1
            counts.first_candidates = [_candidate(head, "by hand")]
            counts.pruned = int(self._writes.prune(head, run_id, deadline=deadline))
            counts.kept = 1 - counts.pruned
        report = _report(run_id, by, False, None, counts, began)
        self._record(report, deadline)
        return report

    def restore_one(self, keyword_id: str, *, deadline: Deadline) -> bool:
        """Bring a keyword back; False when it is not pruned. Raises UnknownKeyword or StoreUnavailable."""
        return self._restoring.restore(self._head(keyword_id, deadline), deadline=deadline)

    def restore_run(self, run_id: str, *, deadline: Deadline) -> int:
        """Bring back what a run pruned and nobody pruned or restored since; how many came back.

        Called again after it was cut off, it goes on. Raises UnknownRun, StoreUnavailable, DeadlineExceeded.
        """
        restored, after = 0, ""
        partition = schema.run_key(run_id)["pk"]
        restore = partial(self._restoring.restore, deadline=deadline)
        while page := self._table.query_all(
            partition=partition, begins_with=schema.PRUNED_PREFIX, after=after, limit=_PAGE, deadline=deadline
        ):
            after = page[-1]["sk"]
            keys = [schema.keyword_key(item["keyword_id"]) for item in page]
            heads = self._table.get_many(keys, deadline=deadline, consistent=True)
            ours = [head for head in heads if head.get("pruned_run_id") == run_id]
            restored += sum(self._executor.map(restore, ours))
        if not after:  # a run that was killed has pruned keywords and no record, one without any has a record
            self.get_run(run_id, deadline=deadline)
        return restored

    def get_run(self, run_id: str, *, deadline: Deadline) -> dict[str, Any]:
        """The record of a run. Raises UnknownRun, StoreUnavailable or DeadlineExceeded."""
        item = self._table.get(schema.run_key(run_id), deadline=deadline)
        if item is None:
            raise UnknownRun("There is no such pruning run.")
        return {name: value for name, value in item.items() if name not in ("pk", "sk")}

    def _head(self, keyword_id: str, deadline: Deadline) -> dict[str, Any]:
        head = self._table.get(schema.keyword_key(keyword_id), deadline=deadline)
        if head is None:
            raise UnknownKeyword("There is no such keyword.")
        return head

    def _prune_partition(
        self, partition: str, rules: PruneRules, run_id: str | None, deadline: Deadline, counts: PruneCounts
    ) -> None:
        now = utc_now()
        rare = partition in schema.active_partitions(used_less_than=rules.min_usage)
        days = min(rules.max_age_days, rules.hard_max_age_days) if rare else rules.hard_max_age_days
        before = to_timestamp(now - timedelta(days=days))
        for head in self._queue(partition, before, deadline):
            counts.examined += 1
            deadline.timeout(1.0)  # ends the part when the time is up
            usage = _usage(head, counts)
            if usage is None:
                continue
            reason = rules.reason(*usage, now)
            if reason is not None:
                counts.candidates += 1
                if len(counts.first_candidates) < _MOST_SHOWN:
                    counts.first_candidates.append(_candidate(head, reason))
                self._prune_candidate(head, run_id, deadline, counts)
            elif run_id is not None:
                self._writes.reclassify(head, deadline=deadline)

    def _prune_candidate(
        self, head: Mapping[str, Any], run_id: str | None, deadline: Deadline, counts: PruneCounts
    ) -> None:
        if run_id is None:
            return
        pruned = self._writes.prune(head, run_id, deadline=deadline)
        counts.pruned += pruned
        counts.kept += not pruned

    def _finish_interrupted(self, deadline: Deadline, _counts: PruneCounts) -> None:
        before = to_timestamp(utc_now() + timedelta(days=1))  # whatever its age
        for partition in schema.queue_partitions(PruneQueue.UNFINISHED):
            for head in self._queue(partition, before, deadline):
                self._writes.finish(head, deadline=deadline)

    def _delete_answers(self, deadline: Deadline, counts: PruneCounts) -> None:
        before = to_timestamp(utc_now() - self._answer_grace)
        for partition in schema.queue_partitions(PruneQueue.UNREFERENCED):
            for answer in self._queue(partition, before, deadline):
                counts.answers_deleted += self._writes.delete_unreferenced(answer, deadline=deadline)

    def _queue(self, partition: str, before: str, deadline: Deadline) -> Any:
        return self._table.iter_oldest(_BY_LAST_USE, partition=partition, before=before, page=_PAGE, deadline=deadline)

    def _record(self, report: PruneReport, deadline: Deadline) -> None:
        counts, rules = report.counts, report.rules
        record = schema.run_key(report.run_id) | {
            "run_id": report.run_id,
            "by": report.by,
            "created_at": utc_now(),
            "duration_ms": report.duration_ms,
            "finished": report.finished,
            "examined": counts.examined,
            "pruned": counts.pruned,
            "kept": counts.kept,
            "broken": counts.broken,
            "answers_deleted": counts.answers_deleted,
        }
        if rules is not None:
            record |= {
                "max_age_days": rules.max_age_days,
                "min_usage": rules.min_usage,
                "hard_max_age_days": rules.hard_max_age_days,
            }
        self._table.put_new(record, deadline=deadline)


def _in_time(part: Part) -> PruneCounts:
    """The counts of a part, as far as the time reached."""
    counts = PruneCounts()
    try:
        part(counts)
    except DeadlineExceeded:
        counts.unfinished = 1
    return counts


def _usage(head: Mapping[str, Any], counts: PruneCounts) -> tuple[datetime, int] | None:
    """When a keyword was last used and how often it was, or None when its item is broken."""
    try:
        return _moment(head.get("last_used_at") or head["created_at"]), int(head["usage_count"])
    except (KeyError, TypeError, ValueError) as error:
        counts.broken += 1
        logger.warning("a broken keyword was skipped", extra={"key": head.get("pk"), "reason": repr(error)})
        return None


def _moment(written: str) -> datetime:
    """The moment of ISO 8601 text; without a zone it is UTC."""
    moment = datetime.fromisoformat(written)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _candidate(head: Mapping[str, Any], reason: str) -> Candidate:
    return Candidate(
        keyword_id=head["keyword_id"],
        keyword_text=head["keyword_text"],
        usage_count=head["usage_count"],
        last_used_at=str(head.get("last_used_at", head.get("created_at"))),
        reason=reason,
    )


def _report(
    run_id: str, by: str, dry_run: bool, rules: PruneRules | None, counts: PruneCounts, began: float
) -> PruneReport:
    duration_ms = round((time.monotonic() - began) * 1000, 1)
    return PruneReport(run_id=run_id, by=by, dry_run=dry_run, rules=rules, counts=counts, duration_ms=duration_ms)
