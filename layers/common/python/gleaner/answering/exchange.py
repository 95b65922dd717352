"""The request, answer and observation of one question, as the API sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from gleaner.groups import Groups
from gleaner.model import AnswerStatus, Grounding, Mode, Passage, SourceType, Support
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversation_items import TurnFacts

if TYPE_CHECKING:  # otherwise the API would load the whole agent before the first question
    from gleaner.answering._criteria import Criteria


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and the id of what is asked."""

    caller_id: str
    query_id: str
    is_admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierMessage:
    """A message before the question, as the client has it: text of the caller, whoever is said to have written it."""

    role: Literal["user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionRequest:
    """A question and its caller; `session_id` None starts a session, `kb_id` None is the default knowledge base.

    With `is_kept` False there is no session: the question and its answer are not stored, only its tool calls and what
    it taught, which the caller's erasure finds.
    """

    query: str
    caller_id: str
    session_id: str | None = None
    kb_id: str | None = None
    mode: Mode = Mode.WHOLE_BOOK
    grounding: Grounding = Grounding.OPEN
    selected_text: str | None = None  # required in the mode selected_text
    chapter_origin: str | None = None  # where the text was selected
    # Called with the question's knowledge base; returns those that the caller is limited to, None without a limit.
    # Raises NotAllowed, StoreUnavailable or DeadlineExceeded.
    admit: Callable[[str], frozenset[str] | None] = lambda _kb_id: None
    # Says at once what `admit` will probably return or raise.
    expect: Callable[[str], frozenset[str] | None] = lambda _kb_id: None
    # Called after `admit`: the groups of the caller, for whose members documents may be. Raises what `admit` raises.
    find_groups: Callable[[], frozenset[str]] = frozenset
    is_fresh: bool = False  # stored web answers are not looked up, and no web search of others is shared
    history: tuple[EarlierMessage, ...] | None = None  # oldest first; read instead of the session's
    guidance: str | None = None  # what the client wishes of the answer's form; it stands below the service's own rules
    is_kept: bool = True
    is_admin: bool = False

    def __post_init__(self) -> None:
        if self.session_id is not None and not self.is_kept:
            raise ValueError("a question in a session is kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, with facts about how it was produced."""

    query_id: str
    session_id: str | None  # None: it is not kept, so there is nothing to go on with
    message_id: str
    created_at: datetime
    status: AnswerStatus
    text: str
    sources: tuple[Passage, ...]
    supports: Mapping[str, Support]  # by source id
    supporting_texts: Mapping[str, Sequence[str | None]]  # by source id, one for each mark
    confidence_score: float | None
    facts: TurnFacts
    groups: Groups = ()  # whom what it rests on is for, as `common_groups` returns them

    def used(self, source_type: SourceType) -> bool:
        """Whether the answer cites a source of this type, whatever the model claims."""
        return any(source.source_type is source_type for source in self.sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Success criteria, cost and latency of a question, whether it was answered or failed."""

    criteria: Criteria
    cost: Cost
    latency_ms: float
    left_out: int  # parts of search results that could not be read
    unindexed: int = 0  # stored answers that could not be written into the vector index
    withheld: Mapping[str, int] = field(default_factory=dict)  # stored answers by what makes them no answer
    sharing: Mapping[str, int] = field(default_factory=dict)  # shared web searches and failed leases, by metric
