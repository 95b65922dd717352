"""Keywords, their associations and look-up entries, and the web answers stored under them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gleaner import text
from gleaner.deadline import Deadline
from gleaner.errors import StoreUnavailable
from gleaner.model import Citation, WebAnswer, utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import TRANSACTION_LIMIT, ConditionFailed, Table
from gleaner.stores.items import from_timestamp, to_timestamp

# A transaction is planned from what was read, and its conditions name that. Another writer can make the
# plan stale only by adding, pruning or restoring the same keyword in between.
_PLANS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordUse:
    """What a set of keywords is indexed for."""

    kb_id: str
    query_id: str
    session_id: str | None
    answer: WebAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedKeyword:
    """A keyword as it stands after indexing; `existed` tells that it was merged into an earlier one."""

    keyword_id: str
    keyword_text: str
    existed: bool


@dataclass(frozen=True, slots=True)
class _Planned:
    keyword: IndexedKeyword
    actions: list[dict[str, Any]]  # the keyword's update first, then its association, then look-up entries


class KeywordStore:
    """The keywords table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def index(self, keywords: Sequence[str], use: KeywordUse, *, deadline: Deadline) -> list[IndexedKeyword]:
        """Merge `keywords` (valid ones, of different identity) into the index for `use`, each whole or not at all.

        What fits into one transaction is written in one, with the web answer first. A repeated call, also
        one that follows a crash between two transactions, changes only what the first left undone.
        Raises StoreUnavailable or DeadlineExceeded.
        """
        waiting = {schema.keyword_id(text.fold(keyword)): keyword for keyword in keywords}
        done: dict[str, IndexedKeyword] = {}
        for _ in range(_PLANS):
            planned = self._plan(waiting, use, deadline)
            for chunk in _chunks(planned):
                for item in self._write(chunk, use, deadline):
                    done[item.keyword_id] = item
                    del waiting[item.keyword_id]
            if not waiting:
                return list(done.values())
        raise StoreUnavailable("The store changed too fast to index the keywords.")

    def get_answers(self, result_ids: Sequence[str], *, deadline: Deadline) -> list[WebAnswer]:
        """The stored web answers among `result_ids`, in no order."""
        keys = [schema.answer_key(result_id) for result_id in result_ids]
        return [_to_answer(item) for item in self._table.get_many(keys, deadline=deadline)]

    def _plan(self, keywords: Mapping[str, str], use: KeywordUse, deadline: Deadline) -> list[_Planned]:
        keys = [schema.keyword_key(keyword_id) for keyword_id in keywords]
        found = {item["keyword_id"]: item for item in self._table.get_many(keys, deadline=deadline, consistent=True)}
        return [self._plan_one(key, shown, found.get(key), use) for key, shown in keywords.items()]

    def _plan_one(self, keyword: str, shown: str, stored: dict[str, Any] | None, use: KeywordUse) -> _Planned:
        now = to_timestamp(utc_now())
        findable = stored is not None and stored["status"] == "active" and use.kb_id in stored["kb_ids"]
        actions = [self._keyword_update(keyword, shown, findable, stored, use, now)]
        actions.append(self._table.new_item(_association(keyword, use, now)))
        if not findable:
            actions += self._entries(keyword, shown, use.kb_id)
        spelling = stored["keyword_text"] if stored else shown
        indexed = IndexedKeyword(keyword_id=keyword, keyword_text=spelling, existed=stored is not None)
        return _Planned(indexed, actions)

    def _keyword_update(
        self,
        keyword: str,
        shown: str,
        findable: bool,
        stored: dict[str, Any] | None,
        use: KeywordUse,
        now: str,
    ) -> dict[str, Any]:
        # The condition names the state that the plan rests on, and no more: counting up is commutative, so
        # writers of one keyword need not exclude each other.
        if findable:
            condition = "#status = :active AND contains(#kb_ids, :kb)"
        elif stored is None:
            condition = "attribute_not_exists(#pk)"
        else:
            condition = "attribute_exists(#pk) AND (#status <> :active OR NOT contains(#kb_ids, :kb))"
        return self._table.update(
            schema.keyword_key(keyword),
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text),"
            " #created_at = if_not_exists(#created_at, :now), #updated_at = :now, #last_used_at = :now,"
            " #status = :active, #active_shard = :shard ADD #usage_count :one, #kb_ids :kbs",
            condition=condition,
            values={
                ":id": keyword,
                ":text": shown,
                ":now": now,
                ":active": "active",
                ":shard": schema.active_shard(keyword),
                ":one": 1,
                ":kbs": {use.kb_id},
            }
            | ({} if stored is None else {":kb": use.kb_id}),
        )

    def _entries(self, keyword: str, shown: str, kb_id: str) -> list[dict[str, Any]]:
        # Entries are derived from the keyword alone, so writing one again writes the same; the condition
        # refuses only an entry of another keyword under this key, which would be a collision of ids.
        return [
            self._table.update(
                key,
                expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text)",
                condition="attribute_not_exists(#pk) OR #keyword_id = :id",
                values={":id": keyword, ":text": shown},
            )
            for key in entry_keys(keyword, shown, kb_id)
        ]

    def _write(self, chunk: Sequence[_Planned], use: KeywordUse, deadline: Deadline) -> list[IndexedKeyword]:
        """The keywords of `chunk` that are done; those whose plan was stale are left for the next plan."""
        actions = self._answer_actions(chunk, use) + [action for item in chunk for action in item.actions]
        try:
            self._table.transact(actions, deadline=deadline)
        except ConditionFailed as error:
            return _already_counted(chunk, error.positions, first=len(actions) - sum(len(i.actions) for i in chunk))
        return [item.keyword for item in chunk]

    def _answer_actions(self, chunk: Sequence[_Planned], use: KeywordUse) -> list[dict[str, Any]]:
        if use.answer is None:
            return []
        return [_answer_update(self._table, use.answer, {item.keyword.keyword_id for item in chunk})]


