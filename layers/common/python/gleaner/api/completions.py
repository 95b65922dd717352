"""The route that answers questions as OpenAI's API does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Body

from gleaner.answering.events import Sink, ignore
from gleaner.answering.exchange import Answer, Asker, QuestionRequest
from gleaner.api.chat import ANSWER_FAILURES, ChatRoutes
from gleaner.api.idempotency import IdempotentRunner, Produced
from gleaner.api.protocols import chat_messages
from gleaner.api.protocols.chat_completion import ChatCompletion, make_completion, to_completion
from gleaner.api.protocols.chat_completion_request import CompletionRequest
from gleaner.api.protocols.chat_completion_stream import ChatCompletionStream
from gleaner.api.protocols.model_names import ModelName, parse_model, unknown_model
from gleaner.api.request import JSON, Current, ok
from gleaner.api.routes import STREAM_TYPE, Endpoint, Route
from gleaner.api.schemas import IdempotencyKey, to_answer_cost
from gleaner.client_tasks import Spoken
from gleaner.errors import NotAllowed, UnknownKnowledgeBase, UnknownModel, UnknownQuery
from gleaner.model import AnswerStatus, Grounding, JsonObject, utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores.conversations import ConversationStore

if TYPE_CHECKING:  # otherwise this area would load all that questions need
    from gleaner.answering.plain import PlainAnswer

CompletePlainly = Callable[[Sequence[Spoken], Asker, Deadline], "PlainAnswer"]

_FAILURES = (
    UnknownModel,
    UnknownQuery,
    *(error for error in ANSWER_FAILURES if error is not UnknownKnowledgeBase),
)


class CompletionRoutes:
    """POST /v1/chat/completions, streamed or whole as the request says."""

    def __init__(
        self,
        chat: ChatRoutes,
        complete_plainly: CompletePlainly,
        conversations: ConversationStore,
        idempotent: IdempotentRunner,
        current: Current,
        *,
        default_kb_id: str,
    ) -> None:
        """`complete_plainly` asks the model alone: see gleaner.answering.plain."""
        self._chat = chat
        self._complete_plainly = complete_plainly
        self._conversations = conversations
        self._idempotent = idempotent
        self._current = current
        self._default_kb_id = default_kb_id

    def routes(self) -> list[Route]:
        """The routes."""
        whole = {"schema": {"$ref": f"#/components/schemas/{ChatCompletion.__name__}"}}
        content = {JSON: whole, STREAM_TYPE: {}}  # their schemas are added to the document
        return [Route(Endpoint.CREATE_COMPLETION, self._create, raises=_FAILURES, content=content)]

    def _create(
        self, body: Annotated[CompletionRequest, Body()], idempotency_key: IdempotencyKey = None
    ) -> Response[ChatCompletion]:
        request, model = self._current(), parse_model(body.model)
        with_usage = bool(body.stream_options and body.stream_options.include_usage)
        emit = request.stream_as(ChatCompletionStream(body.model, with_usage=with_usage)) if body.stream else ignore

        def produce() -> Produced[ChatCompletion]:
            if model.is_plain or chat_messages.read_client_task(body.messages):
                self._require(model, body.model)
                return self._write(body)
            answer = self._answer(body, model, emit)
            completion = to_completion(answer, model, body.model, absolute=request.absolute)
            return Produced(completion, is_kept=answer.status is AnswerStatus.SUCCESS)

        def recheck(stored: JsonObject) -> None:
            self._require(model, body.model)
            self._recheck(stored["gleaner"], body.session_id)

        route = Endpoint.CREATE_COMPLETION.path
        return ok(self._idempotent.run(idempotency_key, request, route, body, produce, recheck))

    def _recheck(self, answer: JsonObject | None, session_id: str | None) -> None:
        """Answers of a deleted session or an erased caller are not replayed. Of a title or the like nothing is kept."""
        caller_id, deadline = self._current().caller.id, self._current().deadline
        if session_id is not None:
            self._conversations.get(session_id, caller_id, deadline=deadline)
        elif answer is not None:
            self._conversations.require_noted(caller_id, answer["query_id"], deadline=deadline)

    def _require(self, model: ModelName, name: str) -> None:
        """Raises UnknownModel if the knowledge base of a model is not the caller's, NotAllowed if none is."""
        caller = self._current().caller
        caller.require_any_knowledge_base()
        if model.is_plain:
            return
        try:
            caller.require_knowledge_base(model.kb_id or self._default_kb_id)
        except NotAllowed:
            raise unknown_model(name) from None

    def _answer(self, body: CompletionRequest, model: ModelName, emit: Sink) -> Answer:
        caller = self._current().caller
        question = QuestionRequest(
            query=chat_messages.read_question(body.messages),
            caller_id=caller.id,
            session_id=body.session_id,
            kb_id=model.kb_id,
            grounding=Grounding.STRICT if model.is_strict else Grounding.OPEN,
            admit=caller.admit,
            expect=caller.expect,
            find_groups=caller.find_groups,
            is_admin=caller.is_admin,
            history=None if body.session_id else chat_messages.read_earlier(body.messages),
            guidance=chat_messages.read_guidance(body.messages),
            is_kept=body.session_id is not None,
        )
        try:
            return self._chat.ask(question, emit)
        except (UnknownKnowledgeBase, NotAllowed):  # the same for a model that is not there and one of somebody else
            caller.require_any_knowledge_base()
            raise unknown_model(body.model) from None

    def _write(self, body: CompletionRequest) -> Produced[ChatCompletion]:
        """What a client asks for beside questions: one call of the model. It is checked as a whole, and so it comes."""
        request = self._current()
        asker = Asker(caller_id=request.caller.id, query_id=request.query_id, is_admin=request.caller.is_admin)
        written = self._complete_plainly(chat_messages.read_spoken(body.messages), asker, request.deadline)
        self._chat.count_cost(written.cost)
        completion = make_completion(
            request.query_id,
            body.model,
            written.text,
            annotations=[],
            cost=to_answer_cost(written.cost),
            at=utc_now(),
            is_cut_off=written.is_cut_off,
        )
        return Produced(completion, is_kept=True)
