"""What is asked, what is answered, and what is seen on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from gleaner.model import AnswerStatus, Grounding, Mode, Passage, SourceType, Support
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import TurnFacts

if TYPE_CHECKING:  # else the API would load the whole agent before the first question
    from gleaner.answering._criteria import Criteria


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRequest:
    """A question and who asks it; `session_id` None begins a session, `kb_id` None is the default."""

    query: str
    caller_id: str
    session_id: str | None = None
    kb_id: str | None = None
    mode: Mode = Mode.WHOLE_BOOK
    grounding: Grounding = Grounding.OPEN
    selected_text: str | None = None  # in the mode selected_text
    chapter_origin: str | None = None  # where it was selected


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer with the facts of how it came about."""

    query_id: str
    session_id: str
    message_id: str
    created_at: datetime
    status: AnswerStatus
    text: str
    sources: tuple[Passage, ...]
    supports: Mapping[str, Support]  # by the id of the source
    confidence_score: float | None
    facts: TurnFacts

    def used(self, source_type: SourceType) -> bool:
        """Whether the answer rests on a source of this type: a fact, whatever the model claims."""
        return any(source.source_type is source_type for source in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a question showed and took, whether it ended in an answer or not."""

    criteria: Criteria
    cost: Cost
    latency_ms: float
