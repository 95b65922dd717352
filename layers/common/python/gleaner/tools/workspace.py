"""The state of one query that its tools share."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from gleaner.groups import NOBODY, Groups, common_groups
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.knowledge.shared_web_search import SharedWebSearch
from gleaner.model import (
    Answered,
    Grounding,
    LearningMode,
    Mode,
    Passage,
    Place,
    SourceType,
    Support,
    WebAnswer,
    utc_now,
)
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.small_talk import recognize
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keywords import IndexedKeyword

# Finds at most so many passages for a query, in the knowledge base of this id or in the selected text.
PassageSearch = Callable[[str, str, int, Deadline], RetrievalResult]

KEYWORDS_NOT_INDEXED = "keywords could not be indexed"
_LEARNING_FAILURES = frozenset((KEYWORDS_NOT_INDEXED, "index_keywords failed"))
_ID_PREFIX = {SourceType.KNOWLEDGE_BASE: "kb", SourceType.EXTERNAL: "web"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as the user asked it."""

    query_id: str
    session_id: str | None  # None: no session leads to what is recorded of it
    text: str
    kb_id: str
    kb_ids: frozenset[str] | None = None  # the knowledge bases that the caller is limited to; None: no limit
    earlier_groups: Groups = ()  # of what the turns before it rest on, as `common_groups` returns them
    mode: Mode
    grounding: Grounding
    caller: str | None = None  # the hash of who asks
    learning: LearningMode = LearningMode.SHARED
    asked_at: datetime = field(default_factory=utc_now)
    is_fresh: bool = False  # answered by nothing that was found before it was asked
    guidance: str | None = None  # what the client wishes of the answer's form
    has_sent_history: bool = False  # the messages before it came from the client


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedAnswer:
    """An answer with valid citations."""

    text: str
    sources: tuple[Passage, ...]  # as the model ordered them
    supports: Mapping[str, Support]  # by source id
    supporting_texts: Mapping[str, Sequence[str | None]]  # by source id, one for each mark
    claim: Answered | None  # how far the model says that it answers
    confidence_score: float | None


