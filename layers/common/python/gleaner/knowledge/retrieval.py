"""Passages for a query: chunks of the knowledge base and web answers learned earlier, on one scale."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from datetime import datetime, timedelta

from gleaner.clients.pinecone import KnowledgeBase
from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.knowledge._closeness import closeness
from gleaner.model import Passage, RecordHit, SourceType, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_lookup import KeywordLookup, KeywordMatch
from gleaner.stores.keywords import KeywordStore

_SEARCH_SECONDS = 5.0  # what one search may take
_ANSWERS_READ = 20  # stored answers that one search reads to score them
_MAX_WEB_ANSWERS = 3  # stored answers among the passages of one search: room must stay for the chunks
_LOWEST_SCORE = 0.4  # a stored answer below this shares too little with the query to be worth reading
_CITATION_MARK = re.compile(r"\s?\[\d+\]")


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What one search found; `lookup_failed` tells that stored web answers could not be looked up."""

    passages: tuple[Passage, ...]
    lookup_failed: bool


class Retrieval:
    """Searches the vector index and the keyword index at once."""

    def __init__(
        self,
        knowledge_base: KnowledgeBase,
        lookup: KeywordLookup,
        keywords: KeywordStore,
        executor: Executor,
        *,
        web_answer_max_age: timedelta,
    ) -> None:
        self._knowledge_base = knowledge_base
        self._lookup = lookup
        self._keywords = keywords
        self._executor = executor
        self._max_age = web_answer_max_age
        self._known: set[str] = set()

    def search(
        self, kb_id: str, query: str, *, top_k: int, deadline: Deadline, with_stored_answers: bool = True
    ) -> RetrievalResult:
        """The `top_k` best passages for `query`, best first, without ids; `with_stored_answers`: also of the web.

        Raises KnowledgeBaseUnavailable or DeadlineExceeded. A failing keyword index is told, not raised:
        the knowledge base answers without it.
        """
        part = deadline.part(_SEARCH_SECONDS)
        hits = self._executor.submit(
            self._knowledge_base.search, kb_id, query, top_k=top_k, timeout=part.timeout(_SEARCH_SECONDS)
        )
        try:
            stored, failed = self._stored_answers(kb_id, query, part) if with_stored_answers else [], False
        except (StoreUnavailable, DeadlineExceeded):
            stored, failed = [], True
        passages = [_from_hit(hit) for hit in hits.result()] + stored
        ranked = sorted(passages, key=lambda passage: (-passage.score, passage.key))
        return RetrievalResult(tuple(ranked[:top_k]), failed)

    def has_knowledge_base(self, kb_id: str, *, deadline: Deadline) -> bool:
        """Whether the knowledge base holds records. Raises KnowledgeBaseUnavailable or DeadlineExceeded."""
        if kb_id not in self._known:  # once it exists it is not asked for again
            self._known.update(self._knowledge_base.record_counts(timeout=deadline.timeout(_SEARCH_SECONDS)))
        return kb_id in self._known

    def _stored_answers(self, kb_id: str, query: str, deadline: Deadline) -> list[Passage]:
        found = self._lookup.look_up(kb_id, query, deadline=deadline)
        leading = _keywords_by_answer(found.matches)
        oldest = utc_now() - self._max_age
        passages = [
            _from_answer(answer, query, leading[answer.result_id], found.weights)
            for answer in self._keywords.get_answers(list(leading), deadline=deadline)
            if answer.created_at >= oldest
        ]
        close = [passage for passage in passages if passage.score >= _LOWEST_SCORE]
        return sorted(close, key=lambda passage: (-passage.score, passage.key))[:_MAX_WEB_ANSWERS]


def _keywords_by_answer(matches: Sequence[KeywordMatch]) -> dict[str, list[KeywordMatch]]:
    """The keywords that lead to each answer; only the answers with the best keywords, which bounds what is read."""
    leading: dict[str, list[KeywordMatch]] = {}
    for match in matches:
        for result_id in match.result_ids:
            leading.setdefault(result_id, []).append(match)
    best = sorted(leading, key=lambda result_id: -sum(match.score for match in leading[result_id]))
    return {result_id: leading[result_id] for result_id in best[:_ANSWERS_READ]}


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
        chunk_index=record.chunk_index,
        urls=(record.source_url,) if record.source_url else (),
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
        date=_day(answer.created_at),
        urls=tuple(citation.url for citation in answer.citations),
    )


def _day(moment: datetime) -> str:
    return moment.date().isoformat()