def entry_keys(keyword: str, shown: str, kb_id: str) -> list[schema.Key]:
    """Keys of a keyword's look-up entries: one for each stem, one for each two adjacent stems."""
    stems = text.stems(shown)
    partitions = [(schema.term_partition(kb_id, stem), stem) for stem in stems]
    partitions += [(schema.pair_partition(kb_id, first, second), "") for first, second in pairwise(stems)]
    return [{"pk": partition, "sk": schema.entry_sort_key(stem, len(stems), keyword)} for partition, stem in partitions]


def _association(keyword: str, use: KeywordUse, now: str) -> dict[str, Any]:
    result_id = use.answer.result_id if use.answer else None
    association = schema.association_id(keyword, use.query_id, result_id)
    return schema.association_key(keyword, use.kb_id, use.query_id, association) | {
        "association_id": association,
        "keyword_id": keyword,
        "kb_id": use.kb_id,
        "query_id": use.query_id,
        "perplexity_result_id": result_id,
        "session_id": use.session_id,
        "created_at": now,
        "status": "active",
    }


def _answer_update(table: Table, answer: WebAnswer, keyword_ids: set[str]) -> dict[str, Any]:
    # The same answer may be indexed again with more keywords; its content is fixed by the first write, and
    # it never moves to another knowledge base.
    return table.update(
        schema.answer_key(answer.result_id),
        expression="SET #result_id = :id, #kb_id = :kb, #query = if_not_exists(#query, :query),"
        " #answer = if_not_exists(#answer, :answer), #citations = if_not_exists(#citations, :citations),"
        " #model = if_not_exists(#model, :model), #created_at = if_not_exists(#created_at, :created)"
        " ADD #keyword_ids :keywords",
        condition="attribute_not_exists(#pk) OR #kb_id = :kb",
        values={
            ":id": answer.result_id,
            ":kb": answer.kb_id,
            ":query": answer.query,
            ":answer": answer.answer,
            ":citations": [
                {"url": c.url, "title": c.title, "snippet": c.snippet, "date": c.date} for c in answer.citations
            ],
            ":model": answer.model,
            ":created": answer.created_at,
            ":keywords": keyword_ids,
        },
    )


def _to_answer(item: Mapping[str, Any]) -> WebAnswer:
    return WebAnswer(
        result_id=item["result_id"],
        kb_id=item["kb_id"],
        query=item["query"],
        answer=item["answer"],
        citations=tuple(Citation(**citation) for citation in item["citations"]),
        model=item["model"],
        created_at=from_timestamp(item["created_at"]),
    )


def _chunks(planned: Sequence[_Planned]) -> list[list[_Planned]]:
    """Groups that fit into one transaction, beside one action for the web answer."""
    chunks: list[list[_Planned]] = [[]]
    size = 1
    for item in planned:
        if size + len(item.actions) > TRANSACTION_LIMIT:
            chunks.append([])
            size = 1
        chunks[-1].append(item)
        size += len(item.actions)
    return chunks


def _already_counted(chunk: Sequence[_Planned], failed: tuple[int, ...], *, first: int) -> list[IndexedKeyword]:
    """The keywords whose association was there already: an earlier try of this very call wrote them."""
    if any(position < first for position in failed):
        raise StoreUnavailable("A stored web answer belongs to another knowledge base.")
    done = []
    position = first
    for item in chunk:
        if position + 1 in failed:
            done.append(item.keyword)
        position += len(item.actions)
    return done
