"""What API Gateway itself answers when a request does not reach the function: problem details, as the function's."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aws_cdk import aws_apigateway as apigateway

_Type = apigateway.ResponseType

# Type of response -> status (None: API Gateway's own), slug, detail. The defaults answer for every other type.
_PROBLEMS: Sequence[tuple[apigateway.ResponseType, int | None, str, str]] = (
    # API Gateway's own words on a body have quotes that it does not escape.
    (_Type.BAD_REQUEST_BODY, 400, "validation-failed", "Send an object with a text `query` and no unknown fields."),
    (_Type.UNAUTHORIZED, 401, "unauthorized", "Send a valid token in the Authorization header."),
    (_Type.INVALID_API_KEY, 403, "not-allowed", "Send a valid API key in the x-api-key header."),
    (_Type.MISSING_AUTHENTICATION_TOKEN, 403, "not-allowed", "There is no such path, or it wants credentials."),
    (_Type.THROTTLED, 429, "throttled", "Too many requests at once. Try again a little later."),
    (_Type.QUOTA_EXCEEDED, 429, "quota-exceeded", "The quota of this API key is spent for today."),
    (_Type.REQUEST_TOO_LARGE, 413, "payload-too-large", "The body is larger than the API takes. Send less."),
    (_Type.INTEGRATION_TIMEOUT, 504, "deadline-exceeded", "The answer took too long. Ask again."),
    (_Type.INTEGRATION_FAILURE, 502, "function-failed", "The function failed. Its log says why."),
    (_Type.DEFAULT_4_XX, None, "request-refused", "The request was refused before it reached the function."),
    (_Type.DEFAULT_5_XX, None, "gateway-failed", "The API failed before an answer was made."),
)


def add_gateway_responses(api: apigateway.RestApi, *, cors_origins: Sequence[str]) -> None:
    """Answer every refusal of the gateway as a problem document, readable from the origins' pages."""
    headers = {"Content-Type": "'application/problem+json'"}
    if cors_origins:
        # These headers cannot depend on the request. Refusals hold nothing to hide, so any page may read them.
        headers["Access-Control-Allow-Origin"] = "'*'"
    for type, status, slug, detail in _PROBLEMS:
        api.add_gateway_response(
            f"Problem{slug.title().replace('-', '')}{type.response_type.title().replace('_', '')}",
            type=type,
            status_code=str(status) if status else None,
            response_headers=headers,
            templates={"application/json": _template(status, slug, detail)},
        )


def _template(status: int | None, slug: str, detail: str) -> str:
    problem = {
        "type": f"urn:gleaner:problem:{slug}",
        "title": slug.replace("-", " ").capitalize(),
        "status": status or "$context.status",
        "detail": detail,
        "request_id": "$context.requestId",
    }
    return json.dumps(problem).replace('"$context.status"', "$context.status")  # a number
