"""Writes keywords with their associations, postings and web answers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from gleaner.errors import AnswerForgotten, GleanerError, StoreUnavailable
from gleaner.model import WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores._learning_plans import (
    IndexedKeyword,
    Plan,
    Planner,
    assume_head,
    read_refusals,
)
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.forgotten_pages import BarChecks, page_keys
from gleaner.stores.items import to_timestamp
from gleaner.stores.keyword_items import (
    KeywordUse,
    answer_update,
    is_forgotten,
    must_write_first_use_out,
    query_use,
    queue_answer,
    taught_update,
    to_answers,
)
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_postings import FullLists, Head
from gleaner.stores.keyword_pruning import PruneWriter, is_unfinished
from gleaner.stores.keyword_stems import merge_key, new_keyword_id
from gleaner.stores.schema import PruneQueue

__all__ = ("IndexedKeyword", "KeywordStore")

# The first plan assumes that all keywords are new; a failed transaction returns the existing items, from which the
# next is planned. That plan fails only if another writer adds, prunes or restores the same keyword in between.
_MAX_PLANS = 32
_ACTIONS_PER_USE = 2


class KeywordStore:
    """The keywords table."""

    def __init__(self, table: Table, layout: KeywordLayout, *, answer_lifetime: timedelta | None = None) -> None:
        """`answer_lifetime` is how long stored web answers are served; None: without an end."""
        self._table = table
        self._layout = layout
        self._answer_lifetime = answer_lifetime
        self._full_lists = FullLists(table)
        self._prune_writer = PruneWriter(table)
        self._bar_checks = BarChecks(table)

    def index(self, keywords: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> list[IndexedKeyword]:
        """Merge `keywords` (valid ones) into the index for `use`; each is written atomically.

        Near-duplicates (`merge_key`) are one keyword. Keywords that fit into one transaction are written in one, with
        the web answer first. That takes one round trip if all are new and two otherwise, or if a posting list is found
        to be full. The call is idempotent; repeated after a crash between two transactions, it writes what is missing.
        Raises AnswerForgotten, StoreUnavailable or DeadlineExceeded.
        """
        if not keywords:
            return []
        is_compact = self._layout.is_compact(deadline=deadline)
        pending = _distinct(keywords, is_compact=is_compact)
        heads: dict[str, Head | None] = {}
        indexed: dict[str, IndexedKeyword] = {}
        for _ in range(_MAX_PLANS):
            planner = Planner(self._table, self._full_lists.planner(), use, is_compact=is_compact)
            targets = {keyword_id: spelling for spelling, keyword_id in reversed(pending.items())}
            plans = [planner.plan(key, spelling, heads.get(key)) for key, spelling in reversed(targets.items())]
            for chunk in planner.chunks(plans, _count_answer_actions(use)):
                for keyword in self._write(chunk, planner, heads, pending, deadline):
                    indexed[keyword.keyword_id] = keyword
                    pending = {text: key for text, key in pending.items() if key != keyword.keyword_id}
            if not pending:
                return list(indexed.values())
        raise StoreUnavailable("The store changed too fast to index the keywords.")

    def count_uses(self, keyword_ids: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> None:
        """Count that these keywords served a query: once for each query, and only while they are active.

        Raises StoreUnavailable or DeadlineExceeded.
        """
        now, pending = to_timestamp(utc_now()), list(keyword_ids)
        while pending:
            actions = [action for keyword_id in pending for action in self._use_actions(keyword_id, use, now)]
            try:
                self._table.transact(actions, deadline=deadline)
            except ConditionFailed as error:
                # Drop keywords that were pruned in the meantime, or counted by an earlier attempt.
                failures = {position // _ACTIONS_PER_USE for position in error.positions}
                pending = [keyword_id for i, keyword_id in enumerate(pending) if i not in failures]
            else:
                return

    def _use_actions(self, keyword_id: str, use: KeywordUse, now: str) -> list[dict[str, Any]]:
        count = self._table.update(
            schema.keyword_key(keyword_id),
            # It stays in the partition of fewer uses until a run finds that it has more (`active_partition`).
            expression="SET #updated_at = :now, #last_used_at = :now ADD #usage_count :one",
            condition="#status = :active",  # counting must not restore a pruned keyword
            values={":now": now, ":one": 1, ":active": "active"},
        )
        return [count, self._table.new_item(query_use(keyword_id, use, now))]

    def get_answers(self, result_ids: Sequence[str], *, deadline: Deadline) -> list[WebAnswer]:
        """The web answers with these ids that are not forgotten or expired, in no particular order."""
        keys = [schema.answer_key(result_id) for result_id in result_ids]
        items = self._table.get_many(keys, deadline=deadline)
        return to_answers(items)

    def queue_for_index(self, result_id: str, *, deadline: Deadline) -> None:
        """Let the next pruning run write a stored answer into the vector index, unless it is gone or unreferenced."""
        queue = queue_answer(self._table, result_id, PruneQueue.UNINDEXED)
        with suppress(ConditionFailed):
            self._table.transact([queue], deadline=deadline)

    def _write(
        self,
        chunk: Sequence[Plan],
        planner: Planner,
        heads: dict[str, Head | None],
        pending: dict[str, str],
        deadline: Deadline,
    ) -> list[IndexedKeyword]:
        """Write a chunk, and what makes it findable, and return its keywords that are done.

        Of those planned wrongly, the heads go into `heads`, and into `pending` the ids that their stems belong to.
        """
        answers, additions = self._answer_actions(chunk, planner), planner.additions(chunk)
        actions = [*answers, *(action for item in chunk for action in item.actions.values())]
        try:
            self._table.transact([*actions, *additions], deadline=deadline)
        except ConditionFailed as error:
            first = len(answers)
            if min(error.positions) < first and not self._bar_checks.note_refusal(error.existing_items.get(1, {})):
                raise _refusal(error) from error
            self._full_lists.note_full_lists(additions, error, first=len(actions))
            refusals = read_refusals(chunk, error, first=first)
            for refusal in refusals:
                if owner := refusal.owner:
                    pending[refusal.plan.spelling] = owner["keyword_id"]
                    heads.setdefault(owner["keyword_id"], assume_head(owner, planner.use))
                if refusal.is_misplanned:
                    heads[refusal.plan.keyword.keyword_id] = self._ready(refusal.head, deadline)
            return [refusal.written for refusal in refusals if refusal.written]
        self._full_lists.note_written(additions)
        return [item.keyword for item in chunk]

    def _ready(self, head: Head | None, deadline: Deadline) -> Head | None:
        """A head, of which nothing is left to do before its keyword is written."""
        if head is not None and is_unfinished(head):
            self._prune_writer.finish(head, deadline=deadline)
        if head is not None and must_write_first_use_out(head):
            self._prune_writer.write_first_use_out(head, deadline=deadline)
        return head

    def _answer_actions(self, chunk: Sequence[Plan], planner: Planner) -> list[dict[str, Any]]:
        """The answer's own action comes first, then the checks of its pages."""
        use, keyword_ids = planner.use, {item.keyword.keyword_id for item in chunk}
        taught = [] if use.caller is None else [taught_update(self._table, use, use.caller, keyword_ids)]
        if use.answer is None:
            return taught
        urls = (citation.url for citation in use.answer.citations)
        checks = self._bar_checks.plan(urls, spread_by=use.answer.result_id, from_list=planner.is_compact)
        answer = answer_update(
            self._table, use.answer, keyword_ids, lifetime=self._answer_lifetime, is_compact=planner.is_compact
        )
        return [answer, *checks, *taught]


def _count_answer_actions(use: KeywordUse) -> int:
    """The most actions that are written for the answer: the list of bars may turn out to be incomplete."""
    pages = page_keys(citation.url for citation in use.answer.citations) if use.answer else ()
    return len(pages) + 2  # the answer, and what the query taught


def _refusal(error: ConditionFailed) -> GleanerError:
    """Why the answer of a transaction may not be stored: its own action comes first, then the checks of its pages."""
    if 0 in error.positions and not is_forgotten(error.existing_items.get(0, {})):
        return StoreUnavailable("A stored web answer belongs to another knowledge base.")
    return AnswerForgotten("An administrator made the service forget what it learned from this page.")


def _distinct(keywords: Sequence[str], *, is_compact: bool) -> dict[str, str]:
    """The ids of the keywords by text, as they are if they are new; of near-duplicates only the first."""
    spellings: dict[str, str] = {}
    for keyword in keywords:
        spellings.setdefault(merge_key(keyword), keyword)
    return {spelling: new_keyword_id(spelling, is_compact=is_compact) for spelling in spellings.values()}
