"""Answers one question: loads the conversation, runs the agent, keeps the turn and its tool calls."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import datetime

from gleaner.answering._criteria import assess
from gleaner.answering._execution import CallOutcome
from gleaner.answering.agent import Agent
from gleaner.answering.conversation import conversation
from gleaner.answering.exchange import Answer, Observation, QuestionRequest
from gleaner.answering.steps import LoopLimits
from gleaner.clients.openai_chat import ChatModel
from gleaner.clients.perplexity import WebSearch
from gleaner.errors import (
    DeadlineExceeded,
    GleanerError,
    KnowledgeBaseUnavailable,
    StoreUnavailable,
    UnknownKnowledgeBase,
    UnknownSession,
)
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import Retrieval, Retrieved
from gleaner.knowledge.selection import Selection
from gleaner.model import AnswerStatus, Grounding, Mode, new_id, utc_now
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost, Prices, cost_of
from gleaner.stores.conversation_items import Message, Session, Turn, TurnFacts, message_id
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.tool_calls import ToolCallRecord, ToolCallStore
from gleaner.tools.workspace import PassageSearch, Question, Workspace

logger = logging.getLogger(__name__)

_OF_ONE_QUESTION = 2  # messages of a conversation without earlier turns: the system prompt and the question
_FORGET_SECONDS = 1.0  # what a question that has failed may take to look after its session
_HISTORY_MESSAGES = 40  # that are read; how many reach the model is a matter of their length


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What answering needs; built once per process."""

    model: ChatModel
    retrieval: Retrieval
    web: WebSearch
    learning: Learning
    conversations: ConversationStore
    tool_calls: ToolCallStore
    tool_executor: Executor  # runs tools, which wait for work on io_executor: one pool for both would deadlock
    io_executor: Executor
    default_kb_id: str
    prices: Prices
    limits: LoopLimits = field(default_factory=LoopLimits)


def answer_question(
    asked: QuestionRequest,
    query_id: str,
    services: Services,
    deadline: Deadline,
    observe: Callable[[Observation], None] = lambda _observation: None,
) -> Answer:
    """Answer `asked` and keep the turn in its session; `observe` is called once the model was asked, also on failure.

    Raises UnknownKnowledgeBase, UnknownSession, AnswerFailed, ServiceUnavailable, ContextTooLong or
    DeadlineExceeded; in each of these cases the session is as it was.
    """
    began, asked_at = time.monotonic(), utc_now()
    kb_id = asked.kb_id or services.default_kb_id
    kb_check = services.io_executor.submit(_require_knowledge_base, kb_id, services, deadline)
    history = _history(asked, services, deadline)
    kb_check.result()
    workspace = _workspace(asked, query_id, kb_id, services, deadline)
    recorder = _Recorder(workspace, asked.caller_id, services.tool_calls)
    agent = Agent(services.model, workspace, services.tool_executor, services.limits, recorder.record)
    messages = conversation(workspace.question, history)
    try:
        agent.run(messages)
        answer = _to_answer(workspace, agent, recorder.outcomes, _cost(agent, workspace, services), began)
        _keep(answer, asked, asked_at, services, deadline)
    except GleanerError:
        workspace.background.flush()
        if asked.session_id is not None:
            _forget_if_deleted(recorder, workspace.question, services, deadline.part(_FORGET_SECONDS))
        raise
    finally:
        # Of a session that is deleted while the last records are written, after its turn, these may stay.
        workspace.background.flush()
        carried = len(messages) > _OF_ONE_QUESTION and not agent.shortened if history else None
        criteria = assess(agent.progress, recorder.outcomes, workspace, context_carried=carried)
        cost = _cost(agent, workspace, services)
        observe(Observation(criteria=criteria, cost=cost, latency_ms=_milliseconds_since(began)))
    return answer


def _milliseconds_since(began: float) -> float:
    return round((time.monotonic() - began) * 1000, 1)


def _cost(agent: Agent, workspace: Workspace, services: Services) -> Cost:
    return cost_of(agent.usage, workspace.web_costs, services.prices)


def _workspace(asked: QuestionRequest, query_id: str, kb_id: str, services: Services, deadline: Deadline) -> Workspace:
    question = Question(
        query_id=query_id,
        session_id=asked.session_id or new_id(),
        text=asked.query,
        kb_id=kb_id,
        mode=asked.mode,
        grounding=asked.grounding,
    )
    return Workspace(
        question=question,
        search=_passage_search(asked, kb_id, services),
        web=services.web if services.web.configured() else None,
        learning=services.learning,
        deadline=deadline,
        background=Background(services.io_executor, deadline),
    )


def _passage_search(asked: QuestionRequest, kb_id: str, services: Services) -> PassageSearch:
    if asked.mode is Mode.SELECTED_TEXT:
        selection = Selection(asked.selected_text or "", asked.chapter_origin)
        return lambda query, top_k, _deadline: Retrieved(tuple(selection.search(query, top_k=top_k)), False)
    with_stored = asked.grounding is not Grounding.STRICT  # what the web taught earlier is the web, too
    return lambda query, top_k, deadline: services.retrieval.search(
        kb_id, query, top_k=top_k, deadline=deadline, with_stored=with_stored
    )


