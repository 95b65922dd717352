"""Deletes what a session or a caller taught: stored web answers, and keywords that nobody else taught.

Every step is one transaction that leaves the index valid, and a repeated call goes on where an interrupted one ended:
the record of what a query taught is deleted last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gleaner.errors import StoreUnavailable, UnknownAnswer
from gleaner.groups import ACL
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.answer_forgetting import AnswerForgetting
from gleaner.stores.dynamodb import MAX_TRANSACTION_ACTIONS, ConditionFailed, Table
from gleaner.stores.keyword_items import is_forgotten, name_of
from gleaner.stores.keyword_postings import Head, find_unlisted, removals
from gleaner.stores.keyword_pruning import (
    EXISTING_ANSWER,
    Action,
    PruneWriter,
    is_unfinished,
)
from gleaner.stores.keyword_stems import read_head, release

if TYPE_CHECKING:
    from gleaner.stores.keyword_moving import PostingMover

_PAGE = 100
_MAX_TRIES = 16  # one fails if the keyword is used between the read and the write
_MAX_DELETIONS = 15  # associations in the transaction that also removes the words of a scope, by at most 80 actions
_BY = "deletion"  # who forgot an answer: nothing is to say whose it was
# Deletes records of stored answers of a knowledge base from the vector index, by their ids.
DeleteRecords = Callable[[str, Sequence[str], Deadline], None]
_TAUGHT_BY_QUERY = schema.ASSOCIATION_PREFIXES[0]


@dataclass(slots=True, kw_only=True)
class LearnedCounts:
    """What was deleted."""

    keywords: int = 0
    answers: int = 0


@dataclass(frozen=True, slots=True)
class _Teacher:
    """Whose associations go: those of a caller (by its hash), or only those of one session or one query."""

    caller: str
    session_id: str | None
    query_id: str | None = None

    def taught(self, association: Mapping[str, Any]) -> bool:
        return (
            association.get("caller") == self.caller
            and self.session_id in (None, association.get("session_id"))
            and self.query_id in (None, association["query_id"])
        )


class LearnedDeletion:
    """Deletes from the keywords table and, with `delete_records`, from the vector index.

    Methods raise StoreUnavailable or DeadlineExceeded, and what `delete_records` raises.
    """

    def __init__(self, table: Table, delete_records: DeleteRecords | None = None) -> None:
        self._table = table
        self._delete_records = delete_records
        self._forgetting = AnswerForgetting(table)
        self._prune_writer = PruneWriter(table)

    def delete(
        self, caller: str, counts: LearnedCounts, *, session_id: str | None, with_shared: bool, deadline: Deadline
    ) -> None:
        """Delete what a caller (by its hash) taught, or only in one session, and add to `counts`.

        What others find stays unless `with_shared`, without the words that were sent to the web.
        """
        prefix, after = schema.taught_prefix(session_id) if session_id else schema.TAUGHT_PREFIX, ""
        teacher = _Teacher(caller, session_id)
        while page := self._table.query_all(
            partition=schema.taught_key(caller, "", "")["pk"],
            begins_with=prefix,
            after=after,
            limit=_PAGE,
            deadline=deadline,
        ):
            after = page[-1]["sk"]
            for record in page:
                self._delete_from_index(record, deadline)
                if with_shared or schema.is_private(record["scope"]):
                    self._delete_taught(record, teacher, counts, deadline)
                else:
                    self._remove_words(record, deadline)

    def withdraw(self, caller: str, session_id: str | None, query_id: str, *, deadline: Deadline) -> None:
        """Delete what one query of a caller (by its hash) taught, for whomever it was."""
        record = self._table.get(schema.taught_key(caller, session_id, query_id), deadline=deadline)
        if record is not None:
            self._delete_from_index(record, deadline)
            self._delete_taught(record, _Teacher(caller, session_id, query_id), LearnedCounts(), deadline)

    def _delete_from_index(self, record: Mapping[str, Any], deadline: Deadline) -> None:
        """A record of the index holds the question. Where the answer stays, keywords still find it."""
        result_ids = sorted(record.get("result_ids", ()))
        if self._delete_records is not None and result_ids:
            self._delete_records(schema.knowledge_base_of(record["scope"]), result_ids, deadline)

    def _delete_taught(
        self, record: Mapping[str, Any], teacher: _Teacher, counts: LearnedCounts, deadline: Deadline
    ) -> None:
        keys = [schema.answer_key(result_id) for result_id in sorted(record.get("result_ids", ()))]
        for answer in self._table.get_many(keys, deadline=deadline, consistent=True):
            with suppress(UnknownAnswer):  # it expired, or was pruned in the meantime
                self._forgetting.forget(answer["result_id"], by=_BY, bars_pages=False, deadline=deadline)
                counts.answers += not is_forgotten(answer)
        keyword_ids = record.get("keyword_ids", set())
        for keyword_id in sorted(keyword_ids):
            counts.keywords += self._delete_keyword(keyword_id, teacher, deadline)
        unchanged = "#keyword_ids = :read" if keyword_ids else "attribute_not_exists(#keyword_ids)"
        deletion = self._table.delete(
            {"pk": record["pk"], "sk": record["sk"]},
            condition=f"attribute_not_exists(#pk) OR {unchanged}",  # a query that still runs may teach more
            values={":read": keyword_ids} if keyword_ids else None,
        )
        try:
            self._table.transact([deletion], deadline=deadline)
        except ConditionFailed:
            current = self._table.get({"pk": record["pk"], "sk": record["sk"]}, deadline=deadline)
            if current is not None:
                self._delete_taught(current, teacher, counts, deadline)

    def _remove_words(self, record: Mapping[str, Any], deadline: Deadline) -> None:
        """Empty query and question of the answers, but not so that a query that still runs would write them again."""
        for result_id in sorted(record.get("result_ids", ())):
            emptying = self._table.update(
                schema.answer_key(result_id),
                expression="SET #query = :empty, #answers = :empty",
                condition=EXISTING_ANSWER,
                values={":empty": ""},
            )
            with suppress(ConditionFailed):
                self._table.transact([emptying], deadline=deadline)

    def _delete_keyword(self, keyword_id: str, teacher: _Teacher, deadline: Deadline) -> bool:
        """Delete a keyword if nobody else taught it, else what the teacher added. Returns whether it was deleted."""
        tries = 0
        while tries < _MAX_TRIES:
            head = read_head(self._table, keyword_id, deadline=deadline)
            if head is None:
                return False
            if is_unfinished(head):
                self._prune_writer.finish(head, deadline=deadline)
                continue
            if head["status"] == "active" and find_unlisted(head):
                # An earlier version's words are too many for one transaction. Who moved them does not matter.
                self._mover.move(head, deadline=deadline)
                tries += 1
                continue
            associations = self._prune_writer.read_associations(head, deadline)
            step = _plan(head, associations, teacher)
            actions = self._actions(head, step, deadline)
            if not actions:
                return False
            try:
                self._table.transact(actions, deadline=deadline)
            except ConditionFailed:
                tries += 1
                continue
            if step.is_last:
                return step.deletes_head
        raise StoreUnavailable("The store changed too fast to delete a keyword.")

    @cached_property
    def _mover(self) -> PostingMover:
        from gleaner.stores.keyword_moving import PostingMover  # for keywords of earlier versions only

        return PostingMover(self._table)

    def _actions(self, head: Head, step: _Step, deadline: Deadline) -> list[Action]:
        deletions = [self._table.delete({"pk": item["pk"], "sk": item["sk"]}) for item in step.associations]
        # Words are removed only together with a write of the head, which fails if the keyword was learned again.
        words = list(removals(self._table, head, step.scopes))
        if step.deletes_head:
            runs = [head["pruned_run_id"]] if "pruned_run_id" in head else []
            records = [self._table.delete(schema.pruned_key(run_id, head["keyword_id"])) for run_id in runs]
            # Together: without the head nothing leads to the claim, and without the claim it would be learned twice.
            claims = release(self._table, head, deadline=deadline)
            return [self._delete_head(head), *claims, *records, *deletions, *words]
        if step.scopes or step.callers != head.get("callers") or _names_doomed(head, step):
            return [self._update_head(head, step), *deletions, *words]
        return deletions

    def _delete_head(self, head: Head) -> Action:
        return self._table.delete(
            schema.keyword_key(head["keyword_id"]), condition=_UNCHANGED, values=_unchanged_values(head)
        )

    def _update_head(self, head: Head, step: _Step) -> Action:
        values = _unchanged_values(head)
        sets, deletes = [], []
        if step.callers != head.get("callers"):
            sets, values = ["#callers = :callers"], values | {":callers": step.callers}
        if step.scopes:
            deletes = ["#kb_ids :scopes", "#listed_in :scopes"]
            values |= {":scopes": set(step.scopes)}
        expression = (f"SET {sets[0]} " if sets else "") + (f"DELETE {', '.join(deletes)} " if deletes else "")
        if _names_doomed(head, step):
            expression += "REMOVE #newest_answers"  # the next older ones are not known here
        return self._table.update(
            schema.keyword_key(head["keyword_id"]), expression=expression, condition=_UNCHANGED, values=values
        )


_UNCHANGED = "#status = :status AND #usage_count = :uses AND #last_used_at = :last_used"


def _unchanged_values(head: Head) -> dict[str, Any]:
    return {":status": head["status"], ":uses": head["usage_count"], ":last_used": head["last_used_at"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One transaction."""

    associations: Sequence[Mapping[str, Any]] = ()
    scopes: Sequence[str] = ()  # in which the keyword is not to be found any more
    callers: set[str] | None = None  # those that the head names from then on
    deletes_head: bool = False
    is_last: bool = False


