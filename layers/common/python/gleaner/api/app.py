"""The HTTP application: routes, validation and the errors they end in."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestUnsupportedContentType,
    RequestValidationError,
)
from aws_lambda_powertools.event_handler.openapi.params import Body
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from gleaner.answering import Answer, Asked, Services, answer_question
from gleaner.api import problems
from gleaner.api.caller import caller_of
from gleaner.api.schemas import ChatAnswer, ChatQuery, Health, to_chat_answer
from gleaner.deadline import Deadline
from gleaner.errors import GleanerError
from gleaner.model import AnswerStatus, JsonObject, new_id

_JSON = "application/json"
_RESPONSE_SECONDS = 1.0  # of the Lambda's time kept back for sending the response
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

Handler = Callable[[JsonObject, LambdaContext], JsonObject]


class Api:
    """The routes over one set of services. Like a Lambda environment, it serves one request at a time."""

    def __init__(
        self, services: Services, *, deadline_seconds: float, logger: Logger, tracer: Tracer, metrics: Metrics
    ) -> None:
        self._services = services
        self._deadline_seconds = deadline_seconds
        self._logger = logger
        self._tracer = tracer
        self._metrics = metrics
        self._app = APIGatewayRestResolver(enable_validation=True, json_body_deserializer=_parse_json)
        self._add_routes()
        self._add_error_handlers()

    def handle(self, event: JsonObject, context: LambdaContext) -> JsonObject:
        """Answer one REST proxy event."""
        query_id = new_id()
        left = context.get_remaining_time_in_millis() / 1000 - _RESPONSE_SECONDS
        self._logger.append_keys(query_id=query_id)
        self._app.append_context(  # type: ignore[no-untyped-call]
            query_id=query_id,
            caller=caller_of(event),
            deadline=Deadline(time.monotonic() + min(self._deadline_seconds, left)),
        )
        return self._app.resolve(event, context)

    def _add_routes(self) -> None:
        for method, path, handler in (
            ("POST", "/api/chat/query", self._chat_query),
            ("GET", "/api/health", self._health),
        ):
            self._app.route(path, method=[method])(handler)
            others = [other for other in _METHODS if other != method]
            self._app.route(path, method=others, include_in_schema=False)(self._method_not_allowed(method))

    def _add_error_handlers(self) -> None:
        self._app.exception_handler(RequestValidationError)(self._invalid)
        self._app.exception_handler(RequestUnsupportedContentType)(self._unsupported)
        self._app.exception_handler(NotFoundError)(self._no_route)
        self._app.exception_handler(GleanerError)(lambda error: problems.from_error(error, query_id=self._query_id()))
        self._app.exception_handler(Exception)(lambda error: problems.internal(error, query_id=self._query_id()))

    def _chat_query(self, body: Annotated[ChatQuery, Body()]) -> Response[ChatAnswer]:
        context = self._app.context
        asked = Asked(
            query=body.query,
            caller_id=context["caller"].id,
            session_id=body.session_id,
            kb_id=body.kb_id,
            grounding=body.grounding,
        )
        with self._tracer.provider.in_subsegment("## answer"):
            answer = answer_question(asked, context["query_id"], self._services, context["deadline"])
        self._measure(answer)
        headers = {problems.QUERY_ID_HEADER: answer.query_id}
        return Response(HTTPStatus.OK.value, _JSON, to_chat_answer(answer), headers)

    def _health(self) -> Response[Health]:
        return Response(HTTPStatus.OK.value, _JSON, Health(status="ok"))

    def _measure(self, answer: Answer) -> None:
        self._metrics.add_metric("Latency", MetricUnit.Milliseconds, answer.latency_ms)
        self._metrics.add_metric("ToolCalls", MetricUnit.Count, answer.tool_call_count)
        self._metrics.add_metric("KeywordsIndexed", MetricUnit.Count, answer.keyword_count)
        fallbacks = int(answer.status is AnswerStatus.FALLBACK)
        self._metrics.add_metric("Fallbacks", MetricUnit.Count, fallbacks)

    def _method_not_allowed(self, allowed: str) -> Callable[[], Response[str]]:
        def refuse() -> Response[str]:
            return problems.problem(
                HTTPStatus.METHOD_NOT_ALLOWED,
                "method-not-allowed",
                f"This path takes {allowed} only.",
                query_id=self._query_id(),
                headers={"Allow": allowed},
            )

        return refuse

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        detail = "There is no such path. A question is a POST to /api/chat/query."
        return problems.problem(HTTPStatus.NOT_FOUND, "not-found", detail, query_id=self._query_id())

    def _unsupported(self, _error: RequestUnsupportedContentType) -> Response[str]:
        detail = f"Send the body as {_JSON}."
        status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        return problems.problem(status, "unsupported-media-type", detail, query_id=self._query_id())

    def _invalid(self, error: RequestValidationError) -> Response[str]:
        found = error.errors()
        if any(item["type"] == "json_invalid" for item in found):
            detail = 'The body must be a JSON object such as {"query": "..."}.'
            return problems.problem(HTTPStatus.BAD_REQUEST, "invalid-request", detail, query_id=self._query_id())
        invalid = [{"field": _field(item["loc"]), "message": item["msg"]} for item in found]
        detail = "; ".join(f"{item['field']}: {item['message']}" for item in invalid)
        return problems.problem(
            HTTPStatus.BAD_REQUEST, "validation-failed", detail, query_id=self._query_id(), invalid=invalid
        )

    def _query_id(self) -> str:
        return str(self._app.context["query_id"])


def _field(location: tuple[Any, ...]) -> str:
    return ".".join(str(part) for part in location if part != "body") or "body"


def _parse_json(body: str) -> Any:
    try:
        return json.loads(body)
    except RecursionError:
        raise json.JSONDecodeError("nested too deeply", "", 0) from None
