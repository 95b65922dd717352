"""The items of the keywords table: associations, records of what was taught, and stored web answers.

The head of a keyword names its newest stored answers while they are few, so that they are read together with it. It
names either the newest or none; then its associations are queried. It does so from the keyword's creation until it
would have to name too many, or until one of its associations goes: pruned, forgotten or deleted. Then it names none any
more, because it does not know the next older ones. Heads of earlier versions name none.

The head of a keyword also holds its first association, in place of an item (`first_use`), until its associations are
needed as items: before one of them goes, and before the head names no answers any more (`keyword_first_use`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from gleaner.groups import ACL, Groups, read_stored_groups
from gleaner.guards.redaction import redact
from gleaner.model import Citation, WebAnswer, utc_now
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_timestamp, pack_json, to_timestamp, unpack_json
from gleaner.stores.schema import PruneQueue

ASSOCIATIONS_PER_KEYWORD = 10  # the newest, of one knowledge base: what a look-up follows
_MAX_NAMED = 14  # so that not each use of a keyword with ten answers must replace the others
MIN_DOUBTERS = 2  # callers who rated a stored answer poor, so that it is not handed out


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordUse:
    """The query, and the web answer if any, that keywords are indexed for."""

    kb_id: str
    query_id: str
    session_id: str | None
    answer: WebAnswer | None
    caller: str | None = None  # the hash of who asked; None: not known, as in what earlier versions learned
    is_private: bool = False  # only the caller finds it
    groups: Groups = ()  # of the restricted passages that the query saw, as `common_groups` returns them

    @property
    def scope(self) -> str:
        """What stands for the knowledge base in keys."""
        if self.is_private and self.caller is not None:
            return schema.private_scope(self.kb_id, self.caller)
        return self.kb_id

    @property
    def caller_mark(self) -> str | None:
        """What names the caller in the head of a keyword; None if the caller is not known."""
        return None if self.caller is None else schema.caller_mark(self.caller, is_restricted=bool(self.groups))


def association(keyword: str, use: KeywordUse, now: str) -> dict[str, Any]:
    """The item that links a keyword to the query and the web answer it was indexed for."""
    result_id = use.answer.result_id if use.answer else None
    key = schema.association_key(keyword, use.scope, use.query_id, _association_id(keyword, use, result_id))
    rights = {"caller": use.caller, ACL: list(use.groups) or None}
    return key | _association_values(keyword, use, result_id, now) | rights


_HELD = ("association_id", "kb_id", "query_id", "perplexity_result_id", "session_id", "caller", ACL)


def first_association(head: Mapping[str, Any]) -> dict[str, Any] | None:
    """The association that a head holds, as its item would be; None if it holds none."""
    if "first_use" not in head:
        return None
    held: dict[str, Any] = head["first_use"]
    keyword = head["keyword_id"]
    key = schema.association_key(keyword, held["kb_id"], held["query_id"], held["association_id"])
    return key | held | {"keyword_id": keyword, "created_at": head["created_at"], "status": "active"}


def query_use(keyword: str, use: KeywordUse, now: str) -> dict[str, Any]:
    """The item that links a keyword to a query that it served."""
    key = schema.query_use_key(keyword, use.query_id)
    return key | _association_values(keyword, use, None, now)


def _association_id(keyword: str, use: KeywordUse, result_id: str | None) -> str:
    return schema.association_id(keyword, use.query_id, result_id)


def _association_values(keyword: str, use: KeywordUse, result_id: str | None, now: str) -> dict[str, Any]:
    return {
        "association_id": _association_id(keyword, use, result_id),
        "keyword_id": keyword,
        "kb_id": use.scope,
        "query_id": use.query_id,
        "perplexity_result_id": result_id,
        "session_id": use.session_id,
        "created_at": now,
        "status": "active",
    }


@dataclass(frozen=True, slots=True)
class HeadChange:
    """What an update of a head is to do besides: clauses, the condition, and their values."""

    sets: str = ""
    adds: str = ""
    removes: str = ""
    condition: str = ""
    values: dict[str, Any] = field(default_factory=dict)


def name_of(association: Mapping[str, Any]) -> str | None:
    """The name of the answer that an association leads to; None if it leads to none. Names sort by age."""
    if association.get("perplexity_result_id") is None:
        return None
    parts = (association[name] for name in ("query_id", "perplexity_result_id"))
    return schema.KEY_SEPARATOR.join([*parts, association.get("caller") or "", association["kb_id"]])


def add_answer(head: Mapping[str, Any] | None, association: Mapping[str, Any]) -> HeadChange:
    """How to name a further answer in a head, or in that of a keyword that is new."""
    name = name_of(association)
    if name is None:
        return HeadChange()
    adds, values = ", #newest_answers :answers", {":answers": {name}}
    if head is None:
        return HeadChange(adds=adds, values=values)
    if "newest_answers" not in head:
        return HeadChange(condition=" AND attribute_not_exists(#newest_answers)")
    names = {*head["newest_answers"], name}
    if len(names) <= _MAX_NAMED:
        # Other writers add names, too. Who finds too many plans anew, from the keyword that the refusal returns.
        condition = " AND attribute_exists(#newest_answers) AND size(#newest_answers) < :max_named"
        return HeadChange(adds=adds, condition=condition, values={**values, ":max_named": _MAX_NAMED})
    kept = _keep_newest(names)
    if kept is None:
        # From then on answers are queried, so all associations must be items.
        condition = " AND attribute_exists(#newest_answers) AND attribute_not_exists(#first_use)"
        return HeadChange(removes=" REMOVE #newest_answers", condition=condition)
    return HeadChange(
        sets=", #newest_answers = :answers",
        condition=" AND #newest_answers = :answers_read",  # another writer may have named one
        values={":answers": kept, ":answers_read": set(head["newest_answers"])},
    )


def must_write_first_use_out(head: Mapping[str, Any]) -> bool:
    """Whether a head holds an association, and a further answer may be one too many for it to name any."""
    return "first_use" in head and len(head.get("newest_answers", ())) >= _MAX_NAMED


def add_first_use(head: Mapping[str, Any] | None, association: Mapping[str, Any]) -> HeadChange:
    """How the head of a new keyword holds its first association, or how that of another one does not link it twice."""
    if not schema.is_of_stems(association["keyword_id"]):
        return HeadChange()
    if head is None:
        held = {name: association[name] for name in _HELD if association.get(name) is not None}
        return HeadChange(sets=", #first_use = :first_use", values={":first_use": held})
    # An earlier attempt of this call may have learned the keyword, after it was deleted.
    return HeadChange(
        condition=" AND (attribute_not_exists(#first_use) OR #first_use.#association_id <> :association)",
        values={":association": association["association_id"]},
    )


def _keep_newest(names: Iterable[str]) -> set[str] | None:
    """The names of the newest answers of each knowledge base; None if a head does not name so many."""
    counts: Counter[str] = Counter()
    kept: set[str] = set()
    for name in sorted(names, reverse=True):
        scope = _split(name)[-1]
        counts[scope] += 1
        if counts[scope] <= ASSOCIATIONS_PER_KEYWORD:
            kept.add(name)
    return kept if len(kept) < _MAX_NAMED else None


def read_newest(head: Mapping[str, Any], scope: str) -> list[dict[str, Any]] | None:
    """What a look-up needs of the associations with the newest answers, newest first; None if the head names none."""
    if "newest_answers" not in head:
        return None
    split = [_split(name) for name in sorted(head["newest_answers"], reverse=True)]
    return [
        {"perplexity_result_id": result_id, "status": "active"} | ({"caller": caller} if caller else {})
        for _, result_id, caller, of_scope in split
        if of_scope == scope
    ][:ASSOCIATIONS_PER_KEYWORD]


def _split(name: str) -> list[str]:
    return name.split(schema.KEY_SEPARATOR, 3)


def taught_update(table: Table, use: KeywordUse, caller: str, keyword_ids: set[str]) -> dict[str, Any]:
    """The action that records what a query of a caller taught, so that it can be found and deleted."""
    results = {use.answer.result_id} if use.answer else set()
    values = {":scope": use.scope, ":keywords": keyword_ids, ":results": results}
    return table.update(
        schema.taught_key(caller, use.session_id, use.query_id),
        # All keywords and answers of a query are learned in one scope.
        expression="SET #scope = :scope ADD #keyword_ids :keywords" + (", #result_ids :results" if results else ""),
        condition="",
        values={name: value for name, value in values.items() if value},
    )


def answer_update(
    table: Table, answer: WebAnswer, keyword_ids: set[str], *, lifetime: timedelta | None, is_compact: bool
) -> dict[str, Any]:
    """The action that stores a web answer, or adds keywords to it. After `lifetime` DynamoDB deletes it."""
    expires_at = None if lifetime is None else math.ceil((answer.created_at + lifetime).timestamp())
    content = {"answer": answer.answer, "citations": [asdict(citation) for citation in answer.citations]}
    fixed = {
        "result_id": answer.result_id,
        "kb_id": answer.kb_id,
        "query": redact(answer.query),  # of one caller, stored for all
        "model": answer.model,
        "created_at": answer.created_at,
        "answers": answer.question and redact(answer.question),
        "expires_at": expires_at,
        "valid_for_hours": answer.valid_for_hours,
        "owner": answer.owner,
        ACL: list(answer.groups) or None,
        **({"content": pack_json(content)} if is_compact else content),
    }
    written = {name: value for name, value in fixed.items() if value is not None}
    # The same answer may be indexed again with more keywords. All else is fixed by the first write.
    return table.update(
        schema.answer_key(answer.result_id),
        expression="SET "
        + ", ".join(f"#{name} = if_not_exists(#{name}, :{name})" for name in written)
        + " ADD #keyword_ids :keywords",
        # A query that is still running must not bring back what an administrator made the service forget.
        condition="attribute_not_exists(#pk) OR (#kb_id = :kb_id AND attribute_not_exists(#forgotten_at))",
        values={f":{name}": value for name, value in written.items()} | {":keywords": keyword_ids},
        return_existing=True,
    )


def read_content(item: Mapping[str, Any]) -> tuple[str, tuple[Citation, ...]]:
    """The text and the pages of a stored answer that is not forgotten."""
    content = unpack_json(item["content"]) if "content" in item else item
    return content["answer"], tuple(Citation(**citation) for citation in content["citations"])


def queue_answer(table: Table, result_id: str, queue: PruneQueue) -> dict[str, Any]:
    """The action that queues a stored answer, unless it is gone, forgotten or queued already, for a pruning run."""
    return table.update(
        schema.answer_key(result_id),
        expression="SET #queue = :queue, #last_used_at = :now",
        condition="attribute_exists(#pk) AND attribute_not_exists(#forgotten_at) AND attribute_not_exists(#queue)",
        values={":queue": schema.queue_partition(queue, result_id), ":now": to_timestamp(utc_now())},
    )


def is_forgotten(item: Mapping[str, Any]) -> bool:
    """Whether an answer's item is emptied."""
    return "forgotten_at" in item


def is_doubtful(item: Mapping[str, Any]) -> bool:
    """Whether so many callers rated an answer poor that it is not handed out."""
    return len(item.get("doubters", ())) >= MIN_DOUBTERS


def to_answers(items: Iterable[Mapping[str, Any]]) -> list[WebAnswer]:
    """Build the web answers among the items; forgotten and expired ones are skipped.

    DynamoDB deletes expired items within a few days, not at once.
    """
    now = utc_now().timestamp()
    return [_to_answer(item) for item in items if not is_forgotten(item) and item.get("expires_at", now) >= now]


def _to_answer(item: Mapping[str, Any]) -> WebAnswer:
    """Build a web answer from its item."""
    answer, citations = read_content(item)
    return WebAnswer(
        result_id=item["result_id"],
        kb_id=item["kb_id"],
        query=item["query"],
        answer=answer,
        citations=citations,
        model=item["model"],
        created_at=from_timestamp(item["created_at"]),
        keyword_ids=frozenset(item.get("keyword_ids", ())),
        answers=item.get("answers", ""),
        valid_for_hours=item.get("valid_for_hours"),
        owner=item.get("owner"),
        groups=read_stored_groups(item),
        is_doubtful=is_doubtful(item),
    )
