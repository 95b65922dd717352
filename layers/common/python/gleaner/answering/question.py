"""Answers one question: loads the conversation, runs the agent, stores the turn and its tool calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace

from gleaner.answering._access_check import AccessCheck
from gleaner.answering._criteria import Criteria, assess
from gleaner.answering._execution import CallOutcome
from gleaner.answering._keeping import keep, load_history
from gleaner.answering._recording import CallRecorder
from gleaner.answering.admission import Admission, Admissions
from gleaner.answering.agent import Agent
from gleaner.answering.conversation import build_conversation
from gleaner.answering.events import Answered, Sink, Started, ignore
from gleaner.answering.exchange import Answer, Asker, Observation, QuestionRequest
from gleaner.answering.guidance import require_short
from gleaner.answering.steps import LoopLimits
from gleaner.clients.chat_model import ChatModel
from gleaner.errors import (
    GleanerError,
    KnowledgeBaseUnavailable,
    UnknownKnowledgeBase,
)
from gleaner.guards.answered import judge_answered
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import Retrieval, RetrievalResult
from gleaner.knowledge.selection import Selection
from gleaner.knowledge.shared_web_search import SharedWebSearch
from gleaner.model import AnswerStatus, ChatMessage, Grounding, LearningMode, Mode, new_id, utc_now
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.learning_policy import LearningPolicy
from gleaner.runtime.pricing import Cost, Prices, estimate_cost
from gleaner.small_talk import recognize
from gleaner.stores.conversation_items import TurnFacts, message_id
from gleaner.stores.conversations import ConversationStore
from gleaner.stores.schema import caller_hash
from gleaner.stores.session_deletion import SessionDeletion
from gleaner.stores.tool_calls import ToolCallStore
from gleaner.tools.workspace import PassageSearch, Question, Workspace

_MESSAGES_WITHOUT_HISTORY = 2  # the system prompt and the question
_MAX_CLEANUP_SECONDS = 5.0  # for a failed question to check its session and delete its records
_KEPT_SECONDS = 1.0  # that are left for this when a question runs out of time
_KEPT_SHARE = 0.1  # of a shorter time for a question
_WITHDRAWAL_SECONDS = 5.0  # to delete what a fallback answer taught


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services that answering needs; built once per process."""

    model: ChatModel
    retrieval: Retrieval
    web: SharedWebSearch
    learning: Learning
    conversations: ConversationStore
    tool_calls: ToolCallStore
    session_deletion: SessionDeletion
    admissions: Admissions
    tool_executor: Executor  # runs tools side by side, which wait for work on io_executor: one pool would deadlock
    io_executor: Executor
    default_kb_id: str
    prices: Prices
    learning_policy: LearningPolicy = field(default_factory=LearningPolicy)
    limits: LoopLimits = field(default_factory=LoopLimits)


def answer_question(
    request: QuestionRequest,
    query_id: str,
    services: Services,
    deadline: Deadline,
    observe: Callable[[Observation], None] = lambda _observation: None,
    emit: Sink = ignore,
) -> Answer:
    """Answer `request` and store the turn in its session; `observe` is called once the agent has run, also on failure.

    `emit` gets what happens; Answered comes last, once the turn is stored. Without it nothing is streamed.
    Raises NotAllowed, UnknownKnowledgeBase, UnknownSession, AnswerFailed, AnswerRefused, QuotaExceeded,
    ServiceUnavailable, ContextTooLong or DeadlineExceeded, or InvalidInput for too long a guidance; in each of these
    cases the session is unchanged.
    """
    require_short(request.guidance)
    asker = Asker(caller_id=request.caller_id, query_id=query_id, is_admin=request.is_admin)
    access = AccessCheck(request, request.kb_id or services.default_kb_id, services.io_executor)
    with services.admissions.admit(asker, services.io_executor, deadline, access) as admission:
        return _answer(request, query_id, services, deadline, observe, admission.hold(emit), admission, access)


