"""Finds stored web answers for a query, by keywords and by meaning, and leaves out those that would mislead."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from gleaner.clients.answer_index import AnswerIndex
from gleaner.errors import DeadlineExceeded, KnowledgeBaseUnavailable
from gleaner.groups import may_read
from gleaner.guards.blocked_hosts import BlockedHosts
from gleaner.knowledge._closeness import QueryCloseness, merge_scores
from gleaner.knowledge.differences import DifferenceKind, StoredAnswer, find_difference, is_same_question
from gleaner.knowledge.page_attribution import read_pages, remove_marks
from gleaner.model import Passage, Place, SourceType, WebAnswer, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import to_answers
from gleaner.stores.keyword_lookup import KeywordLookup, KeywordMatch
from gleaner.stores.keywords import KeywordStore

logger = logging.getLogger(__name__)

_MAX_SEARCH_SECONDS = 5.0
_MAX_ANSWERS_READ = 20  # stored answers that one search reads and scores
_MAX_FOUND_BY_MEANING = 12  # of them; the others are found by keywords
_MAX_WEB_ANSWERS = 3  # stored answers among the passages of one search, which leaves room for chunks
_MIN_SCORE = 0.4  # a stored answer with a lower score shares too little with the query to be useful
_MAX_USES = 3  # keywords whose use is counted when an answer was found by meaning alone


@dataclass(slots=True)
class StoredAnswers:
    """The stored answers for a query, best first, and why others are withheld.

    `expired` is the newest of those that are withheld only because their time has passed.
    """

    passages: list[Passage] = field(default_factory=list)
    withheld: Counter[str] = field(default_factory=Counter)
    expired: Passage | None = None


class StoredAnswerSearch:
    """Searches the stored answers in the vector index, then the keywords, within one time limit.

    The table of keywords decides which answers exist: the vector index may be late.
    """

    def __init__(
        self,
        answer_index: AnswerIndex,
        lookup: KeywordLookup,
        keywords: KeywordStore,
        executor: Executor,
        *,
        max_age: timedelta,
        blocked_hosts: BlockedHosts,
    ) -> None:
        self._answer_index = answer_index
        self._lookup = lookup
        self._keywords = keywords
        self._executor = executor
        self._max_age = max_age
        self._blocked_hosts = blocked_hosts

    def find(
        self, kb_id: str, query: str, *, caller: str | None, groups: Collection[str] = (), deadline: Deadline
    ) -> StoredAnswers:
        """The best stored answers. If the search by meaning fails, those that keywords lead to.

        With `caller`, a hash, only what this caller caused, or whose caller is not known. The search by meaning finds
        what was learned for this caller alone, and keywords the rest. What rests on documents of other groups than
        `groups` is neither found nor counted. The table decides whose an answer is.
        Raises StoreUnavailable or DeadlineExceeded.
        """
        similarities = self._search_by_meaning(kb_id, query, caller, groups, deadline.timeout(_MAX_SEARCH_SECONDS))
        # Found by meaning, answers are read beside the look-up of the keywords.
        similar = list(similarities or {})[:_MAX_FOUND_BY_MEANING]
        lookup = self._lookup.look_up(kb_id, query, caller=caller, answer_ids=similar, deadline=deadline)
        matches = _matches_by_answer(lookup.matches, similarities or {})
        unread = [result_id for result_id in matches if result_id not in similar]
        answers = [*to_answers(lookup.answers), *self._keywords.get_answers(unread, deadline=deadline)]
        self._delete_orphans(kb_id, set(matches).intersection(similarities or ()), answers)
        now, closeness = utc_now(), QueryCloseness(query, lookup.weights)
        candidates = [
            (
                answer,
                _from_answer(
                    answer,
                    closeness,
                    matches[answer.result_id],
                    similarities if answer.owner == caller else None,
                ),
            )
            for answer in answers
            if answer.owner in (None, caller)
            and may_read(answer.groups, groups)
            and self._may_be_served(answer, kb_id, now)
        ]
        return _select(query, candidates, now)

    def _search_by_meaning(
        self, kb_id: str, query: str, caller: str | None, groups: Collection[str], timeout: float
    ) -> dict[str, float] | None:
        """The similarities of answers; None if the search failed, because keywords alone find answers, too."""
        try:
            return self._answer_index.search(
                kb_id, query, top_k=_MAX_ANSWERS_READ, timeout=timeout, caller=caller, groups=groups
            )
        except (KnowledgeBaseUnavailable, DeadlineExceeded):
            logger.warning("stored answers were not searched by meaning")
            return None

    def _may_be_served(self, answer: WebAnswer, kb_id: str, now: datetime) -> bool:
        return (
            answer.kb_id == kb_id
            and bool(answer.keyword_ids)  # none: its last keyword was pruned
            and not answer.is_doubtful
            and answer.created_at >= now - self._max_age
            and not any(self._blocked_hosts.blocks(citation.url) for citation in answer.citations)
        )

    def _delete_orphans(self, kb_id: str, found_ids: Collection[str], answers: Sequence[WebAnswer]) -> None:
        """Delete, without waiting, the records of answers that are gone: the scheduled pruning cannot do it."""
        if orphans := sorted(set(found_ids) - {answer.result_id for answer in answers}):
            self._executor.submit(self._answer_index.delete, kb_id, orphans, timeout=_MAX_SEARCH_SECONDS)


def _select(query: str, candidates: Sequence[tuple[WebAnswer, Passage]], now: datetime) -> StoredAnswers:
    """The best candidates that answer the query; of answers to the same question the newest."""
    result = StoredAnswers()
    newer: list[WebAnswer] = []  # an answer that expired, too: an older one to the same question is no better
    for answer, passage in sorted(candidates, key=lambda candidate: candidate[0].created_at, reverse=True):
        if passage.score < _MIN_SCORE:
            continue
        reason = _find_reason_to_withhold(query, answer, passage.keywords, newer, now)
        if reason is None:
            result.passages.append(replace(passage, pages=read_pages(answer)))
        else:
            result.withheld[reason] += 1
            if reason == DifferenceKind.TIME and result.expired is None:
                result.expired = passage
        if reason in (None, DifferenceKind.TIME):
            newer.append(answer)
    result.passages.sort(key=lambda passage: -passage.score)  # the newest first among equals
    del result.passages[_MAX_WEB_ANSWERS:]
    return result


def _find_reason_to_withhold(
    query: str, answer: WebAnswer, keywords: Sequence[str], newer: Sequence[WebAnswer], now: datetime
) -> str | None:
    if any(_replaces(other, answer) for other in newer):
        return "superseded"
    stored = StoredAnswer(
        question=answer.question or answer.citations[0].title,  # its question goes with the session that asked it
        answer=remove_marks(answer.answer),
        around=[*(citation.title for citation in answer.citations), *keywords],
        created_at=answer.created_at,
        valid_for_hours=answer.valid_for_hours,
    )
    return find_difference(query, stored, now=now)


def _replaces(newer: WebAnswer, older: WebAnswer) -> bool:
    """Whether both answer one question, or hold the result of one search that two questions shared."""
    if (newer.answer, newer.citations) == (older.answer, older.citations):
        return True
    return bool(older.question) and is_same_question(older.question, newer.question)


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


def _from_answer(
    answer: WebAnswer,
    closeness: QueryCloseness,
    matches: Sequence[KeywordMatch],
    similarities: Mapping[str, float] | None,
) -> Passage:
    keywords = tuple(match.keyword_text for match in matches)
    keyword_ids = tuple(match.keyword_id for match in matches) or tuple(sorted(answer.keyword_ids)[:_MAX_USES])
    lexical = closeness.to(answer, keywords)
    return Passage(
        key=answer.result_id,
        content=remove_marks(answer.answer),
        score=merge_scores(lexical, _similarity(answer.result_id, similarities)),
        source_type=SourceType.EXTERNAL,
        title=answer.citations[0].title,
        source_url=answer.citations[0].url,
        keywords=keywords,
        keyword_ids=keyword_ids,
        result_id=answer.result_id,
        date=answer.created_at.date().isoformat(),
        answers=answer.question,
        urls=tuple(citation.url for citation in answer.citations),
        backing=_read_backing(answer),
        place=Place(kb_id=answer.kb_id, key=answer.result_id, is_learned=True),
        groups=answer.groups,
    )


def _read_backing(answer: WebAnswer) -> str:
    """What its pages say, as far as it is kept; empty if no snippet is, since titles alone state little."""
    if not any(citation.snippet for citation in answer.citations):
        return ""
    return "\n".join(part for citation in answer.citations for part in (citation.title, citation.snippet))


def _similarity(result_id: str, similarities: Mapping[str, float] | None) -> float | None:
    """The similarity of a stored answer; None if it is unknown. One that the search left out is less similar."""
    if similarities is None or result_id in similarities:
        return (similarities or {}).get(result_id)
    return min(similarities.values()) if len(similarities) >= _MAX_ANSWERS_READ else None
