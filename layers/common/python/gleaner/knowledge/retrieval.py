"""Finds passages for a query: chunks of the knowledge base and stored web answers, scored on one scale."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts
from gleaner.knowledge._closeness import closeness
from gleaner.knowledge.differences import StoredAnswer, find_difference, is_same_question
from gleaner.model import Passage, RecordHit, SourceType, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_lookup import KeywordLookup, KeywordMatch
from gleaner.stores.keywords import KeywordStore

_MAX_SEARCH_SECONDS = 5.0
_MAX_ANSWERS_READ = 20  # stored answers that one search reads and scores
_MAX_WEB_ANSWERS = 3  # stored answers among the passages of one search, which leaves room for chunks
_MIN_SCORE = 0.4  # a stored answer with a lower score shares too little with the query to be useful
_CITATION_MARK = re.compile(r"\s?\[\d+\]")


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The passages of one search. `lookup_failed` says that stored web answers could not be looked up.

    `left_out` counts what could not be read of the index's answer, `withheld` the stored answers that do not fit the
    question, by what makes them differ.
    """

    passages: tuple[Passage, ...]
    lookup_failed: bool
    left_out: int = 0
    withheld: Mapping[str, int] = field(default_factory=dict)


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
    ) -> None:
        """Stored answers that cite pages of `blocked_hosts` are not found: they may repeat what these say."""
        self._knowledge_base = knowledge_base
        self._lookup = lookup
        self._keywords = keywords
        self._executor = executor
        self._max_age = web_answer_max_age
        self._blocked_hosts = blocked_hosts
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
    ) -> RetrievalResult:
        """The `top_k` best passages for `query`, best first, without ids, optionally with stored web answers.

        With `caller`, a hash, these are only answers that this caller caused, and those whose caller is not known.

        Raises KnowledgeBaseUnavailable or DeadlineExceeded. A failure of the keyword index does not raise; it is
        reported in the result, since the knowledge base can answer without it.
        """
        search_deadline = deadline.part(_MAX_SEARCH_SECONDS)
        hits = self._executor.submit(
            self._knowledge_base.search, kb_id, query, top_k=top_k, timeout=search_deadline.timeout(_MAX_SEARCH_SECONDS)
        )
        stored, lookup_failed = _StoredAnswers(), False
        try:
            if with_stored_answers:
                stored = self._find_stored_answers(kb_id, query, caller, search_deadline)
        except (StoreUnavailable, DeadlineExceeded):
            lookup_failed = True
        found = hits.result()
        chunks = sorted(map(_from_hit, found), key=lambda passage: passage.key)
        ranked = sorted([*chunks, *stored.passages], key=lambda passage: -passage.score)
        return RetrievalResult(tuple(ranked[:top_k]), lookup_failed, found.left_out, stored.withheld)

    def has_knowledge_base(self, kb_id: str, *, deadline: Deadline) -> bool:
        """Whether the knowledge base contains records. Raises KnowledgeBaseUnavailable or DeadlineExceeded."""
        if kb_id not in self._existing_kb_ids:  # cached: a knowledge base that exists is not checked again
            self._existing_kb_ids.update(
                self._knowledge_base.record_counts(timeout=deadline.timeout(_MAX_SEARCH_SECONDS))
            )
        return kb_id in self._existing_kb_ids

    def _find_stored_answers(self, kb_id: str, query: str, caller: str | None, deadline: Deadline) -> _StoredAnswers:
        lookup = self._lookup.look_up(kb_id, query, caller=caller, deadline=deadline)
        matches = _matches_by_answer(lookup.matches)
        now = utc_now()
        answers = [
            answer
            for answer in self._keywords.get_answers(list(matches), deadline=deadline)
            if answer.created_at >= now - self._max_age and not self._cites_blocked_host(answer)
        ]
        result = _StoredAnswers()
        handed_out: list[WebAnswer] = []
        for answer in sorted(answers, key=lambda answer: answer.created_at, reverse=True):
            passage = _from_answer(answer, query, matches[answer.result_id], lookup.weights)
            if passage.score < _MIN_SCORE:
                continue
            if reason := _find_reason_to_withhold(query, answer, passage.keywords, handed_out, now):
                result.withheld[reason] += 1
            else:
                result.passages.append(passage)
                handed_out.append(answer)
        result.passages.sort(key=lambda passage: -passage.score)  # the newest first among equals
        del result.passages[_MAX_WEB_ANSWERS:]
        return result

    def _cites_blocked_host(self, answer: WebAnswer) -> bool:
        return any(self._blocked_hosts.blocks(citation.url) for citation in answer.citations)


@dataclass(slots=True)
class _StoredAnswers:
    """The stored answers for a query, best first, and why others are withheld."""

    passages: list[Passage] = field(default_factory=list)
    withheld: Counter[str] = field(default_factory=Counter)


def _find_reason_to_withhold(
    query: str, answer: WebAnswer, keywords: Sequence[str], newer: Sequence[WebAnswer], now: datetime
) -> str | None:
    if answer.question and any(is_same_question(answer.question, other.question) for other in newer):
        return "superseded"
    stored = StoredAnswer(
        question=answer.question or answer.citations[0].title,  # its question goes with the session that asked it
        answer=_CITATION_MARK.sub("", answer.answer),
        around=[*(citation.title for citation in answer.citations), *keywords],
        created_at=answer.created_at,
        valid_for_hours=answer.valid_for_hours,
    )
    return find_difference(query, stored, now=now)


def _matches_by_answer(matches: Sequence[KeywordMatch]) -> dict[str, list[KeywordMatch]]:
    """The matches by the answer that they lead to, for the answers with the best matches only, to bound the reads."""
    by_answer: dict[str, list[KeywordMatch]] = {}
    for match in matches:
        for result_id in match.result_ids:
            by_answer.setdefault(result_id, []).append(match)
    best = sorted(by_answer, key=lambda result_id: -sum(match.score for match in by_answer[result_id]))
    return {result_id: by_answer[result_id] for result_id in best[:_MAX_ANSWERS_READ]}


def _from_hit(hit: RecordHit) -> Passage:
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
    )


def _from_answer(
    answer: WebAnswer, query: str, matches: Sequence[KeywordMatch], weights: Mapping[str, float]
) -> Passage:
    keywords = tuple(match.keyword_text for match in matches)
    return Passage(
        key=answer.result_id,
        content=_CITATION_MARK.sub("", answer.answer),
        score=closeness(query, answer, keywords, weights),
        source_type=SourceType.EXTERNAL,
        title=answer.citations[0].title,
        source_url=answer.citations[0].url,
        keywords=keywords,
        keyword_ids=tuple(match.keyword_id for match in matches),
        result_id=answer.result_id,
        date=answer.created_at.date().isoformat(),
        answers=answer.question,
        urls=tuple(citation.url for citation in answer.citations),
    )