def _require_knowledge_base(kb_id: str, services: Services, deadline: Deadline) -> None:
    if kb_id == services.default_kb_id:  # may be empty: the web teaches it
        return
    try:
        known = services.retrieval.knows(kb_id, deadline=deadline)
    except KnowledgeBaseUnavailable:
        return  # the search that follows meets the same failure and reports it to the model
    if not known:
        raise UnknownKnowledgeBase(
            f"There is no knowledge base {kb_id!r}. Ingest documents into it, or leave kb_id out."
        )


def _history(asked: QuestionRequest, services: Services, deadline: Deadline) -> list[Message]:
    if asked.session_id is None:
        return []
    return services.conversations.recent_messages(
        asked.session_id, asked.caller_id, limit=_HISTORY_MESSAGES, deadline=deadline
    )


def _to_answer(workspace: Workspace, agent: Agent, outcomes: Sequence[CallOutcome], cost: Cost, began: float) -> Answer:
    question, accepted = workspace.question, workspace.answer
    if accepted is None:
        raise AssertionError("the agent ended without an answer")
    return Answer(
        query_id=question.query_id,
        session_id=question.session_id,
        message_id=message_id(question.query_id, "assistant"),
        created_at=utc_now(),
        status=AnswerStatus.FALLBACK if workspace.degraded else AnswerStatus.SUCCESS,
        text=accepted.text,
        sources=accepted.sources,
        supports=accepted.supports,
        confidence_score=accepted.confidence_score,
        facts=TurnFacts(
            tool_call_count=len(outcomes),
            used_tools=tuple(dict.fromkeys(outcome.call.name for outcome in outcomes if outcome.executed)),
            keyword_count=len(workspace.learned),
            retrieval_count=workspace.passage_count(),
            top_chapter=accepted.sources[0].chapter if accepted.sources else None,
            latency_ms=_milliseconds_since(began),
            model=agent.model_name,
            cost=cost,
        ),
    )


def _keep(answer: Answer, asked: QuestionRequest, asked_at: datetime, services: Services, deadline: Deadline) -> None:
    turn = Turn(
        query_id=answer.query_id,
        session_id=answer.session_id,
        owner=asked.caller_id,
        question=asked.query,
        answer=answer.text,
        mode=asked.mode.value,
        asked_at=asked_at,
        answered_at=answer.created_at,
        facts=answer.facts,
        selected_text=asked.selected_text,
        chapter_origin=asked.chapter_origin,
    )
    begun = Session(session_id=turn.session_id, owner=turn.owner, created_at=asked_at, updated_at=utc_now())
    new_session = begun if asked.session_id is None else None
    services.conversations.add_turn(turn, new_session=new_session, deadline=deadline)


def _forget_if_deleted(recorder: _Recorder, question: Question, services: Services, deadline: Deadline) -> None:
    """Delete the records of a question that leaves no turn, when its session was deleted meanwhile.

    A deletion marks the session before it deletes records. Of a session without the mark, now that the records are
    written, any deletion will find them; one that began before may have missed them. They stay when there is no time
    left for this, when the store fails, and when a record's write takes longer than it is waited for.
    """
    try:
        if not _exists(question.session_id, recorder.owner, services, deadline):
            recorder.forget(deadline)
    except (StoreUnavailable, DeadlineExceeded):
        logger.exception("records of a deleted session may stay")


def _exists(session_id: str, owner: str, services: Services, deadline: Deadline) -> bool:
    try:
        services.conversations.get(session_id, owner, deadline=deadline)
    except UnknownSession:
        return False
    return True


class _Recorder:
    """Writes the records of tool calls beside the work."""

    def __init__(self, workspace: Workspace, owner: str, tool_calls: ToolCallStore) -> None:
        self._workspace = workspace
        self.owner = owner
        self._tool_calls = tool_calls
        self.outcomes: list[CallOutcome] = []

    def record(self, outcome: CallOutcome) -> None:
        repeats = sum(outcome.call.name == earlier.call.name for earlier in self.outcomes if earlier.error)
        question = self._workspace.question
        record = ToolCallRecord(
            query_id=question.query_id,
            session_id=question.session_id,
            owner=self.owner,
            position=len(self.outcomes),
            tool_call_id=outcome.call.id,
            tool_name=outcome.call.name,
            parameters=outcome.call.arguments,
            result=json.dumps(outcome.result, ensure_ascii=False),
            status="error" if outcome.error else "success",
            error_message=outcome.error,
            duration_ms=outcome.duration_ms,
            retry_count=repeats,
            created_at=utc_now(),
        )
        self.outcomes.append(outcome)
        deadline = self._workspace.deadline
        self._workspace.background.submit(
            "tool call record", lambda: self._tool_calls.record(record, deadline=deadline)
        )

    def forget(self, deadline: Deadline) -> None:
        """Delete the records. Raises StoreUnavailable or DeadlineExceeded."""
        counts = {self._workspace.question.query_id: len(self.outcomes)}
        self._tool_calls.delete_of_queries(counts, self.owner, deadline=deadline)
