"""Builds the description of the API (OpenAPI 3.1) from the routes that are served."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayRestResolver
from pydantic.json_schema import models_json_schema

import gleaner
from gleaner.api import problems
from gleaner.api.idempotency import REPLAYED
from gleaner.api.request import JSON
from gleaner.api.routes import STREAM_TYPE, Endpoint, Route, is_of_openai
from gleaner.model import JsonObject

_NOTES = """

An error is a problem document (RFC 9457); its `type` is stable. Below `/v1/` it has the form of OpenAI's API. A path
that is not listed here is a 404 `not-found`, a method that is not listed a 405 `method-not-allowed`.

Problems of the types {of_gateway} come from API Gateway, which fronts the deployed service. Their `query_id` is the
id of the request in the access log.

An answer that is repeated for an Idempotency-Key is sent exactly as it was stored, with the header
`Idempotent-Replayed: true`: if the service was updated in the meantime, it may lack new fields."""
_SCHEMAS = "#/components/schemas/"
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")
_HEADERS = {
    "X-Query-Id": "The id of this request; problems carry it as `query_id`.",
    "X-Request-Id": "The id that API Gateway gave this request.",
}


_BEARER = "A token of the user pool; below /v1 and at /mcp an API key, where callers have these."

_REPLAYED = {REPLAYED: "`true` if this is the stored answer to an earlier request with the same Idempotency-Key."}


def declare(route: Route) -> dict[str, Any]:
    """The keyword arguments, besides method and path, that declare a route to the framework."""
    endpoint = route.endpoint
    success: dict[str, Any] = {"description": route.status.phrase}
    if route.content is not None:
        success["content"] = dict(route.content)
    elif endpoint.streams:
        success["content"] = {STREAM_TYPE: {}}  # its schema is added to the document
    return {
        "summary": endpoint.summary,
        "tags": [_tag(endpoint.path)],
        "operation_id": re.sub(r"\W+", "_", f"{endpoint.method.lower()}{endpoint.path}").strip("_"),
        "responses": {route.status.value: success},
    }


def _tag(path: str) -> str:
    if is_of_openai(path):
        return "openai"
    if path == Endpoint.MCP.path:
        return "mcp"
    return path.split("/")[2] if path.startswith("/api/") else "docs"


def describe(app: APIGatewayRestResolver, routes: Sequence[Route]) -> JsonObject:
    """The OpenAPI document of `routes`, which are registered with `app`."""
    schema: JsonObject = json.loads(
        app.get_openapi_json_schema(
            title="Gleaner", version=gleaner.__version__, description=(gleaner.__doc__ or "") + _notes()
        )
    )
    by_operation = {(route.endpoint.template, route.endpoint.method.lower()): route for route in routes}
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            _complete(operation, path, by_operation[path, method])
    schema["paths"] = dict(sorted(schema["paths"].items()))
    _add_stream_schema(schema)
    _complete_components(schema["components"])
    # API Gateway decides whether a key is required; with another authorizer it is not.
    schema["security"] = [{"apiKey": []}, {"bearer": []}, {}]
    return schema


def _add_stream_schema(schema: JsonObject) -> None:
    """Describe the events of the routes that stream, and what OpenAI's API answers."""
    from gleaner.api.protocols.chat_completion import ChatCompletion
    from gleaner.api.protocols.chat_completion_chunk import CompletionEvent
    from gleaner.api.protocols.openai_errors import ErrorResponse
    from gleaner.api.protocols.ui_message_parts import UiMessagePart

    models: list[Any] = [(UiMessagePart, "validation"), (CompletionEvent, "validation")]
    models += [(ChatCompletion, "serialization"), (ErrorResponse, "serialization")]
    _, parts = models_json_schema(models, ref_template=f"{_SCHEMAS}{{model}}")
    schema["components"]["schemas"] = parts["$defs"] | schema["components"]["schemas"]
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            content = operation["responses"].get(str(HTTPStatus.OK.value), {}).get("content", {})
            if STREAM_TYPE in content:
                # Before OpenAPI 3.2, which has `itemSchema`, the schema of a stream is that of each event.
                event = CompletionEvent if is_of_openai(path) else UiMessagePart
                content[STREAM_TYPE] = {"schema": _event_schema(event.__name__)}


def _event_schema(data: str) -> JsonObject:
    """One server-sent event, as OpenAPI describes them. `[DONE]` is the last."""
    part = {"contentMediaType": "application/json", "contentSchema": {"$ref": f"{_SCHEMAS}{data}"}}
    either = {"type": "string", "anyOf": [{"const": "[DONE]"}, part]}
    return {"type": "object", "required": ["data"], "properties": {"data": either}}


def _notes() -> str:
    own = {slug for _, slug in problems.TABLE.values()}
    slugs = [f"`{slug}`" for _, slug in problems.OF_GATEWAY if slug not in own]
    return _NOTES.format(of_gateway=", ".join(slugs))


