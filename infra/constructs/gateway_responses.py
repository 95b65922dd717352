"""What API Gateway answers when a request does not reach the function: problem details, as the function's.

Clients of the OpenAI API read the member `error`. Responses cannot depend on the path, so all of them have both forms.

Each response type sets a status here because a template cannot refer to the one that API Gateway would choose.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aws_cdk import aws_apigateway as apigateway

from infra.environment import Authorizer

_Type = apigateway.ResponseType
EXPOSED_HEADERS = ("X-Query-Id", "X-Request-Id")  # readable by pages of other origins, as in the function's answers

# A request that never reached the function has only the gateway's id, which the access log records.
_REQUEST_ID = "$context.requestId"


@dataclass(frozen=True, slots=True)
class _Problem:
    status: int
    slug: str
    detail: str
    field: str | None = None  # the invalid field, if `detail` describes one


_NO_SUCH_PATH = _Problem(404, "not-found", "There is no such path. A question is a POST to /api/chat/query.")
_NO_KEY = _Problem(
    401, "unauthorized", "Send a valid API key: as x-api-key, or below /v1 and at /mcp as `Authorization: Bearer`."
)
_NO_TOKEN = _Problem(
    401, "unauthorized", "Send `Authorization: Bearer` with a valid token of the user pool: at /mcp an access token."
)
_UNSIGNED = _Problem(403, "not-allowed", "Sign the request with AWS credentials (Signature Version 4).")
_BAD_SIGNATURE = _Problem(403, "not-allowed", "The signature or the credentials that signed the request are not valid.")
_EXPIRED = _Problem(403, "not-allowed", "The token or the credentials have expired. Sign in again.")
_NOT_ALLOWED = _Problem(403, "not-allowed", "These credentials do not allow this request.")
_FUNCTION_FAILED = _Problem(502, "function-failed", "The function failed. Its log says why.")
_GATEWAY_FAILED = _Problem(500, "gateway-failed", "The API failed before an answer was made. Ask again.")

_BUSY_ADDRESS = _Problem(
    429, "throttled", "Too many requests came from your address in the last five minutes. Try again in five minutes."
)

_PROBLEMS: Sequence[tuple[apigateway.ResponseType, _Problem]] = (
    (_Type.BAD_REQUEST_BODY, _Problem(400, "validation-failed", "must be one JSON object", field="body")),
    (_Type.BAD_REQUEST_PARAMETERS, _Problem(400, "request-refused", "A parameter of the request is not valid.")),
    (_Type.INVALID_API_KEY, _NO_KEY),
    (_Type.INVALID_SIGNATURE, _BAD_SIGNATURE),
    (_Type.EXPIRED_TOKEN, _EXPIRED),
    (_Type.ACCESS_DENIED, _NOT_ALLOWED),
    (_Type.WAF_FILTERED, _NOT_ALLOWED),
    (_Type.RESOURCE_NOT_FOUND, _NO_SUCH_PATH),
    (_Type.REQUEST_TOO_LARGE, _Problem(413, "payload-too-large", "The body is larger than 10 MB. Send less.")),
    (_Type.UNSUPPORTED_MEDIA_TYPE, _Problem(415, "unsupported-media-type", "Send the body as application/json.")),
    (_Type.THROTTLED, _Problem(429, "throttled", "Too many requests at once. Try again a little later.")),
    (_Type.QUOTA_EXCEEDED, _Problem(429, "quota-exceeded", "The quota of this API key is spent for today.")),
    (_Type.INTEGRATION_TIMEOUT, _Problem(504, "deadline-exceeded", "The answer took too long. Ask again.")),
    (_Type.INTEGRATION_FAILURE, _FUNCTION_FAILED),
    (_Type.API_CONFIGURATION_ERROR, _GATEWAY_FAILED),
    (_Type.AUTHORIZER_CONFIGURATION_ERROR, _GATEWAY_FAILED),
    (_Type.AUTHORIZER_FAILURE, _GATEWAY_FAILED),
    (_Type.DEFAULT_4_XX, _Problem(400, "request-refused", "The request was refused before it reached the function.")),
    (_Type.DEFAULT_5_XX, _FUNCTION_FAILED),  # the remaining case: a function that ends without an answer
)


# By slug, where OpenAI's API has a name for a problem. tests/seams/ compares them with the function's.
_OPENAI_TYPES = {"quota-exceeded": "insufficient_quota"}
_OPENAI_CODES = {
    "unauthorized": "invalid_api_key",
    "throttled": "rate_limit_exceeded",
    "quota-exceeded": "insufficient_quota",
}
# OpenAI's clients send a request again after 429 and 5xx, but after these the question may have been paid for.
_MAY_BE_PAID_FOR = ("INTEGRATION_TIMEOUT", "INTEGRATION_FAILURE", "DEFAULT_5XX")
_NOT_TO_RETRY = (*_MAY_BE_PAID_FOR, "QUOTA_EXCEEDED")  # a quota lasts for the rest of the day


def add_gateway_responses(
    api: apigateway.RestApi, *, cors_origins: Sequence[str], authorizer: Authorizer, challenge: str
) -> None:
    """Make every error of the gateway a problem document that pages of the CORS origins can read.

    `challenge`: the `WWW-Authenticate` header for callers without valid credentials.
    """
    # API Gateway has one response type for unknown routes and unsigned requests. Under IAM, the request is unsigned,
    # because the routes match every path. Elsewhere nothing needs a signature, so the path must be wrong.
    unmatched = _UNSIGNED if authorizer is Authorizer.IAM else _NO_SUCH_PATH
    unauthorized = _NO_KEY if authorizer is Authorizer.API_KEY else _NO_TOKEN
    by_authorizer = ((_Type.MISSING_AUTHENTICATION_TOKEN, unmatched), (_Type.UNAUTHORIZED, unauthorized))
    headers = _headers(cors_origins)
    for type, problem in (*_PROBLEMS, *by_authorizer):
        more = {"WWW-Authenticate": f"'{challenge}'"} if problem.status == HTTPStatus.UNAUTHORIZED else {}
        more |= {"x-should-retry": "'false'"} if type.response_type in _NOT_TO_RETRY else {}
        api.add_gateway_response(
            f"Problem{type.response_type.title().replace('_', '')}",
            type=type,
            status_code=str(problem.status),
            response_headers=headers | more,
            templates={"application/json": json.dumps(_document(problem, _REQUEST_ID))},
        )


def busy_address_body() -> str:
    """What the firewall answers an address that sends too much. A body of AWS WAF is fixed, so it has no id."""
    return json.dumps(_document(_BUSY_ADDRESS, None))


def _headers(cors_origins: Sequence[str]) -> dict[str, str]:
    headers = {"Content-Type": "'application/problem+json'"}
    headers |= dict.fromkeys(EXPOSED_HEADERS, _REQUEST_ID.removeprefix("$"))
    if cors_origins:
        # These headers cannot depend on the request. Errors hold no secrets, so any page may read them.
        headers["Access-Control-Allow-Origin"] = "'*'"
        headers["Access-Control-Expose-Headers"] = f"'{','.join(EXPOSED_HEADERS)}'"
    return headers


def _document(problem: _Problem, request_id: str | None) -> dict[str, object]:
    field = problem.field
    detail = f"{field}: {problem.detail}" if field else problem.detail
    id_of_request = {"query_id": request_id} if request_id else {}
    document: dict[str, object] = {
        "type": f"urn:gleaner:problem:{problem.slug}",
        "title": problem.slug.replace("-", " ").capitalize(),
        "status": problem.status,
        "detail": detail,
        **id_of_request,
        "error": _openai_error(problem, detail) | id_of_request,
    }
    return document | ({"errors": [{"field": field, "message": problem.detail}]} if field else {})


def _openai_error(problem: _Problem, message: str) -> dict[str, str | None]:
    """The error as OpenAI's API describes it."""
    is_ours = problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return {
        "message": message,
        "type": _OPENAI_TYPES.get(problem.slug) or ("server_error" if is_ours else "invalid_request_error"),
        "param": None,
        "code": _OPENAI_CODES.get(problem.slug, problem.slug),
    }
