"""The error tree.

GleanerError
├── InvalidInput              the caller can mend it (4xx)
│   ├── PayloadTooLarge       the body is longer than any that is valid
│   ├── InvalidCursor         a cursor that this service did not give, or not for this list
│   ├── NotFound              it does not exist, or belongs to somebody else
│   │   ├── UnknownSession
│   │   ├── UnknownSelection
│   │   ├── UnknownQuery
│   │   ├── UnknownKeyword
│   │   └── UnknownRun
│   ├── UnknownKnowledgeBase  the knowledge base named does not exist
│   ├── IdempotencyKeyReused  the key was used with another body
│   ├── RequestInProgress     the first request with this idempotency key is still running
│   └── NotAllowed            the caller lacks the right for this
├── AnswerFailed              the model did not do its part after the retry (502)
│   ├── MandatoryToolMissing  a mandatory tool was never called
│   └── AnswerRejected        the answer's arguments stayed invalid
├── DeadlineExceeded          no time is left (504)
├── ServiceUnavailable        a remote service failed (503); `service` names it
│   ├── ModelUnavailable      the language model
│   ├── KnowledgeBaseUnavailable
│   ├── WebSearchUnavailable
│   ├── StoreUnavailable      DynamoDB
│   └── ApiKeysUnavailable    the secret with the API keys
├── ContextTooLong            the model refused the length of the conversation
├── ToolCallRejected          a tool call that is answered in band: what is wrong and how to mend it
└── ConfigurationError        a setting is missing or malformed; raised at start

Messages are for people: they say what is wrong and how to mend it, and never hold a key, a prompt or the
text of a remote service's answer.
"""

from __future__ import annotations


class GleanerError(Exception):
    """Root of all errors this package raises on purpose."""


class InvalidInput(GleanerError):
    """The caller sent something that cannot be served; the message says how to mend it."""


class PayloadTooLarge(InvalidInput):
    """The body is longer than any that is valid."""


class NotFound(InvalidInput):
    """The thing named does not exist, or belongs to somebody else (the two are indistinguishable)."""


class InvalidCursor(InvalidInput):
    """The cursor was not given by this service for this list."""


class UnknownSession(NotFound):
    """The session does not exist, or belongs to somebody else."""


class UnknownSelection(NotFound):
    """The session has no such message, or it is of no question about a selected text."""


class UnknownQuery(NotFound):
    """The query does not exist, or belongs to somebody else."""


class UnknownKeyword(NotFound):
    """The keyword does not exist."""


class UnknownRun(NotFound):
    """The pruning run does not exist."""


class UnknownKnowledgeBase(InvalidInput):
    """The knowledge base named does not exist."""


class IdempotencyKeyReused(InvalidInput):
    """The idempotency key was used with another body."""


class RequestInProgress(InvalidInput):
    """The first request with this idempotency key is still running."""


class NotAllowed(InvalidInput):
    """The caller is known but lacks the right for this."""


class AnswerFailed(GleanerError):
    """The model did not do its part, also after feedback and one retry."""


class MandatoryToolMissing(AnswerFailed):
    """A mandatory tool was never called."""


class AnswerRejected(AnswerFailed):
    """The arguments of the answer stayed invalid."""


class DeadlineExceeded(GleanerError):
    """The time for this query is used up."""


class ServiceUnavailable(GleanerError):
    """A remote service failed or could not be reached."""

    service = "a remote service"


class ModelUnavailable(ServiceUnavailable):
    """The language model failed or could not be reached."""

    service = "language model"


class KnowledgeBaseUnavailable(ServiceUnavailable):
    """The vector index failed or could not be reached."""

    service = "knowledge base"


class WebSearchUnavailable(ServiceUnavailable):
    """The web search failed, could not be reached or gave no usable result."""

    service = "web search"


class StoreUnavailable(ServiceUnavailable):
    """DynamoDB failed, throttled beyond the deadline or could not be reached."""

    service = "store"


class ApiKeysUnavailable(ServiceUnavailable):
    """The secret with the API keys could not be read, or holds no keys yet."""

    service = "secret of the API keys"


class ContextTooLong(GleanerError):
    """The model refused the conversation because of its length."""


class ToolCallRejected(GleanerError):
    """A tool call that was not executed; the message is feedback for the model, `code` its stable reason."""

    def __init__(self, message: str, *, code: str = "rejected") -> None:
        super().__init__(message)
        self.code = code


class ConfigurationError(GleanerError):
    """A setting is missing or malformed."""