def _complete(operation: JsonObject, path: str, route: Route) -> None:
    """Replace the responses that the framework assumes for an operation with the actual ones."""
    for parameter in operation.get("parameters", ()):
        _correct_parameter(parameter)
    kinds: list[problems.Kind] = [problems.TABLE[error] for error in route.raises]
    if "parameters" in operation or "requestBody" in operation:
        kinds.append(problems.VALIDATION_FAILED)
    if "requestBody" in operation:
        kinds += [problems.UNSUPPORTED_MEDIA_TYPE, problems.PAYLOAD_TOO_LARGE]
    if "{" in path:  # a value with characters that no identifier has matches no route
        kinds.append(problems.NO_SUCH_PATH)
    kinds.append(problems.INTERNAL)
    success = operation["responses"][str(route.status.value)]
    if not success.get("content"):
        success.pop("content", None)
    # Drop the framework's 422 for invalid requests: this API answers 400.
    successes = {str(route.status.value): success}
    if route.unfinished is not None:
        successes[str(route.unfinished.value)] = success | {"description": f"{route.unfinished.phrase}: not finished"}
    responses = successes | _failures(kinds, of_openai=is_of_openai(path))
    for status, schema in route.responses.items():
        response = responses.setdefault(str(status.value), {"description": status.phrase})
        if schema is not None:
            response["content"] = response.get("content", {}) | {JSON: {"schema": schema}}
    if route.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": route.body}}}
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    operation["responses"] = {status: response | {"headers": headers} for status, response in responses.items()}
    if any(parameter["name"] == "Idempotency-Key" for parameter in operation.get("parameters", ())):
        replayed = {REPLAYED: {"$ref": f"#/components/headers/{REPLAYED}"}}
        operation["responses"][str(route.status.value)]["headers"] = headers | replayed


def _correct_parameter(parameter: JsonObject) -> None:
    schema = parameter["schema"]
    # A parameter can be absent but never null; the null comes from the handler's default.
    [non_null] = [kind for kind in schema.pop("anyOf", [{}]) if kind != {"type": "null"}]
    parameter["schema"] = schema | non_null
    if parameter["in"] == "header":
        parameter["name"] = parameter["name"].title()  # the framework writes it in lower case


def _failures(kinds: Sequence[problems.Kind], *, of_openai: bool) -> dict[str, JsonObject]:
    """The responses to requests that fail: what the function answers to these problems, and API Gateway by itself."""
    if not of_openai:
        return _respond([*kinds, *problems.OF_GATEWAY], _problem_response)
    from gleaner.api.protocols.openai_errors import to_status

    # API Gateway sends problem documents on all paths; below /v1/ an error of the function has another content type.
    failures = _respond(problems.OF_GATEWAY, _problem_response)
    for status, own in _respond([(to_status(slug, status), slug) for status, slug in kinds], _error_response).items():
        content = failures.get(status, {}).get("content", {}) | own["content"]
        failures[status] = own | {"content": content}
    return failures


def _respond(
    kinds: Iterable[problems.Kind], describe: Callable[[HTTPStatus, Sequence[str]], JsonObject]
) -> dict[str, JsonObject]:
    slugs: defaultdict[HTTPStatus, list[str]] = defaultdict(list)
    for status, slug in dict.fromkeys(kinds):
        slugs[status].append(slug)
    return {str(status.value): describe(status, slugs[status]) for status in sorted(slugs)}


def _error_response(status: HTTPStatus, slugs: Sequence[str]) -> JsonObject:
    from gleaner.api.protocols.openai_errors import ErrorResponse, to_code

    codes = sorted(map(to_code, slugs))
    fact = {"properties": {"error": {"properties": {"code": {"enum": codes}}}}}
    schema = {"allOf": [{"$ref": f"{_SCHEMAS}{ErrorResponse.__name__}"}, fact]}
    return {"description": f"{status.phrase}: {', '.join(codes)}", "content": {JSON: {"schema": schema}}}


def _problem_response(status: HTTPStatus, slugs: Sequence[str]) -> JsonObject:
    types = {"enum": sorted(problems.TYPE_PREFIX + slug for slug in slugs)}
    facts = {"properties": {"type": types, "status": {"const": status.value}}}
    return {
        "description": f"{status.phrase}: {', '.join(sorted(slugs))}",
        "content": {problems.CONTENT_TYPE: {"schema": {"allOf": [{"$ref": f"{_SCHEMAS}Problem"}, facts]}}},
    }


def _complete_components(components: JsonObject) -> None:
    schemas = components["schemas"]
    for name in _FRAMEWORK_SCHEMAS:
        schemas.pop(name, None)
    # Validation mode, because `errors`, which has a default, is omitted when there are none.
    _, problem_schemas = models_json_schema([(problems.Problem, "validation")], ref_template=f"{_SCHEMAS}{{model}}")
    components["schemas"] = dict(sorted((schemas | problem_schemas["$defs"]).items()))
    components["headers"] = {
        name: {"description": text, "required": name in _HEADERS, "schema": {"type": "string"}}
        for name, text in (_HEADERS | _REPLAYED).items()
    }
    key = "Identifies the caller to API Gateway; a local service accepts any text."
    components["securitySchemes"] = {
        "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": key},
        "bearer": {"type": "http", "scheme": "bearer", "description": _BEARER},
    }
