"""Finds passages for a query: chunks of the knowledge base and stored web answers, scored on one scale."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from datetime import timedelta

from gleaner.clients.answer_index import AnswerIndex
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import DeadlineExceeded, KnowledgeBaseUnavailable, StoreUnavailable
from gleaner.guards.blocked_hosts import NONE_BLOCKED, BlockedHosts
from gleaner.knowledge._closeness import closeness, merge_scores
from gleaner.model import Passage, RecordHit, SourceType, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_lookup import KeywordLookup, KeywordMatch
from gleaner.stores.keywords import KeywordStore

logger = logging.getLogger(__name__)

_MAX_SEARCH_SECONDS = 5.0
_MAX_ANSWERS_READ = 20  # stored answers that one search reads and scores
_MAX_FOUND_BY_MEANING = 12  # of them; the others are found by keywords
_MAX_WEB_ANSWERS = 3  # stored answers among the passages of one search, which leaves room for chunks
_MIN_SCORE = 0.4  # a stored answer with a lower score shares too little with the query to be useful
_MAX_USES = 3  # keywords whose use is counted when an answer was found by meaning alone
_CITATION_MARK = re.compile(r"\s?\[\d+\]")


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The passages of one search. `lookup_failed` says that stored web answers could not be looked up.

    `left_out` counts what could not be read of the index's answer.
    """

    passages: tuple[Passage, ...]
    lookup_failed: bool
    left_out: int = 0


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
        self._lookup = lookup
        self._keywords = keywords
        self._executor = executor
        self._max_age = web_answer_max_age
        self._blocked_hosts = blocked_hosts
        self._answer_index = answer_index or AnswerIndex(knowledge_base)
        self._existing_kb_ids: set[str] = set()

    def search(
        self, kb_id: str, query: str, *, top_k: int, deadline: Deadline, with_stored_answers: bool = True
    ) -> RetrievalResult:
        """The `top_k` best passages for `query`, best first, without ids, optionally with stored web answers.

        Raises KnowledgeBaseUnavailable or DeadlineExceeded. A failure of the keyword index does not raise; it is
        reported in the result, since the knowledge base can answer without it.
        """
        search_deadline = deadline.part(_MAX_SEARCH_SECONDS)
        timeout = search_deadline.timeout(_MAX_SEARCH_SECONDS)
        hits = self._executor.submit(self._knowledge_base.search, kb_id, query, top_k=top_k, timeout=timeout)
        try:
            web_passages = self._find_stored_answers(kb_id, query, search_deadline) if with_stored_answers else []
            lookup_failed = False
        except (StoreUnavailable, DeadlineExceeded):
            web_passages, lookup_failed = [], True
        found = hits.result()
        passages = [_from_hit(hit) for hit in found] + web_passages
        ranked = sorted(passages, key=lambda passage: (-passage.score, passage.key))
        return RetrievalResult(tuple(ranked[:top_k]), lookup_failed, found.left_out)

    def has_knowledge_base(self, kb_id: str, *, deadline: Deadline) -> bool:
        """Whether the knowledge base contains records. Raises KnowledgeBaseUnavailable or DeadlineExceeded."""
        if kb_id not in self._existing_kb_ids:  # cached: a knowledge base that exists is not checked again
            self._existing_kb_ids.update(
                self._knowledge_base.record_counts(timeout=deadline.timeout(_MAX_SEARCH_SECONDS))
            )
        return kb_id in self._existing_kb_ids

    def _find_stored_answers(self, kb_id: str, query: str, deadline: Deadline) -> list[Passage]:
        """The best stored answers, found by their keywords and by meaning, both at once."""
        timeout = deadline.timeout(_MAX_SEARCH_SECONDS)
        search = self._answer_index.search
        by_meaning = self._executor.submit(search, kb_id, query, top_k=_MAX_ANSWERS_READ, timeout=timeout)
        lookup = self._lookup.look_up(kb_id, query, deadline=deadline)
        similarities = _result_or_none(by_meaning)
        matches = _matches_by_answer(lookup.matches, similarities or {})
        answers = self._keywords.get_answers(list(matches), deadline=deadline)
        self._delete_orphans(kb_id, set(matches).intersection(similarities or ()), answers)
        min_created_at = utc_now() - self._max_age
        passages = [
            _from_answer(answer, query, matches[answer.result_id], lookup.weights, similarities)
            for answer in answers
            if answer.kb_id == kb_id
            and answer.keyword_ids  # none: its last keyword was pruned
            and answer.created_at >= min_created_at
            and not self._cites_blocked_host(answer)
        ]
        relevant = [passage for passage in passages if passage.score >= _MIN_SCORE]
        return sorted(relevant, key=lambda passage: (-passage.score, passage.key))[:_MAX_WEB_ANSWERS]

    def _delete_orphans(self, kb_id: str, found_ids: Collection[str], answers: Sequence[WebAnswer]) -> None:
        """Delete, without waiting, the records of answers that are gone: the scheduled pruning cannot do it."""
        if orphans := sorted(set(found_ids) - {answer.result_id for answer in answers}):
            self._executor.submit(self._answer_index.delete, kb_id, orphans, timeout=_MAX_SEARCH_SECONDS)

    def _cites_blocked_host(self, answer: WebAnswer) -> bool:
        return any(self._blocked_hosts.blocks(citation.url) for citation in answer.citations)


