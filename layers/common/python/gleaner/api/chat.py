"""Routes that answer questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.metrics import MetricUnit

from gleaner.answering.events import Sink
from gleaner.answering.exchange import Answer, Observation, QuestionRequest
from gleaner.api.idempotency import IdempotentRunner, Produced
from gleaner.api.request import STORE_FAILURES, Current, ok
from gleaner.api.routes import Endpoint, Route
from gleaner.api.schemas import ChatAnswer, ChatQuery, IdempotencyKey, to_chat_answer
from gleaner.errors import (
    AnswerRefused,
    AnswerRejected,
    ApiKeysUnavailable,
    ContextTooLong,
    IdempotencyKeyReused,
    MandatoryToolMissing,
    ModelUnavailable,
    NotAllowed,
    QuotaExceeded,
    RequestInProgress,
    UnknownKnowledgeBase,
    UnknownSession,
)
from gleaner.model import Answered, AnswerStatus, JsonObject
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.pricing import Cost
from gleaner.stores.conversations import ConversationStore

# Like gleaner.answering.question.answer_question: answers the request with this id, reports observations and emits
# events.
AnswerQuestion = Callable[[QuestionRequest, str, Deadline, Callable[[Observation], None], Sink], Answer]

# What a route raises that answers questions and accepts idempotency keys.
ANSWER_FAILURES = (
    UnknownSession,
    UnknownKnowledgeBase,
    NotAllowed,
    IdempotencyKeyReused,
    RequestInProgress,
    QuotaExceeded,
    ContextTooLong,
    MandatoryToolMissing,
    AnswerRejected,
    AnswerRefused,
    ModelUnavailable,
    ApiKeysUnavailable,
    *STORE_FAILURES,
)


class ChatRoutes:
    """POST /api/chat/query and POST /api/chat/stream: what streams is up to the application."""

    def __init__(
        self,
        answer_question: AnswerQuestion,
        conversations: ConversationStore,
        idempotent: IdempotentRunner,
        current: Current,
        *,
        metrics: Metrics,
        default_kb_id: str,
    ) -> None:
        self._answer_question = answer_question
        self._conversations = conversations
        self._idempotent = idempotent
        self._current = current
        self._metrics = metrics
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(Endpoint.ASK, self._query, raises=ANSWER_FAILURES),
            Route(Endpoint.ASK_STREAMED, self._query, raises=ANSWER_FAILURES),
        ]

    def answer(self, body: ChatQuery) -> Answer:
        """Answer a question of the current request."""
        request = self._current()
        question = QuestionRequest(
            query=body.query,
            caller_id=request.caller.id,
            session_id=body.session_id,
            kb_id=body.kb_id,
            mode=body.mode,
            grounding=body.grounding,
            selected_text=body.selected_text,
            chapter_origin=body.chapter_origin,
            admit=request.caller.admit,
            expect=request.caller.expect,
            find_groups=request.caller.find_groups,
            is_admin=request.caller.is_admin,
            is_fresh=body.fresh,
        )
        return self.ask(question, request.emit)

    def ask(self, question: QuestionRequest, emit: Sink) -> Answer:
        """Answer a question, whichever door it came by; events go to `emit`. Raises what answer_question raises."""
        request = self._current()
        answer = self._answer_question(question, request.query_id, request.deadline, self._observe, emit)
        self._measure(answer)
        return answer

    def answer_once(self, body: ChatQuery, idempotency_key: str | None) -> ChatAnswer:
        """The answer to a question of the current request. Raises StoredAnswerFound if the key was sent before."""

        def produce() -> Produced[ChatAnswer]:
            answer = self.answer(body)
            return Produced(to_chat_answer(answer), is_kept=answer.status is AnswerStatus.SUCCESS)

        def recheck(stored: JsonObject) -> None:  # nor are answers of a deleted session replayed
            request = self._current()
            request.caller.require_knowledge_base(body.kb_id or self._default_kb_id)
            self._conversations.get(stored["session_id"], request.caller.id, deadline=request.deadline)

        key = None if body.fresh else idempotency_key
        return self._idempotent.run(key, self._current(), Endpoint.ASK.path, body, produce, recheck)

    def _query(
        self, body: Annotated[ChatQuery, Body()], idempotency_key: IdempotencyKey = None
    ) -> Response[ChatAnswer]:
        return ok(self.answer_once(body, idempotency_key))

    def _measure(self, answer: Answer) -> None:
        self._count("ToolCalls", answer.facts.tool_call_count)
        self._count("KeywordsIndexed", answer.facts.keyword_count)
        self._count("AnswersFound", int(answer.facts.answered is Answered.FOUND))
        self._count("Fallbacks", int(answer.status is AnswerStatus.FALLBACK))

    def _observe(self, observation: Observation) -> None:
        """Record success criteria, latency and cost of a question, even if it was not answered."""
        criteria, cost = observation.criteria, observation.cost
        for name, met in (
            ("KnowledgeBaseSearched", criteria.knowledge_base_searched),
            ("AnsweredOnFirstAttempt", criteria.answered_on_first_attempt),
            ("KeywordsAfterWeb", criteria.keywords_after_web),
            ("HelpedByKeywords", criteria.helped_by_keywords),
            ("RetriesRecovered", criteria.retry_recovered),
            ("ContextCarried", criteria.context_carried),
        ):
            if met is not None:
                self._count(name, int(met))
        self._metrics.add_metric("Latency", MetricUnit.Milliseconds, observation.latency_ms)
        self.count_cost(cost)
        self._count("UnreadableParts", observation.left_out)
        if observation.unindexed:  # seldom, and each metric that is written is billed
            self._count("AnswersNotIndexed", observation.unindexed)
        if observation.withheld:  # each kind is a metric of its own, billed where it occurs
            self._count("AnswersWithheld", sum(observation.withheld.values()))
        for kind, count in observation.withheld.items():
            self._count(f"AnswersWithheld{kind.title().replace('_', '')}", count)
        for name, count in observation.sharing.items():
            self._count(name, count)

    def count_cost(self, cost: Cost) -> None:
        """Record what the current request cost, and name the request in the log line of its metrics."""
        request = self._current()
        self._metrics.add_metadata("query_id", request.query_id)
        self._metrics.add_metadata("request_id", request.request_id)
        self._count("InputTokens", cost.usage.input_tokens)
        self._count("OutputTokens", cost.usage.output_tokens)
        self._count("WebSearches", cost.web_searches)
        if cost.estimated_usd is not None:
            self._count("EstimatedCost", cost.estimated_usd)

    def _count(self, name: str, value: float) -> None:
        self._metrics.add_metric(name, MetricUnit.Count, value)
