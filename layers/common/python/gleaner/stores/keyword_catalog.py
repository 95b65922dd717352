"""Reads of the keyword index for people: lists of keywords, and one keyword with its associations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from gleaner.errors import UnknownKeyword
from gleaner.model import WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import first_association, to_answers
from gleaner.stores.keyword_stems import is_claim, read_head
from gleaner.stores.sharded_index import read_newest

MIN_CALLERS = 3  # who caused a keyword, so that everybody may see it
MAX_ASSOCIATIONS = 200  # newest associations returned with one keyword


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword:
    """A keyword. Times are ISO 8601 text in UTC."""

    keyword_id: str
    keyword_text: str
    status: str  # active | pruned
    usage_count: int
    created_at: str
    updated_at: str
    last_used_at: str
    kb_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Links a keyword to a query it served, or to the web answer it was indexed for."""

    association_id: str
    kb_id: str
    query_id: str | None
    perplexity_result_id: str | None
    session_id: str | None
    created_at: str
    status: str  # active | archived


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordDetails:
    """A keyword with its newest associations and the web answers among them."""

    keyword: Keyword
    associations: tuple[Association, ...]
    answers: tuple[WebAnswer, ...]


Position = tuple[str, str]  # last_used_at and id of the last keyword of a page


class KeywordCatalog:
    """Browses the keywords table. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(self, table: Table, executor: Executor) -> None:
        self._table = table
        self._executor = executor

    def list_recent(
        self,
        *,
        limit: int,
        after: Position | None,
        kb_ids: frozenset[str] | None,
        viewer: str | None = None,
        deadline: Deadline,
    ) -> list[Keyword]:
        """The next `limit` active keywords after a position, most recently used first.

        `kb_ids` restricts them to keywords learned in one of these knowledge bases; None means all. `viewer`, the hash
        of a caller, restricts them to those that this caller may see. Reads all partitions of the index in parallel,
        at most `limit` items each, or more if keywords are skipped.
        """

        def skip(item: Mapping[str, Any]) -> bool:
            return not _may_see(viewer, item) or (kb_ids is not None and kb_ids.isdisjoint(_knowledge_bases(item)))

        items = read_newest(
            self._table,
            self._executor,
            [(schema.KEYWORDS.indexes[0], partition) for partition in schema.active_partitions()],
            position=_position,
            after=after,
            skip=skip,
            limit=limit,
            deadline=deadline,
        )
        return [to_keyword(item) for item in items]

    def get_many(self, keyword_ids: Sequence[str], *, viewer: str | None = None, deadline: Deadline) -> list[Keyword]:
        """The keywords that exist and that `viewer` may see, in the order of their ids in `keyword_ids`."""
        keys = [schema.keyword_key(keyword_id) for keyword_id in keyword_ids]
        found = self._table.get_many(keys, deadline=deadline)
        items = {item["keyword_id"]: item for item in found if not is_claim(item) and _may_see(viewer, item)}
        return [to_keyword(items[keyword_id]) for keyword_id in keyword_ids if keyword_id in items]

    def get(self, keyword_id: str, *, viewer: str | None = None, deadline: Deadline) -> KeywordDetails:
        """One keyword with its associations and web answers; for a `viewer`, only those that this caller caused.

        Raises UnknownKeyword, also for a keyword that the viewer may not see.
        """
        head = read_head(self._table, keyword_id, deadline=deadline)
        if head is None or not _may_see(viewer, head):
            raise UnknownKeyword("There is no such keyword.")
        items = [
            item
            for prefix in schema.ASSOCIATION_PREFIXES
            for item in self._table.query(
                partition=schema.association_partition(keyword_id),
                begins_with=prefix,
                limit=MAX_ASSOCIATIONS,
                newest_first=True,
                deadline=deadline,
            )
        ]
        # What the head held when it was read may be an item since.
        items += [item for item in [first_association(head)] if item and item["sk"] not in {one["sk"] for one in items}]
        visible = [item for item in items if viewer in (None, item.get("caller"))]
        associations = sorted(map(_to_association, visible), key=lambda item: item.created_at, reverse=True)
        result_ids = {item.perplexity_result_id for item in associations if item.perplexity_result_id}
        keys = [schema.answer_key(result_id) for result_id in sorted(result_ids)]
        answers = tuple(to_answers(self._table.get_many(keys, deadline=deadline)))
        return KeywordDetails(
            keyword=to_keyword(head), associations=tuple(associations[:MAX_ASSOCIATIONS]), answers=answers
        )


def _may_see(viewer: str | None, head: Mapping[str, Any]) -> bool:
    """Whether a caller (by hash) may see a keyword. A keyword of few callers may say what one of them asked.

    Those who caused it by questions about restricted documents do not count: it may say what these hold. Keywords of
    earlier versions name no callers: everybody sees them, as before.
    """
    callers = head.get("callers")
    if viewer is None or callers is None:
        return True
    own = {schema.caller_mark(viewer), schema.caller_mark(viewer, is_restricted=True)}
    return not own.isdisjoint(callers) or sum(not schema.is_restricted_mark(one) for one in callers) >= MIN_CALLERS


def _position(item: Mapping[str, Any]) -> Position:
    return item["last_used_at"], item["keyword_id"]


def _knowledge_bases(item: Mapping[str, Any]) -> set[str]:
    return {schema.knowledge_base_of(scope) for scope in item.get("kb_ids", ())}


def to_keyword(item: Mapping[str, Any]) -> Keyword:
    """Build a keyword from its item."""
    return Keyword(
        keyword_id=item["keyword_id"],
        keyword_text=item["keyword_text"],
        status=item["status"],
        usage_count=item["usage_count"],
        created_at=item["created_at"],
        updated_at=item["updated_at"],
        last_used_at=item["last_used_at"],
        kb_ids=tuple(sorted(_knowledge_bases(item))),
    )


def _to_association(item: Mapping[str, Any]) -> Association:
    return Association(
        association_id=item["association_id"],
        kb_id=schema.knowledge_base_of(item["kb_id"]),
        query_id=item.get("query_id"),
        perplexity_result_id=item.get("perplexity_result_id"),
        session_id=item.get("session_id"),
        created_at=item["created_at"],
        status=item["status"],
    )
