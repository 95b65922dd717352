"""Says what a failure of Pinecone's SDK means: refused for now, refused by the plan, or broken."""

from __future__ import annotations

import re

from pinecone import ApiError, NotFoundError, PineconeConnectionError, PineconeError, PineconeTimeoutError

from gleaner.clients._retry_after import parse_retry_after
from gleaner.errors import (
    KnowledgeBaseBusy,
    KnowledgeBaseFull,
    KnowledgeBaseQuotaUsed,
    KnowledgeBaseTimedOut,
    KnowledgeBaseUnavailable,
)

TIMED_OUT = "The knowledge base did not answer in time."
_UNAUTHORIZED, _FORBIDDEN, _TOO_MANY = 401, 403, 429
# docs.pinecone.io/reference/api/database-limits: a monthly allowance and a rate have the status 429 in common, and only
# the message tells them apart ("You've reached your write unit limit for the current month (2000000)."). What an index
# may hold is a 403 ("You've reached the max storage allowed for project ..."), as is a key without permission.
_MONTHLY = re.compile("for the current month", re.IGNORECASE)  # the name of a namespace may have "monthly" in it
_FULL = re.compile(r"reached the max|QUOTA_EXCEEDED|exceeds the .{0,40}quota", re.IGNORECASE)
_ALLOWANCES = {"embedding token": "embedding tokens", "read unit": "read units", "write unit": "write units"}


def status_of(error: PineconeError) -> int | None:
    """The HTTP status of an answer; None without an answer."""
    return error.status_code if isinstance(error, ApiError) else None


def is_about_namespace(error: PineconeError) -> bool:
    """Whether a 404 is about the namespace: a mistyped host sends 404, too, but is not an empty index."""
    return isinstance(error, NotFoundError) and "namespace" in error.message.lower()


def translate(error: PineconeError) -> KnowledgeBaseUnavailable:
    """The error to raise; its message does not have the service's own text, which may quote the request."""
    if isinstance(error, PineconeTimeoutError):
        return KnowledgeBaseTimedOut(TIMED_OUT)
    if isinstance(error, ApiError):
        return _translate_answer(error)
    if isinstance(error, PineconeConnectionError):
        return KnowledgeBaseUnavailable("The knowledge base could not be reached.")
    return KnowledgeBaseUnavailable(f"The request to the knowledge base failed ({type(error).__name__}).")


def _translate_answer(error: ApiError) -> KnowledgeBaseUnavailable:
    status = error.status_code
    if status == _TOO_MANY and _MONTHLY.search(error.message):
        return KnowledgeBaseQuotaUsed(
            f"The knowledge base's allowance of {_find_allowance(error.message)} for this month is used up "
            "(HTTP 429). Upgrade the Pinecone plan, or wait for the next month."
        )
    if status == _TOO_MANY:
        return KnowledgeBaseBusy(
            "The knowledge base takes no more requests for now (HTTP 429).",
            retry_after=parse_retry_after(error.headers or {}),  # the SDK reads no dates, and takes "inf" for a number
        )
    if status == _FORBIDDEN and (error.error_code == "QUOTA_EXCEEDED" or _FULL.search(error.message)):
        return KnowledgeBaseFull(
            "The knowledge base is full: the Pinecone plan allows no more storage or namespaces (HTTP 403)."
        )
    if status in (_UNAUTHORIZED, _FORBIDDEN):
        return KnowledgeBaseUnavailable(f"The knowledge base refused the API key (HTTP {status}).")
    return KnowledgeBaseUnavailable(f"The knowledge base answered HTTP {status}.")


def _find_allowance(message: str) -> str:
    """The allowance that a message of Pinecone names."""
    return next((name for sign, name in _ALLOWANCES.items() if sign in message.lower()), "its plan")