def _names_doomed(head: Head, step: _Step) -> bool:
    """Whether the head names an answer whose association is deleted."""
    return not {name_of(item) for item in step.associations}.isdisjoint(head.get("newest_answers", ()))


def _plan(head: Head, associations: Sequence[Mapping[str, Any]], teacher: _Teacher) -> _Step:
    """The next step: at most one scope, or many associations, in one transaction."""
    lessons = [item for item in associations if item["sk"].startswith(_TAUGHT_BY_QUERY)]
    own = [item for item in lessons if teacher.taught(item)]
    others = [item for item in lessons if not teacher.taught(item)]
    # A keyword of an earlier version, whose head names no callers, is everybody's.
    deletes_head = not others and "callers" in head
    doomed = list(associations) if deletes_head else own
    left = {item["kb_id"] for item in others}
    scopes = set(head.get("kb_ids", ())) - left if "callers" in head else set()
    if len(doomed) > _MAX_DELETIONS:
        return _Step(associations=doomed[: MAX_TRANSACTION_ACTIONS - 1], callers=head.get("callers"))
    if len(scopes) > 1:
        return _Step(scopes=sorted(scopes)[:1], callers=head.get("callers"))
    return _Step(
        associations=doomed,
        scopes=sorted(scopes),
        callers=_remaining_callers(head, others),
        deletes_head=deletes_head,
        is_last=True,
    )


def _remaining_callers(head: Head, others: Sequence[Mapping[str, Any]]) -> set[str] | None:
    if "callers" not in head:
        return None
    remaining: set[str] = set()
    for is_restricted in (False, True):
        callers = {item["caller"] for item in others if "caller" in item and (ACL in item) == is_restricted}
        kept = sorted(callers)[: schema.MAX_CALLERS]
        remaining.update(schema.caller_mark(caller, is_restricted=is_restricted) for caller in kept)
    return remaining or set(head["callers"])