def _answer(
    request: QuestionRequest,
    query_id: str,
    services: Services,
    deadline: Deadline,
    observe: Callable[[Observation], None],
    emit: Sink,
    admission: Admission,
    access: AccessCheck,
) -> Answer:
    started_at, asked_at = time.monotonic(), utc_now()
    kb_id = access.kb_id
    kb_check = services.io_executor.submit(require_knowledge_base, kb_id, services, deadline)
    history = load_history(request, services.conversations, deadline)
    kb_ids = access.begin()
    _await_knowledge_base(kb_check, access)
    question = _make_question(request, query_id, kb_id, kb_ids, services.learning_policy.mode(kb_id))
    admission.require_early()
    workspace = _make_workspace(request, question, services, access, _before_cleanup(deadline))
    emit(Started(query_id=query_id, session_id=workspace.question.session_id))
    recorder = CallRecorder(workspace, request.caller_id, services.tool_calls)

    def admit() -> None:
        admission.require()
        workspace.limit(access.wait(), earlier_groups=history.groups_for(access.groups()))

    agent = Agent(services.model, workspace, services.tool_executor, services.limits, recorder.record, emit, admit)
    messages = build_conversation(workspace.question, history.messages)
    try:
        cost = _run(agent, messages, recorder, workspace, services, admission)
        recorder.withdraw_learned(services.session_deletion, deadline.part(_WITHDRAWAL_SECONDS))
        stands_alone = not history.messages and request.mode is Mode.WHOLE_BOOK
        answer = _to_answer(workspace, agent, recorder.outcomes, cost, started_at, stands_alone=stands_alone)
        keep(answer, request, asked_at, services.conversations, deadline, is_first=history.is_first)
    except GleanerError:
        agent.release.withdraw()
        workspace.background.flush()
        _clean_up(recorder, services, deadline, session_id=request.session_id)
        access.wait()  # whoever is not admitted learns that, and not what became of the model's call
        raise
    finally:
        # If the session is deleted or the caller erased while the last records are written, after the turn or the note,
        # they may remain.
        workspace.background.flush()
        is_carried = len(messages) > _MESSAGES_WITHOUT_HISTORY and not agent.is_shortened
        context_carried = is_carried if history.messages else None
        criteria = assess(agent.progress, recorder.outcomes, workspace, context_carried=context_carried)
        observe(_to_observation(criteria, _cost(agent, workspace, services), workspace, started_at))
    emit(Answered(answer=answer))
    return answer


def _await_knowledge_base(kb_check: Future[None], access: AccessCheck) -> None:
    """Wait for the check of the knowledge base. Who may not use it is not told whether it exists."""
    try:
        kb_check.result()
    except UnknownKnowledgeBase:
        access.wait()
        raise


def _run(
    agent: Agent,
    messages: Sequence[ChatMessage],
    recorder: CallRecorder,
    workspace: Workspace,
    services: Services,
    admission: Admission,
) -> Cost:
    """Run the agent, and have what it cost and its tool calls written beside what is written of the question."""
    try:
        agent.run(messages)
    finally:
        cost = _cost(agent, workspace, services)
        admission.settle(cost, is_counted=agent.has_asked, beside=recorder.writes, background=workspace.background)
    return cost


def _before_cleanup(deadline: Deadline) -> Deadline:
    """When a question must give up, so that erasing its caller finds what was recorded of it until then."""
    return Deadline(deadline.at - min(_KEPT_SECONDS, _KEPT_SHARE * max(0.0, deadline.remaining())))


def _clean_up(recorder: CallRecorder, services: Services, deadline: Deadline, *, session_id: str | None) -> None:
    cleanup_deadline = Deadline.after(min(_MAX_CLEANUP_SECONDS, deadline.remaining()))
    if session_id is None:
        recorder.note_failure(services.conversations, cleanup_deadline)
    else:
        recorder.delete_if_orphaned(session_id, services.conversations, services.session_deletion, cleanup_deadline)


def _milliseconds_since(started_at: float) -> float:
    return round((time.monotonic() - started_at) * 1000, 1)


def _to_observation(criteria: Criteria, cost: Cost, workspace: Workspace, started_at: float) -> Observation:
    return Observation(
        criteria=criteria,
        cost=cost,
        latency_ms=_milliseconds_since(started_at),
        left_out=sum(workspace.left_out),
        unindexed=len(workspace.unindexed_results),
        withheld=workspace.withheld,
        sharing=workspace.sharing,
    )


def _cost(agent: Agent, workspace: Workspace, services: Services) -> Cost:
    return estimate_cost(agent.usage, workspace.web_costs, services.prices)


