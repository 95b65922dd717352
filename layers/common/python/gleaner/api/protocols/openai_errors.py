"""Errors in the form of OpenAI's API, made from the problem documents of the service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field

from gleaner.api import problems
from gleaner.api.request import JSON
from gleaner.model import JsonObject

# What OpenAI's clients obey, whatever the status (`_should_retry` in openai 3.57.0): by default they send a request
# again twice after 408, 409, 429 and 5xx, and each time a question is paid for.
SHOULD_RETRY = "x-should-retry"
_QUOTA = "quota-exceeded"
_SERVER_ERROR = HTTPStatus.INTERNAL_SERVER_ERROR.value
# By slug, where OpenAI has another status for a problem.
_STATUSES: Mapping[str, HTTPStatus] = {
    "context-too-long": HTTPStatus.BAD_REQUEST,
    "answer-refused": HTTPStatus.BAD_REQUEST,
    "idempotency-key-reused": HTTPStatus.BAD_REQUEST,
    "mandatory-tool-missing": HTTPStatus.INTERNAL_SERVER_ERROR,
    "answer-rejected": HTTPStatus.INTERNAL_SERVER_ERROR,
}
# By slug, where OpenAI has a code for a problem. What API Gateway answers by itself has the same codes.
_CODES: Mapping[str, str] = {
    "unknown-model": "model_not_found",
    "context-too-long": "context_length_exceeded",
    "answer-refused": "content_policy_violation",
    "unauthorized": "invalid_api_key",
    "throttled": "rate_limit_exceeded",
    _QUOTA: "insufficient_quota",
}
# By slug, where OpenAI has a type of its own: that of all errors about a quota (its guide to error codes).
_TYPES: Mapping[str, str] = {_QUOTA: "insufficient_quota"}
# By slug, which field is to blame where a problem does not say so. Messages may be too long for their use.
# By slug, where another advice fits.
_MESSAGES: Mapping[str, str] = {
    "unknown-session": "There is no such session of yours. POST /api/sessions creates one. Without metadata.session_id "
    "a question needs none, and is not kept.",
}
_PARAMS: Mapping[str, str] = {
    "unknown-model": "model",
    "unknown-session": "metadata.session_id",
    "validation-failed": "messages",
    "context-too-long": "messages",
}
_INDEX = re.compile(r"\.(\d+)(?=\.|\Z)")


class OpenAiError(BaseModel):
    """What went wrong."""

    message: str
    type: str = Field(description="invalid_request_error, insufficient_quota or server_error.")
    param: str | None = Field(description="The field of the request, if one is to blame.")
    code: str = Field(description="Stable; programs should check it.")
    query_id: str | None = Field(default=None, description="The id of the request, for a report.")


class ErrorResponse(BaseModel):
    """An error, as OpenAI's clients read it."""

    error: OpenAiError


def to_status(slug: str, status: HTTPStatus) -> HTTPStatus:
    """The status of a problem in OpenAI's API."""
    return _STATUSES.get(slug, status)


def to_code(slug: str) -> str:
    """The code of a problem in OpenAI's API."""
    return _CODES.get(slug, slug)


def convert(answer: JsonObject, *, is_question: bool) -> JsonObject:
    """A response, as a REST proxy integration returns it, with a problem in OpenAI's form; others stay as they are.

    A question that failed in the service is not sent again by itself, because it may have been paid for; nor is one
    beyond the quota, which lasts until midnight.
    """
    headers = answer["multiValueHeaders"]
    if headers.get("Content-Type") != [problems.CONTENT_TYPE]:
        return answer
    problem = json.loads(answer["body"])
    slug = problem["type"].removeprefix(problems.TYPE_PREFIX)
    status = to_status(slug, HTTPStatus(problem["status"])).value
    is_final = slug == _QUOTA or (is_question and status >= _SERVER_ERROR)
    retry = {SHOULD_RETRY: ["false"]} if is_final else {}
    body = ErrorResponse(error=to_error(problem, slug, status)).model_dump_json()
    headers = headers | {"Content-Type": [JSON]} | retry
    return answer | {"statusCode": status, "multiValueHeaders": headers, "body": body}


def to_error(problem: Mapping[str, Any], slug: str, status: int) -> OpenAiError:
    """The error that says the same as a problem document with this slug and status."""
    fields = problem.get("errors") or ()
    params = [_INDEX.sub(r"[\1]", item["field"]) for item in fields]
    own = None if params[:1] == ["body"] else params[0] if params else _PARAMS.get(slug)
    messages = [f"{param}: {item['message']}" for param, item in zip(params, fields, strict=True)]
    return OpenAiError(
        message="; ".join(messages) or _MESSAGES.get(slug, problem["detail"]),
        type=_TYPES.get(slug) or ("server_error" if status >= _SERVER_ERROR else "invalid_request_error"),
        param=own,
        code=to_code(slug),
        query_id=problem["query_id"],
    )


def describe_withdrawal(completion: JsonObject) -> str:
    """The error for a stream whose text turned out not to be the answer. It holds the answer, which is paid for."""
    error = OpenAiError(
        message="The model gave another answer than it began with. The text so far is void; this error has the answer.",
        type="server_error",
        param=None,
        code="answer-withdrawn",
    )
    return json.dumps({"error": error.model_dump() | {"completion": completion}}, separators=(",", ":"))