def _result_or_none(search: Future[dict[str, float]]) -> dict[str, float] | None:
    """What the search by meaning found; None if it failed, because keywords alone find answers, too."""
    try:
        return search.result()
    except (KnowledgeBaseUnavailable, DeadlineExceeded):
        logger.warning("stored answers were not searched by meaning")
        return None


def _matches_by_answer(
    matches: Sequence[KeywordMatch], similarities: Mapping[str, float]
) -> dict[str, list[KeywordMatch]]:
    """The answers to read, with the matches that lead to each: the most similar, and those with the best matches."""
    by_answer: dict[str, list[KeywordMatch]] = {}
    for match in matches:
        for result_id in match.result_ids:
            by_answer.setdefault(result_id, []).append(match)
    best = sorted(by_answer, key=lambda result_id: -sum(match.score for match in by_answer[result_id]))
    chosen = dict.fromkeys([*list(similarities)[:_MAX_FOUND_BY_MEANING], *best])
    return {result_id: by_answer.get(result_id, []) for result_id in list(chosen)[:_MAX_ANSWERS_READ]}


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
    answer: WebAnswer,
    query: str,
    matches: Sequence[KeywordMatch],
    weights: Mapping[str, float],
    similarities: Mapping[str, float] | None,
) -> Passage:
    keywords = tuple(match.keyword_text for match in matches)
    keyword_ids = tuple(match.keyword_id for match in matches) or tuple(sorted(answer.keyword_ids)[:_MAX_USES])
    lexical = closeness(query, answer, keywords, weights)
    return Passage(
        key=answer.result_id,
        content=_CITATION_MARK.sub("", answer.answer),
        score=merge_scores(lexical, _similarity(answer.result_id, similarities)),
        source_type=SourceType.EXTERNAL,
        title=answer.citations[0].title,
        source_url=answer.citations[0].url,
        keywords=keywords,
        keyword_ids=keyword_ids,
        date=answer.created_at.date().isoformat(),
        urls=tuple(citation.url for citation in answer.citations),
    )


def _similarity(result_id: str, similarities: Mapping[str, float] | None) -> float | None:
    """The similarity of a stored answer; None if it is unknown. One that the search left out is less similar."""
    if similarities is None or result_id in similarities:
        return (similarities or {}).get(result_id)
    return min(similarities.values()) if len(similarities) >= _MAX_ANSWERS_READ else None