def _make_workspace(
    request: QuestionRequest, question: Question, services: Services, access: AccessCheck, deadline: Deadline
) -> Workspace:
    return Workspace(
        question=question,
        search=_passage_search(request, question, services, access),
        has_knowledge_base=lambda other: services.retrieval.has_knowledge_base(other, deadline=deadline),
        web=services.web if services.web.is_configured() else None,
        learning=services.learning,
        deadline=deadline,
        background=Background(services.io_executor, deadline),
    )


def _make_question(
    request: QuestionRequest, query_id: str, kb_id: str, kb_ids: frozenset[str] | None, learning: LearningMode
) -> Question:
    return Question(
        query_id=query_id,
        session_id=request.session_id or (new_id() if request.is_kept else None),
        text=request.query,
        kb_id=kb_id,
        kb_ids=kb_ids,
        mode=request.mode,
        grounding=request.grounding,
        caller=caller_hash(request.caller_id),
        learning=learning,
        is_fresh=request.is_fresh,
        guidance=request.guidance,
        has_sent_history=bool(request.history),
    )


def _passage_search(
    request: QuestionRequest, question: Question, services: Services, access: AccessCheck
) -> PassageSearch:
    if request.mode is Mode.SELECTED_TEXT:
        selection = Selection(request.selected_text or "", request.chapter_origin)
        return lambda _, query, top_k, _deadline: RetrievalResult(tuple(selection.search(query, top_k=top_k)), False)
    # Stored web answers count as the web. Small talk asks for none.
    is_question = recognize(request.query) is None
    with_stored_answers = is_question and request.grounding is not Grounding.STRICT and not request.is_fresh

    def search(kb_id: str, query: str, top_k: int, deadline: Deadline) -> RetrievalResult:
        groups = access.groups()
        if with_stored_answers:  # the model may search another knowledge base of the caller
            return search_for(question.caller, groups, kb_id, query, services, top_k=top_k, deadline=deadline)
        return services.retrieval.search(
            kb_id, query, top_k=top_k, deadline=deadline, with_stored_answers=False, groups=groups
        )

    return search


def search_for(
    caller: str | None,
    groups: frozenset[str],
    kb_id: str,
    query: str,
    services: Services,
    *,
    top_k: int,
    deadline: Deadline,
) -> RetrievalResult:
    """The best passages, with those stored web answers that `caller`, a hash and a member of `groups`, may find.

    Raises KnowledgeBaseUnavailable or DeadlineExceeded.
    """
    mode = services.learning_policy.mode(kb_id)
    return services.retrieval.search(
        kb_id,
        query,
        top_k=top_k,
        deadline=deadline,
        with_stored_answers=mode is not LearningMode.OFF,
        caller=caller if mode is LearningMode.CALLER else None,
        groups=groups,
    )


def require_knowledge_base(kb_id: str, services: Services, deadline: Deadline) -> None:
    """Raises UnknownKnowledgeBase, unless the index cannot say whether it exists."""
    if kb_id == services.default_kb_id:  # may be empty: it can learn from the web
        return
    try:
        exists = services.retrieval.has_knowledge_base(kb_id, deadline=deadline)
    except KnowledgeBaseUnavailable:
        return  # the search will fail in the same way and report it to the model
    if not exists:
        raise UnknownKnowledgeBase(
            f"There is no knowledge base {kb_id!r}: nothing has been loaded into it. Load documents or name another."
        )


def _to_answer(
    workspace: Workspace,
    agent: Agent,
    outcomes: Sequence[CallOutcome],
    cost: Cost,
    started_at: float,
    *,
    stands_alone: bool,
) -> Answer:
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
        sources=tuple(replace(source, place=workspace.locate(source)) for source in accepted.sources),
        supports=accepted.supports,
        supporting_texts=accepted.supporting_texts,
        confidence_score=accepted.confidence_score,
        groups=workspace.groups(),
        facts=TurnFacts(
            answered=judge_answered(
                question.text, accepted.text, accepted.sources, claim=accepted.claim, stands_alone=stands_alone
            ),
            tool_call_count=len(outcomes),
            used_tools=tuple(dict.fromkeys(outcome.call.name for outcome in outcomes if outcome.executed)),
            keyword_count=len(workspace.learned),
            retrieval_count=workspace.passage_count(),
            top_chapter=accepted.sources[0].chapter if accepted.sources else None,
            latency_ms=_milliseconds_since(started_at),
            model=agent.model_name,
            cost=cost,
        ),
    )