@dataclass(slots=True, kw_only=True)
class Workspace:
    """The state of one query that tools read and write; the calls of one turn run in parallel."""

    question: Question
    search: PassageSearch
    has_knowledge_base: Callable[[str], bool]  # whether there is one of this id
    web: SharedWebSearch | None
    learning: Learning
    deadline: Deadline
    background: Background
    answer: AcceptedAnswer | None = None
    web_costs: list[float | None] = field(default_factory=list)  # USD of each paid web search, None if not stated
    web_prices: dict[str, float] = field(default_factory=dict)  # USD of a web search, where stated, by result id
    left_out: list[int] = field(default_factory=list)  # parts of each search result that could not be read
    sharing: Counter[str] = field(default_factory=Counter)  # web searches of others that were used, and failed leases
    withheld: Counter[str] = field(default_factory=Counter)  # stored answers that do not fit, by what makes them differ
    web_answers: dict[str, WebAnswer] = field(default_factory=dict)  # by result id, in order of arrival
    learned: dict[str, IndexedKeyword] = field(default_factory=dict)  # by keyword id
    learned_results: dict[str, Groups] = field(default_factory=dict)  # whom indexed web answers are for, by their ids
    unlearnable_results: set[str] = field(default_factory=set)  # ids of web answers that may not be indexed
    shown_groups: list[Groups] = field(default_factory=list)  # of what the model saw that is no passage
    unindexed_results: set[str] = field(default_factory=set)  # ids of stored answers that are not found by meaning yet
    degraded: set[str] = field(default_factory=set)  # why the answer is a fallback
    _passages: dict[str, Passage] = field(default_factory=dict)  # by id
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, passages: Iterable[Passage]) -> list[Passage]:
        """Give passages the ids under which the model may cite them; a known passage keeps its id."""
        with self._lock:
            return [self._admit(passage) for passage in passages]

    def limit(self, kb_ids: frozenset[str] | None, *, earlier_groups: Groups) -> None:
        """Set what the caller is limited to, None without a limit, and whom the earlier turns are for."""
        self.question = replace(self.question, kb_ids=kb_ids, earlier_groups=earlier_groups)

    def keyword_use(self, answer: WebAnswer | None) -> KeywordUse:
        """Return the context in which keywords of this query are indexed or counted."""
        question = self.question
        return KeywordUse(
            kb_id=question.kb_id,
            query_id=question.query_id,
            session_id=question.session_id,
            answer=answer,
            caller=question.caller,
            is_private=question.learning is LearningMode.CALLER,
            groups=self.groups(),
        )

    def groups(self) -> Groups:
        """Return whom what follows from this question is for, as `common_groups` does: it saw restricted passages."""
        with self._lock:
            seen = [passage.groups for passage in self._passages.values()]
            return common_groups([self.question.earlier_groups, *self.shown_groups, *seen])

    def search_scope(self) -> str | None:
        """Return whose web searches this question may share: those who would find what it learns. None: nobody's."""
        groups = self.groups()
        if self.question.is_fresh or self.question.learning is LearningMode.OFF or groups == NOBODY:
            return None
        scope = self.keyword_use(None).scope
        return json.dumps([scope, groups]) if groups else scope

    def is_poor(self) -> bool:
        """Whether the answer is a fallback for another reason than learning itself: then it teaches nothing."""
        return bool(self.degraded - _LEARNING_FAILURES)

    def learnable_results(self) -> set[str]:
        """Return the ids of the web answers that may be indexed."""
        groups = self.groups()
        if self.question.learning is LearningMode.OFF or self.is_poor() or groups == NOBODY:
            return set()
        # What an answer is stored under must be for the same callers as the answer: keywords are shown with it.
        other = {result_id for result_id, learned_for in self.learned_results.items() if learned_for != groups}
        return set(self.web_answers) - self.unlearnable_results - other

    def lacks_sources(self) -> bool:
        """Whether the answer cites none of the passages, although the model does not say that they do not hold it.

        A greeting needs no sources.
        """
        return (
            self.answer is not None
            and not self.answer.sources
            and self.answer.claim is not Answered.NOT_FOUND
            and self.needs_sources()
        )

    def needs_sources(self) -> bool:
        """Whether an answer is asked for its sources once more if it has none and does not say why."""
        return bool(self._passages) and recognize(self.question.text) is None

    def stored_answers(self) -> list[str]:
        """Return the ids of the stored web answers that the answer rests on: found ones, and those it was taught by."""
        if self.answer is None:
            return []
        found = {source.result_id for source in self.answer.sources if source.result_id is not None}
        pages = {source.key for source in self.answer.sources}
        taught = {
            result_id
            for result_id, answer in self.web_answers.items()
            if any(citation.url in pages for citation in answer.citations)
        }
        return sorted(found | taught)

    def passage(self, passage_id: str) -> Passage | None:
        """Return the passage that the model knows by this id."""
        return self._passages.get(passage_id)

    def locate(self, passage: Passage) -> Place | None:
        """Return where a passage is stored. A page of this query's web search is, once it was learned from."""
        learned = [answer for answer in self.web_answers.values() if answer.result_id in self.learned_results]
        pages = (
            Place(kb_id=answer.kb_id, key=answer.result_id, is_learned=True, page=page)
            for answer in learned
            for page, citation in enumerate(answer.citations)
            if citation.url == passage.key
        )
        return passage.place or next(pages, None)

    def passages(self) -> list[Passage]:
        """Return all passages that the model knows, in the order of retrieval."""
        with self._lock:
            return list(self._passages.values())

    def passage_count(self) -> int:
        """Return the number of passages that the model knows."""
        return len(self._passages)

    def passage_ids(self) -> list[str]:
        """Return the ids that may be cited, in the order of retrieval."""
        return list(self._passages)

    def _admit(self, passage: Passage) -> Passage:
        for other in self._passages.values():
            if other.key == passage.key:
                return other
        prefix = _ID_PREFIX[passage.source_type]
        number = 1 + sum(other.source_type == passage.source_type for other in self._passages.values())
        admitted = replace(passage, id=f"{prefix}-{number}")
        self._passages[admitted.id] = admitted
        return admitted
