"""Finds passages for a query: chunks of the knowledge base and stored web answers, scored on one scale."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import timedelta

from gleaner.clients.answer_index import AnswerIndex
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.clients.pinecone_records import readable_by
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.groups import may_read
from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts
from gleaner.knowledge._stored_answers import StoredAnswers, StoredAnswerSearch
from gleaner.model import Passage, Place, RecordHit, SourceType
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_lookup import KeywordLookup
from gleaner.stores.keywords import KeywordStore

logger = logging.getLogger(__name__)

_MAX_SEARCH_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The passages of one search. `lookup_failed` says that stored web answers could not be looked up.

    `left_out` counts what could not be read of the index's answer, `withheld` the stored answers that do not fit the
    question, by what makes them differ. `expired` is the newest of these that fits but for its age.
    """

    passages: tuple[Passage, ...]
    lookup_failed: bool
    left_out: int = 0
    withheld: Mapping[str, int] = field(default_factory=dict)
    expired: Passage | None = None


class Retrieval:
    """Searches the vector index and the keyword index in parallel."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        lookup: KeywordLookup,
        keywords: KeywordStore,
        executor: Executor,
        *,
        web_answer_max_age: timedelta,
        blocked_hosts: BlockedHosts = NONE_BLOCKED,
        answer_index: AnswerIndex | None = None,
    ) -> None:
        """Stored answers that cite pages of `blocked_hosts` are not found: they may repeat what these say."""
        self._knowledge_base = knowledge_base
        self._executor = executor
        self._stored_answers = StoredAnswerSearch(
            answer_index or AnswerIndex(knowledge_base),
            lookup,
            keywords,
            executor,
            max_age=web_answer_max_age,
            blocked_hosts=blocked_hosts,
        )
        self._existing_kb_ids: set[str] = set()

    def search(
        self,
        kb_id: str,
        query: str,
        *,
        top_k: int,
        deadline: Deadline,
        with_stored_answers: bool = True,
        caller: str | None = None,
        groups: Collection[str] = (),
    ) -> RetrievalResult:
        """The `top_k` best passages for `query`, best first, without ids, optionally with stored web answers.

        All of them are passages that a member of `groups` may read. With `caller`, a hash, stored web answers are only
        those that this caller caused, and those whose caller is not known.

        Raises KnowledgeBaseUnavailable or DeadlineExceeded. A failure of the keyword index does not raise; it is
        reported in the result, since the knowledge base can answer without it.
        """
        search_deadline = deadline.part(_MAX_SEARCH_SECONDS)
        timeout = search_deadline.timeout(_MAX_SEARCH_SECONDS)
        search, condition = self._knowledge_base.search, readable_by(groups)
        hits = self._executor.submit(search, kb_id, query, top_k=top_k, timeout=timeout, filter=condition)
        stored, lookup_failed = StoredAnswers(), False
        try:
            if with_stored_answers:
                stored = self._stored_answers.find(kb_id, query, caller=caller, groups=groups, deadline=search_deadline)
        except (StoreUnavailable, DeadlineExceeded):
            lookup_failed = True
        found = hits.result()
        chunks = sorted((_from_hit(hit, kb_id) for hit in _readable(found, groups)), key=lambda passage: passage.key)
        ranked = sorted([*chunks, *stored.passages], key=lambda passage: -passage.score)
        return RetrievalResult(tuple(ranked[:top_k]), lookup_failed, found.left_out, stored.withheld, stored.expired)

    def has_knowledge_base(self, kb_id: str, *, deadline: Deadline) -> bool:
        """Whether the knowledge base contains records. Raises KnowledgeBaseUnavailable or DeadlineExceeded."""
        if kb_id not in self._existing_kb_ids:  # cached: a knowledge base that exists is not checked again
            self._existing_kb_ids.update(
                self._knowledge_base.record_counts(timeout=deadline.timeout(_MAX_SEARCH_SECONDS))
            )
        return kb_id in self._existing_kb_ids


def _readable(hits: Sequence[RecordHit], groups: Collection[str]) -> list[RecordHit]:
    """The hits that a member of `groups` may read: all of them, unless the index does not filter as it must."""
    readable = [hit for hit in hits if may_read(hit.record.groups, groups)]
    if len(readable) < len(hits):
        logger.error("the index found records of other groups", extra={"record_count": len(hits) - len(readable)})
    return readable


def _from_hit(hit: RecordHit, kb_id: str) -> Passage:
    record = hit.record
    return Passage(
        key=record.id,
        content=record.text,
        score=hit.score,
        source_type=SourceType.KNOWLEDGE_BASE,
        title=record.title,
        chapter=record.chapter,
        source_file_path=record.source_file_path,
        source_url=record.source_url,
        page_number=record.page_number,
        page_label=record.page_label,
        chunk_index=record.chunk_index,
        urls=(record.source_url,) if record.source_url else (),
        is_own=True,
        place=Place(kb_id=kb_id, key=record.id),
        groups=record.groups,
    )
