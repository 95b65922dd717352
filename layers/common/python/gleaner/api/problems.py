"""Errors as HTTP answers: RFC 9457 problem details with stable types."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response

from gleaner import errors

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:gleaner:problem:"

# Error class -> status, slug. The most derived class that is listed decides.
TABLE: dict[type[errors.GleanerError], tuple[HTTPStatus, str]] = {
    errors.InvalidInput: (HTTPStatus.BAD_REQUEST, "invalid-request"),
    errors.InvalidCursor: (HTTPStatus.BAD_REQUEST, "invalid-cursor"),
    errors.UnknownSession: (HTTPStatus.NOT_FOUND, "unknown-session"),
    errors.UnknownQuery: (HTTPStatus.NOT_FOUND, "unknown-query"),
    errors.UnknownKeyword: (HTTPStatus.NOT_FOUND, "unknown-keyword"),
    errors.UnknownKnowledgeBase: (HTTPStatus.NOT_FOUND, "unknown-knowledge-base"),
    errors.IdempotencyKeyReused: (HTTPStatus.UNPROCESSABLE_ENTITY, "idempotency-key-reused"),
    errors.RequestInProgress: (HTTPStatus.CONFLICT, "request-in-progress"),
    errors.NotAllowed: (HTTPStatus.FORBIDDEN, "not-allowed"),
    errors.MandatoryToolMissing: (HTTPStatus.BAD_GATEWAY, "mandatory-tool-missing"),
    errors.AnswerRejected: (HTTPStatus.BAD_GATEWAY, "answer-rejected"),
    errors.DeadlineExceeded: (HTTPStatus.GATEWAY_TIMEOUT, "deadline-exceeded"),
    errors.ModelUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "model-unavailable"),
    errors.KnowledgeBaseUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "knowledge-base-unavailable"),
    errors.StoreUnavailable: (HTTPStatus.SERVICE_UNAVAILABLE, "store-unavailable"),
    errors.ContextTooLong: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "context-too-long"),
}


def problem(
    status: HTTPStatus,
    slug: str,
    detail: str,
    *,
    query_id: str,
    invalid: Sequence[dict[str, str]] = (),
    headers: dict[str, str] | None = None,
) -> Response[str]:
    """A problem answer; `invalid` lists fields and what is wrong with each."""
    body: dict[str, Any] = {
        "type": f"{TYPE_PREFIX}{slug}",
        "title": slug.replace("-", " ").capitalize(),
        "status": status.value,
        "detail": detail,
        "query_id": query_id,
    }
    if invalid:
        body["errors"] = list(invalid)
    return Response(
        status_code=status.value,
        content_type=CONTENT_TYPE,
        body=json.dumps(body),
        headers=dict(headers or {}),
    )


def from_error(error: errors.GleanerError, *, query_id: str) -> Response[str]:
    """The problem answer of an error that the package raised on purpose."""
    for known in type(error).__mro__:
        if known in TABLE:
            status, slug = TABLE[known]
            logger.warning("query failed", extra={"problem": slug, "reason": str(error)})
            return problem(status, slug, str(error), query_id=query_id)
    return internal(error, query_id=query_id)


def internal(error: Exception, *, query_id: str) -> Response[str]:
    """The answer to an error that nobody foresaw: logged with its trace, told without it."""
    logger.exception("unforeseen error", exc_info=error)
    detail = "The service failed in a way that it did not foresee. Report the query_id."
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail, query_id=query_id)
