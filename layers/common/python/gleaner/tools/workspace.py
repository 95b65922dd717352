"""What the tools of one query work on, and what they leave behind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from gleaner.clients.perplexity import WebSearch
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.model import Grounding, Mode, Passage, SourceType, Support, WebAnswer
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keywords import IndexedKeyword

# Passages for a query, at most so many: of the knowledge base, or of the selected text.
PassageSearch = Callable[[str, int, Deadline], RetrievalResult]

_ID_PREFIX = {SourceType.KNOWLEDGE_BASE: "kb", SourceType.EXTERNAL: "web"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question as it was asked."""

    query_id: str
    session_id: str
    text: str
    kb_id: str
    mode: Mode
    grounding: Grounding


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedAnswer:
    """An answer whose citations were checked."""

    text: str
    sources: tuple[Passage, ...]  # as the model ordered them
    supports: Mapping[str, Support]  # by the id of the source
    confidence_score: float | None


@dataclass(slots=True, kw_only=True)
class Workspace:
    """The state of one query that tools read and write; calls of one turn run at the same time."""

    question: Question
    search: PassageSearch
    web: WebSearch | None
    learning: Learning
    deadline: Deadline
    background: Background
    answer: AcceptedAnswer | None = None
    web_costs: list[float | None] = field(default_factory=list)  # USD of each answered web search, if stated
    web_answers: dict[str, WebAnswer] = field(default_factory=dict)  # by result id, in the order they came
    learned: dict[str, IndexedKeyword] = field(default_factory=dict)  # by keyword id
    learned_results: set[str] = field(default_factory=set)  # ids of the web answers that were indexed
    degraded: set[str] = field(default_factory=set)  # why the answer is a fallback
    _passages: dict[str, Passage] = field(default_factory=dict)  # by id
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, passages: Iterable[Passage]) -> list[Passage]:
        """The passages with the ids under which the model may cite them; one seen before keeps its id."""
        with self._lock:
            return [self._admit(passage) for passage in passages]

    def keyword_use(self, answer: WebAnswer | None) -> KeywordUse:
        """What keywords are indexed or counted for in this query."""
        question = self.question
        return KeywordUse(
            kb_id=question.kb_id, query_id=question.query_id, session_id=question.session_id, answer=answer
        )

    def passage(self, passage_id: str) -> Passage | None:
        """The passage that was handed to the model under this id."""
        return self._passages.get(passage_id)

    def passages(self) -> list[Passage]:
        """What was handed to the model, in the order it was found."""
        return list(self._passages.values())

    def passage_count(self) -> int:
        """How many passages were found."""
        return len(self._passages)

    def passage_ids(self) -> list[str]:
        """The ids that may be cited, in the order they were given."""
        return list(self._passages)

    def _admit(self, passage: Passage) -> Passage:
        for known in self._passages.values():
            if known.key == passage.key:
                return known
        prefix = _ID_PREFIX[passage.source_type]
        number = 1 + sum(known.source_type == passage.source_type for known in self._passages.values())
        admitted = replace(passage, id=f"{prefix}-{number}")
        self._passages[admitted.id] = admitted
        return admitted
