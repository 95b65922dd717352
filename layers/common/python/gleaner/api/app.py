"""The HTTP application: registers the routes, validates requests, and turns errors into responses."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayRestResolver, CORSConfig, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import (
    RequestUnsupportedContentType,
    RequestValidationError,
)
from aws_lambda_powertools.event_handler.util import extract_origin_header
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEvent

from gleaner.api import _openapi, problems
from gleaner.api._caller import read_caller
from gleaner.api._proxy_event import base_path, header_values, is_head, normalise, origin
from gleaner.api._request_body import BROKEN_GZIP, MAX_BODY
from gleaner.api.access import Access
from gleaner.api.idempotency import REPLAYED, StoredAnswerFound
from gleaner.api.invalid import NO_GZIP, UNSUPPORTED_BODY, invalid_fields, summary
from gleaner.api.request import JSON, Current, RequestContext
from gleaner.api.routes import Area, Endpoint, Route, is_of_openai
from gleaner.errors import GleanerError, PayloadTooLarge
from gleaner.model import JsonObject, new_id
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.response_stream import find_stream
from gleaner.runtime.settings import Settings
from gleaner.runtime.telemetry import count_failed_answer

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_RESPONSE_SECONDS = 1.0  # reserved for sending the response before Lambda times out
_PREFLIGHT_SECONDS = 600
# What OpenAI's client for browsers sends (`openai` 7.59.0 of npm, `client.js` and `internal/detect-platform.js`). A
# browser sends no request with a header that is not allowed.
_OPENAI_HEADERS = (
    *("OpenAI-Organization", "OpenAI-Project", "OpenAI-Beta"),
    *(f"X-Stainless-{name}" for name in ("Arch", "Lang", "OS", "Package-Version", "Runtime", "Runtime-Version")),
    *(f"X-Stainless-{name}" for name in ("Helper-Method", "Retry-Count", "Timeout")),
)
_MCP_HEADERS = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")
_PARAMETER = re.compile(r"<\w+>")


class Api:
    """The application. Like a Lambda environment, it serves one request at a time."""

    def __init__(
        self,
        make_areas: Callable[[Current], Sequence[Area]],
        *,
        settings: Settings,
        access: Access,
        logger: Logger,
        metrics: Metrics,
        prepare: Callable[[], object],
    ) -> None:
        """`prepare` loads what the routes otherwise load on first use."""
        self._prepare = prepare
        self._settings = settings
        self._access = access
        self._logger = logger
        self._metrics = metrics
        self._cors = _cors(settings.cors_origins)
        self._app = APIGatewayRestResolver(cors=self._cors, enable_validation=True, json_body_deserializer=_parse_json)
        self._methods: defaultdict[re.Pattern[str], set[str]] = defaultdict(set)  # keyed by path
        self._streamed_paths: defaultdict[str, list[re.Pattern[str]]] = defaultdict(list)  # keyed by method
        self._areas: defaultdict[re.Pattern[str], set[Area]] = defaultdict(set)  # keyed by path
        self._routes: dict[Area, Sequence[Route]] = {}  # of the areas that are loaded
        self._add_areas(make_areas(self._current))
        if settings.docs_routes:
            self._add_areas([Area((Endpoint.OPENAPI, Endpoint.SWAGGER), self._load_docs)])
        self._add_error_handlers()

    def prepare(self) -> None:
        """Load what the routes otherwise load on first use."""
        from gleaner.api import _answer_stream  # noqa: F401

        for area in self._unloaded():
            if area.is_prepared:
                self._load(area)
        self._prepare()

    def handle(self, event: JsonObject, context: LambdaContext) -> JsonObject:
        """Answer one REST proxy event.

        The answer to a route that streams is written to the stream of `context`, if it has one. What is returned then
        is not sent.
        """
        plain_event = normalise(event)
        request = self._make_request(event, plain_event["body"], context)
        self._logger.append_keys(query_id=request.query_id, request_id=request.request_id)
        if self._streams(plain_event):
            return self._handle_streamed(plain_event, request)
        return self._resolve(plain_event, request, is_head=is_head(event))

    def _make_request(self, event: JsonObject, body: str, context: LambdaContext) -> RequestContext:
        headers = header_values(event)
        deadline = _deadline(self._settings.query_deadline_seconds, context)
        return RequestContext(
            query_id=new_id(),
            request_id=(event.get("requestContext") or {}).get("requestId") or context.aws_request_id,
            caller=read_caller(
                event,
                admins=self._settings.admin_callers,
                find_rights=lambda subjects: self._access.find(subjects, deadline=deadline),
            ),
            deadline=deadline,
            lambda_context=context,
            base_path=base_path(event),
            origin=origin(event),
            headers=headers,
            body=body,
        )

    def _streams(self, event: JsonObject) -> bool:
        streamed = self._streamed_paths.get(event["httpMethod"], ())
        return any(path.fullmatch(event["path"]) for path in streamed)

    def _handle_streamed(self, event: JsonObject, request: RequestContext) -> JsonObject:
        from gleaner.api._answer_stream import STREAM_HEADERS, AnswerStream, WholeResponse
        from gleaner.api.protocols.ui_message_stream import UiMessageStream

        context = request.lambda_context
        whole, response = WholeResponse(), find_stream(context)
        headers = {**STREAM_HEADERS, **self._headers(request), **self._cors_headers(event)}
        if response is not None:  # whoever waits for a whole response waits no longer than on the other routes
            request = replace(request, deadline=_deadline(self._settings.stream_deadline_seconds, context))
        encoder = None if is_of_openai(event["path"]) else UiMessageStream()
        with AnswerStream(response or whole, headers, encoder) as stream:
            answer = self._resolve(event, replace(request, emit=stream.emit, stream_as=stream.use))
            if not stream.is_started and (answer["statusCode"] != HTTPStatus.OK or not stream.is_wanted):
                return answer
            replayed = {name: values for name, values in answer["multiValueHeaders"].items() if name == REPLAYED}
            stream.end(answer["statusCode"], answer["body"], replayed)
        return whole.to_proxy_result()

    def _resolve(self, event: JsonObject, request: RequestContext, *, is_head: bool = False) -> JsonObject:
        self._load_for(event["path"])
        self._app.append_context(request=request)  # type: ignore[no-untyped-call]
        answer = self._app.resolve(event, request.lambda_context)
        if answer["statusCode"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
            count_failed_answer(self._metrics, request.lambda_context.function_version)
        # Answers belong to their caller: neither browsers nor proxies may store them.
        answer["multiValueHeaders"].setdefault("Cache-Control", ["no-store"])
        answer["multiValueHeaders"] |= self._headers(request)
        if is_of_openai(event["path"]):
            from gleaner.api.protocols.openai_errors import convert

            answer = convert(answer, is_question=event["path"].startswith(Endpoint.CREATE_COMPLETION.path))
        if is_head:
            answer |= {"body": "", "isBase64Encoded": False}
        return answer

    def _headers(self, request: RequestContext) -> dict[str, list[str]]:
        """The headers of every response."""
        headers = {"X-Query-Id": [request.query_id], "X-Request-Id": [request.request_id]}
        # Also on responses without an allowed origin: a cache must not serve them to an allowed one.
        return headers | ({"Vary": ["Origin"]} if self._settings.cors_origins else {})

    def _cors_headers(self, event: JsonObject) -> dict[str, list[str]]:
        """What the framework adds to a response for its origin; a stream begins before there is a response."""
        if self._cors is None:
            return {}
        origin = extract_origin_header(APIGatewayProxyEvent(event).resolved_headers_field)
        headers = self._cors.to_dict(self._cors.allowed_origin(origin))
        return {name: [value] for name, value in headers.items()}

    def _describe(self) -> JsonObject:
        for area in self._unloaded():
            self._load(area)
        return _openapi.describe(self._app, [route for routes in self._routes.values() for route in routes])

    def _current(self) -> RequestContext:
        request: RequestContext = self._app.context["request"]
        return request

    def _add_areas(self, areas: Sequence[Area]) -> None:
        endpoints = [(endpoint, area) for area in areas for endpoint in area.endpoints]
        for endpoint, area in sorted(endpoints, key=lambda one: "<" in one[0].path):  # fixed paths match first
            path = re.compile(_PARAMETER.sub("[^/]+", endpoint.path) + "/*")
            self._areas[path].add(area)
            self._methods[path].add(endpoint.method)
            if endpoint.streams:
                self._streamed_paths[endpoint.method].append(path)

    def _load_for(self, path: str) -> None:
        """Load the areas that may serve a path."""
        for pattern, areas in self._areas.items():
            if pattern.fullmatch(path):
                for area in areas - self._routes.keys():
                    self._load(area)

    def _unloaded(self) -> list[Area]:
        """The areas that are not loaded, in the order of their paths."""
        areas = dict.fromkeys(area for areas in self._areas.values() for area in areas)
        return [area for area in areas if area not in self._routes]

    def _load(self, area: Area) -> None:
        self._routes[area] = routes = area.load()
        for route in sorted(routes, key=lambda route: "<" in route.endpoint.path):
            endpoint = route.endpoint
            self._app.route(endpoint.path, method=[endpoint.method], **_openapi.declare(route))(route.handler)

    def _load_docs(self) -> Sequence[Route]:
        from gleaner.api._docs import DocsRoutes

        return DocsRoutes(self._describe, self._current).routes()

    def _add_error_handlers(self) -> None:
        handle = self._app.exception_handler
        handle(RequestValidationError)(self._invalid)
        handle(RequestUnsupportedContentType)(self._unsupported)
        handle(NotFoundError)(self._no_route)
        handle(StoredAnswerFound)(_replay)
        handle(GleanerError)(lambda error: problems.from_error(error, query_id=self._query_id()))
        handle(Exception)(lambda error: problems.internal(error, query_id=self._query_id()))

    def _no_route(self, _error: NotFoundError) -> Response[str]:
        ask = Endpoint.CREATE_COMPLETION if is_of_openai(self._app.current_event.path) else Endpoint.ASK
        detail = f"There is no such path. A question is a POST to {ask.path}."
        return self._other_method() or problems.problem(problems.NO_SUCH_PATH, detail, query_id=self._query_id())

    def _other_method(self) -> Response[str] | None:
        """The response if the path is served, but not with this method."""
        event = self._app.current_event
        allowed_methods = next((methods for path, methods in self._methods.items() if path.fullmatch(event.path)), None)
        # A match here does not mean the router took it: parameters match fewer characters there.
        if allowed_methods is None or event.http_method in allowed_methods:
            return None
        allowed = ", ".join(sorted(allowed_methods))
        detail, headers = f"This path accepts {allowed} only.", {"Allow": allowed}
        return problems.problem(problems.METHOD_NOT_ALLOWED, detail, query_id=self._query_id(), headers=headers)

    def _unsupported(self, _error: RequestUnsupportedContentType) -> Response[str]:
        return problems.problem(problems.UNSUPPORTED_MEDIA_TYPE, UNSUPPORTED_BODY, query_id=self._query_id())

    def _invalid(self, error: RequestValidationError) -> Response[str]:
        # The request may have been routed to a path whose parameter matched the last word of this path.
        if other_method := self._other_method():
            return other_method
        errors = error.errors()
        fields = invalid_fields(errors)
        return problems.problem(
            problems.VALIDATION_FAILED, summary(fields, len(errors)), query_id=self._query_id(), invalid=fields
        )

    def _query_id(self) -> str:
        return self._current().query_id


def _deadline(seconds: float, context: LambdaContext) -> Deadline:
    seconds_left = context.get_remaining_time_in_millis() / 1000 - _RESPONSE_SECONDS
    return Deadline.after(min(seconds, seconds_left))


def _replay(stored: StoredAnswerFound) -> Response[str]:
    return Response(HTTPStatus.OK.value, JSON, stored.body, headers={REPLAYED: "true"})


def _cors(origins: Sequence[str]) -> CORSConfig | None:
    if not origins:
        return None
    return CORSConfig(
        allow_origin=origins[0],
        extra_origins=list(origins[1:]),
        allow_headers=["Idempotency-Key", *_OPENAI_HEADERS, *_MCP_HEADERS],
        expose_headers=["X-Query-Id", "X-Request-Id", "Retry-After", REPLAYED, "x-should-retry"],
        max_age=_PREFLIGHT_SECONDS,
    )


def _parse_json(body: str) -> Any:
    if len(body) > MAX_BODY:
        raise PayloadTooLarge(f"The body has more than {MAX_BODY:,} characters. Send less.")
    if body == BROKEN_GZIP:
        raise json.JSONDecodeError(NO_GZIP, "", 0)
    try:
        value = json.loads(body)
    except (RecursionError, ValueError):  # nested too deeply; malformed, or a number with thousands of digits
        raise json.JSONDecodeError("not readable", "", 0) from None
    if isinstance(value, list):  # the framework would use its first item
        raise json.JSONDecodeError("not an object", "", 0)
    return value
