"""Prunes unused keywords by usage and age, records each run, and restores keywords."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from gleaner.errors import DeadlineExceeded, UnknownKeyword, UnknownRun
from gleaner.model import new_id, utc_now
from gleaner.pruning._answer_records import AnswerRecords
from gleaner.pruning.rules import Candidate, Part, PruneCounts, PruneReport, PruneRules, read_usage
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.forgotten_pages import bar_end, is_bar, list_bar
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_layout import COMPACT_FOR, KeywordLayout
from gleaner.stores.keyword_pruning import PruneWriter
from gleaner.stores.keyword_stems import read_head
from gleaner.stores.schema import PruneQueue

if TYPE_CHECKING:
    from gleaner.clients.answer_index import AnswerIndex
    from gleaner.stores.keyword_restoring import RestoreWriter

_PAGE = 100
_MAX_LISTED_CANDIDATES = 500
_SECONDS_FOR_RECORD = 1.0  # reserved for writing the record of the run
_BY_LAST_USE = schema.KEYWORDS.indexes[0]


class Pruner:
    """Prunes and restores keywords."""

    def __init__(
        self,
        table: Table,
        executor: Executor,
        *,
        answer_grace: timedelta,
        connect_index: Callable[[], AnswerIndex] | None = None,
    ) -> None:
        """`answer_grace` is how long a web answer that no active keyword refers to is kept.

        `connect_index` is called when records of the vector index are to be written or deleted; without it none are.
        """
        self._table = table
        self._connect_index = connect_index
        self._prune_writer = PruneWriter(table)
        self._executor = executor
        self._answer_grace = answer_grace

    def run(self, rules: PruneRules, *, by: str, dry_run: bool, deadline: Deadline) -> PruneReport:
        """Prune by `rules` until all is done or time is nearly up. A dry run only lists the candidates.

        Parts of the index are pruned in parallel, each from its oldest keyword on. Raises StoreUnavailable.
        """
        start, run_id = time.monotonic(), new_id()
        part_deadline = Deadline(deadline.at - _SECONDS_FOR_RECORD)
        parts: list[Part] = [
            partial(self._prune_partition, partition, rules, None if dry_run else run_id, part_deadline)
            for partition in schema.active_partitions()
        ]
        if not dry_run:
            parts += [
                partial(self._finish_interrupted, part_deadline),
                partial(self._delete_answers, part_deadline),
                partial(self._repair_index, part_deadline),
                partial(self._list_bars, part_deadline),
            ]
        counts = self._run_parts(parts)
        if not dry_run:
            counts.add(_run_part(partial(self._move_former, part_deadline)))
        by_age = sorted(counts.first_candidates, key=lambda candidate: candidate.last_used_at)
        counts.first_candidates = by_age[:_MAX_LISTED_CANDIDATES]
        report = _report(run_id, by, dry_run, rules, counts, start)
        if not dry_run:
            self._record(report, deadline)
        return report

    def _run_parts(self, parts: Sequence[Part]) -> PruneCounts:
        counts = PruneCounts()
        for future in [self._executor.submit(_run_part, part) for part in parts]:
            counts.add(future.result())
        return counts

    def _move_former(self, deadline: Deadline, counts: PruneCounts) -> None:
        """Move what earlier versions stored, until items have the compact form, which each run prolongs."""
        layout = KeywordLayout(self._table)
        is_compact = layout.is_compact(deadline=deadline)
        if layout.is_announced:
            layout.prolong(utc_now() + COMPACT_FOR, deadline=deadline)
        if is_compact:
            return
        from gleaner.pruning._former_keywords import FormerKeywords  # for some runs after an upgrade

        former = FormerKeywords(self._table, iter_heads=self._iter_heads, run_parts=self._run_parts)
        former.move(layout, counts, deadline=deadline)

    def prune_one(self, keyword_id: str, *, by: str, deadline: Deadline) -> PruneReport:
        """Prune one keyword by hand; a pruned one is left alone. Raises UnknownKeyword or StoreUnavailable."""
        start, run_id = time.monotonic(), new_id()
        head = self._read_head(keyword_id, deadline)
        counts = PruneCounts(examined=1)
        if head["status"] == "active":
            counts.candidates = 1
            counts.first_candidates = [_candidate(head, "by hand")]
            counts.pruned = int(self._prune_writer.prune(head, run_id, deadline=deadline))
            counts.kept = 1 - counts.pruned
        report = _report(run_id, by, False, None, counts, start)
        self._record(report, deadline)
        return report

    def restore_one(self, keyword_id: str, *, deadline: Deadline) -> bool:
        """Restore a keyword. Returns False if it is not pruned. Raises UnknownKeyword or StoreUnavailable."""
        return self._restore_writer.restore(self._read_head(keyword_id, deadline), deadline=deadline)

    def restore_run(self, run_id: str, *, deadline: Deadline) -> int:
        """Restore the keywords that a run pruned, unless they were pruned again or restored since. Returns their count.

        A repeated call resumes an interrupted one. Raises UnknownRun, StoreUnavailable or DeadlineExceeded.
        """
        restored_count, after = 0, ""
        partition = schema.run_key(run_id)["pk"]
        restore = partial(self._restore_writer.restore, deadline=deadline)
        while page := self._table.query_all(
            partition=partition, begins_with=schema.PRUNED_PREFIX, after=after, limit=_PAGE, deadline=deadline
        ):
            after = page[-1]["sk"]
            keys = [schema.keyword_key(item["keyword_id"]) for item in page]
            heads = self._table.get_many(keys, deadline=deadline, consistent=True)
            heads_of_run = [head for head in heads if head.get("pruned_run_id") == run_id]
            restored_count += sum(self._executor.map(restore, heads_of_run))
        if not after:  # a killed run has no record but pruned keywords; a run that pruned none has a record
            self.get_run(run_id, deadline=deadline)
        return restored_count

    def get_run(self, run_id: str, *, deadline: Deadline) -> dict[str, Any]:
        """Read the record of a run. Raises UnknownRun, StoreUnavailable or DeadlineExceeded."""
        item = self._table.get(schema.run_key(run_id), deadline=deadline)
        if item is None:
            raise UnknownRun("There is no such pruning run.")
        return {name: value for name, value in item.items() if name not in ("pk", "sk")}

    @cached_property
    def _restore_writer(self) -> RestoreWriter:
        from gleaner.stores.keyword_restoring import RestoreWriter  # the pruning function never restores

        return RestoreWriter(self._table)

    def _read_head(self, keyword_id: str, deadline: Deadline) -> dict[str, Any]:
        head = read_head(self._table, keyword_id, deadline=deadline)
        if head is None:
            raise UnknownKeyword("There is no such keyword.")
        return head

    def _prune_partition(
        self, partition: str, rules: PruneRules, run_id: str | None, deadline: Deadline, counts: PruneCounts
    ) -> None:
        now = utc_now()
        rarely_used = partition in schema.active_partitions(used_less_than=rules.min_usage)
        days = min(rules.max_age_days, rules.hard_max_age_days) if rarely_used else rules.hard_max_age_days
        before = to_timestamp(now - timedelta(days=days))
        for head in self._iter_oldest(partition, before, deadline):
            counts.examined += 1
            deadline.timeout(1.0)  # raises when the part's time is up
            usage = read_usage(head, counts)
            if usage is None:
                continue
            if (reason := rules.reason(*usage, now)) is not None:
                counts.candidates += 1
                if len(counts.first_candidates) < _MAX_LISTED_CANDIDATES:
                    counts.first_candidates.append(_candidate(head, reason))
                self._prune_candidate(head, run_id, deadline, counts)
            elif run_id is not None:
                self._prune_writer.reclassify(head, deadline=deadline)

    def _prune_candidate(
        self, head: Mapping[str, Any], run_id: str | None, deadline: Deadline, counts: PruneCounts
    ) -> None:
        if run_id is None:
            return
        pruned = self._prune_writer.prune(head, run_id, deadline=deadline)
        counts.pruned += pruned
        counts.kept += not pruned

    def _finish_interrupted(self, deadline: Deadline, _counts: PruneCounts) -> None:
        for partition in schema.queue_partitions(PruneQueue.UNFINISHED):
            for head in self._iter_heads(partition, deadline):
                self._prune_writer.finish(head, deadline=deadline)

    def _delete_answers(self, deadline: Deadline, counts: PruneCounts) -> None:
        before = to_timestamp(utc_now() - self._answer_grace)
        for partition in schema.queue_partitions(PruneQueue.UNREFERENCED):
            for answer in self._iter_oldest(partition, before, deadline):
                counts.answers_deleted += self._prune_writer.delete_unreferenced(answer, deadline=deadline)

    def _list_bars(self, deadline: Deadline, _counts: PruneCounts) -> None:
        """Add the bars of pages to the lists that learning checks, where an earlier version did not."""
        listed = self._table.get(schema.bars_keys()[0], deadline=deadline) or {}
        after_all = to_timestamp(bar_end() + timedelta(days=1))
        for partition in schema.queue_partitions(PruneQueue.UNREFERENCED):
            for item in self._iter_oldest(partition, after_all, deadline):
                if is_bar(item) and (actions := list_bar(self._table, item, listed)):
                    with suppress(ConditionFailed):  # it was renewed, which listed it, or the list changed: next time
                        self._table.transact(actions, deadline=deadline)
                    listed = self._table.get(schema.bars_keys()[0], deadline=deadline) or {}

    def _repair_index(self, deadline: Deadline, _counts: PruneCounts) -> None:
        """Write the answers into the vector index that are missing there, and delete records without an answer."""
        if self._index is None:
            return
        for partition in schema.queue_partitions(PruneQueue.UNINDEXED):
            for answer in self._iter_heads(partition, deadline):
                if not self._index.write(answer, deadline=deadline):
                    return
        self._index.delete_orphans(deadline=deadline)

    @cached_property
    def _index(self) -> AnswerRecords | None:
        return AnswerRecords(self._table, self._connect_index) if self._connect_index else None

    def _iter_heads(self, partition: str, deadline: Deadline) -> Iterator[dict[str, Any]]:
        after_all = to_timestamp(utc_now() + timedelta(days=1))  # later than the last use of any item
        return self._iter_oldest(partition, after_all, deadline)

    def _iter_oldest(self, partition: str, before: str, deadline: Deadline) -> Iterator[dict[str, Any]]:
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


def _run_part(part: Part) -> PruneCounts:
    """Run a part until it is done or its time is up, and return its counts."""
    counts = PruneCounts()
    try:
        part(counts)
    except DeadlineExceeded:
        counts.unfinished = 1
    return counts


def _candidate(head: Mapping[str, Any], reason: str) -> Candidate:
    return Candidate(
        keyword_id=head["keyword_id"],
        keyword_text=head["keyword_text"],
        usage_count=head["usage_count"],
        last_used_at=str(head.get("last_used_at", head.get("created_at"))),
        reason=reason,
    )


def _report(
    run_id: str, by: str, dry_run: bool, rules: PruneRules | None, counts: PruneCounts, start: float
) -> PruneReport:
    duration_ms = round((time.monotonic() - start) * 1000, 1)
    return PruneReport(run_id=run_id, by=by, dry_run=dry_run, rules=rules, counts=counts, duration_ms=duration_ms)
