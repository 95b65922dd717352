"""Turns errors into HTTP responses: RFC 9457 problem details with stable types."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from gleaner import errors
from gleaner.guards.redaction import redact

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:gleaner:problem:"

Kind = tuple[HTTPStatus, str]  # status and slug
QuotaOf = Literal["caller", "environment"]

# Problems that the application itself answers with, before or after a handler runs.
VALIDATION_FAILED: Kind = (HTTPStatus.BAD_REQUEST, "validation-failed")
NO_SUCH_PATH: Kind = (HTTPStatus.NOT_FOUND, "not-found")
METHOD_NOT_ALLOWED: Kind = (HTTPStatus.METHOD_NOT_ALLOWED, "method-not-allowed")
UNSUPPORTED_MEDIA_TYPE: Kind = (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type")
PAYLOAD_TOO_LARGE: Kind = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "payload-too-large")
INTERNAL: Kind = (HTTPStatus.INTERNAL_SERVER_ERROR, "internal")

# Problems that API Gateway answers with when a request does not reach the function or the function fails. It also
# answers `payload-too-large`, `unsupported-media-type`, `validation-failed` and `not-found`, as the function does.
OF_GATEWAY: tuple[Kind, ...] = (
    (HTTPStatus.BAD_REQUEST, "request-refused"),
    (HTTPStatus.UNAUTHORIZED, "unauthorized"),
    (HTTPStatus.FORBIDDEN, "not-allowed"),
    (HTTPStatus.TOO_MANY_REQUESTS, "throttled"),
    (HTTPStatus.TOO_MANY_REQUESTS, "quota-exceeded"),
    (HTTPStatus.INTERNAL_SERVER_ERROR, "gateway-failed"),
    (HTTPStatus.BAD_GATEWAY, "function-failed"),
    (HTTPStatus.GATEWAY_TIMEOUT, "deadline-exceeded"),
)

# The problem for each error of the package. The most derived class in the table applies.
TABLE: dict[type[errors.GleanerError], Kind] = {
    errors.InvalidInput: VALIDATION_FAILED,
    errors.PayloadTooLarge: PAYLOAD_TOO_LARGE,
    errors.InvalidCursor: (HTTPStatus.BAD_REQUEST, "invalid-cursor"),
    errors.UnknownSession: (HTTPStatus.NOT_FOUND, "unknown-session"),
    errors.UnknownSelection: (HTTPStatus.NOT_FOUND, "unknown-selection"),
    errors.UnknownQuery: (HTTPStatus.NOT_FOUND, "unknown-query"),
    errors.UnknownKeyword: (HTTPStatus.NOT_FOUND, "unknown-keyword"),
    errors.UnknownAnswer: (HTTPStatus.NOT_FOUND, "unknown-answer"),
    errors.UnknownPassage: (HTTPStatus.NOT_FOUND, "unknown-passage"),
    errors.UnknownPageFile: NO_SUCH_PATH,
    errors.UnknownDocument: (HTTPStatus.NOT_FOUND, "unknown-document"),
    errors.UploadsUnavailable: (HTTPStatus.NOT_FOUND, "uploads-unavailable"),
    errors.UnknownModel: (HTTPStatus.NOT_FOUND, "unknown-model"),
    errors.UnknownRun: (HTTPStatus.NOT_FOUND, "unknown-run"),
    errors.UnknownKnowledgeBase: (HTTPStatus.NOT_FOUND, "unknown-knowledge-base"),
    errors.IdempotencyKeyReused: (HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused"),
    errors.RequestInProgress: (HTTPStatus.CONFLICT, "request-in-progress"),
    errors.NotAllowed: (HTTPStatus.FORBIDDEN, "not-allowed"),
    errors.MandatoryToolMissing: (HTTPStatus.BAD_GATEWAY, "mandatory-tool-missing"),
    errors.AnswerRejected: (HTTPStatus.BAD_GATEWAY, "answer-rejected"),
    errors.AnswerRefused: (HTTPStatus.UNPROCESSABLE_ENTITY, "answer-refused"),
    errors.QuotaExceeded: (HTTPStatus.TOO_MANY_REQUESTS, "quota-exceeded"),
    errors.DeadlineExceeded: (HTTPStatus.GATEWAY_TIMEOUT, "deadline-exceeded"),
    errors.ModelUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "model-unavailable"),
    errors.KnowledgeBaseUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "knowledge-base-unavailable"),
    errors.StoreUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "store-unavailable"),
    errors.ObjectStoreUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "object-store-unavailable"),
    errors.ApiKeysUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "api-keys-unavailable"),
    errors.ContextTooLong: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "context-too-long"),
}

# Seconds after which to send a request again, for problems that pass by themselves soon.
_RETRY_AFTER: dict[type[errors.GleanerError], int] = {errors.RequestInProgress: 5}


class InvalidField(BaseModel):
    """An invalid field and what is wrong with it."""

    field: str
    message: str


class Problem(BaseModel):
    """Problem details (RFC 9457). Programs should check `type`, which is stable."""

    type: str
    title: str
    status: int
    detail: str
    query_id: str
    errors: list[InvalidField] = Field(default=[], description="Only for the type validation-failed.")
    quota: QuotaOf | None = Field(
        default=None, description="Only for the type quota-exceeded: whose is used up, or absent if it is an API key's."
    )


def problem(
    kind: Kind,
    detail: str,
    *,
    query_id: str,
    invalid: Sequence[InvalidField] = (),
    headers: dict[str, str] | None = None,
    quota: QuotaOf | None = None,
) -> Response[str]:
    """A problem response; `invalid` lists the invalid fields, `quota` says whose is used up.

    `detail` and `invalid` may repeat parts of the request, and clients log problems, so both are redacted.
    """
    status, slug = kind
    body = Problem(
        type=TYPE_PREFIX + slug,
        title=slug.replace("-", " ").capitalize(),
        status=status.value,
        detail=redact(detail),
        query_id=query_id,
        errors=[InvalidField(field=redact(item.field), message=redact(item.message)) for item in invalid],
        quota=quota,
    )
    return Response(
        status_code=status.value,
        content_type=CONTENT_TYPE,
        body=body.model_dump_json(exclude_defaults=True),
        headers=dict(headers or {}),
    )


def from_error(error: errors.GleanerError, *, query_id: str) -> Response[str]:
    """The problem response for an error that the package raised on purpose."""
    error_type = _find_type(error)
    if error_type is None:
        return internal(error, query_id=query_id)
    log(error)
    seconds = _RETRY_AFTER.get(error_type)
    quota: QuotaOf | None = None
    if isinstance(error, errors.QuotaExceeded):
        seconds, quota = error.retry_after, "caller" if error.of_caller else "environment"
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    return problem(TABLE[error_type], str(error), query_id=query_id, headers=headers, quota=quota)


def log(error: errors.GleanerError) -> None:
    """Log an error that the package raised on purpose."""
    error_type = _find_type(error)
    slug = None if error_type is None else TABLE[error_type][1]
    logger.warning("query failed", extra={"problem": slug, "reason": str(error)})


def _find_type(error: errors.GleanerError) -> type[errors.GleanerError] | None:
    """The most derived class of an error that the table knows."""
    return next((error_type for error_type in type(error).__mro__ if error_type in TABLE), None)


def internal(error: Exception, *, query_id: str) -> Response[str]:
    """The problem response for an unexpected error; the traceback is logged but not sent."""
    logger.exception("unexpected error", exc_info=error)
    detail = "The service failed unexpectedly. Report the query_id."
    return problem(INTERNAL, detail, query_id=query_id)
