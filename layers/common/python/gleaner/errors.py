"""The error tree.

GleanerError
├── InvalidInput              the caller can fix it (4xx)
│   ├── PayloadTooLarge       the body is longer than any valid one
│   ├── InvalidCursor         this service did not issue the cursor for this list
│   ├── NotFound              it does not exist, or belongs to another caller
│   │   ├── UnknownSession
│   │   ├── UnknownSelection
│   │   ├── UnknownQuery
│   │   ├── UnknownKeyword
│   │   ├── UnknownAnswer     the stored web answer
│   │   ├── UnknownPassage
│   │   ├── UnknownDocument
│   │   ├── UploadsUnavailable    the service takes no documents
│   │   ├── UnknownPageFile   of the page that the service shows in a browser
│   │   ├── UnknownModel      no knowledge base that the caller may use has this name in OpenAI's API
│   │   └── UnknownRun
│   ├── UnknownKnowledgeBase  the knowledge base does not exist
│   ├── IdempotencyKeyReused  the key was used with another body
│   ├── RequestInProgress     the first request with this idempotency key is still running
│   └── NotAllowed            the caller lacks permission
├── AnswerFailed              the model failed, even after a retry (502)
│   ├── MandatoryToolMissing  a mandatory tool was never called
│   └── AnswerRejected        the answer's arguments stayed invalid
├── AnswerRefused             the model or its provider refuses to answer this question (422)
├── QuotaExceeded             what the caller, or the environment, may use on a day is used up (429)
├── DeadlineExceeded          no time is left (504)
├── ServiceUnavailable        a remote service failed (503); `service` names it
│   ├── ModelUnavailable      the language model
│   ├── KnowledgeBaseUnavailable
│   │   ├── KnowledgeBaseTimedOut  it gave no answer in time, and may still do what it was asked
│   │   ├── KnowledgeBaseBusy      it takes no more requests or tokens for now
│   │   └── KnowledgeBaseQuotaUsed an allowance of its plan is used up
│   │       └── KnowledgeBaseFull  it may hold no more until something is removed
│   ├── WebSearchUnavailable
│   ├── StoreUnavailable      DynamoDB
│   ├── ObjectStoreUnavailable    where documents are kept: S3
│   └── ApiKeysUnavailable    the secret with the API keys
├── ContextTooLong            the model refused the length of the conversation
├── LeaseLost                 another one has taken over the document that was to be loaded
├── LoadingPaused             a document is loaded further later, by another function
├── AnswerForgotten           a web answer, or one of its pages, may not be learned for now
├── ToolCallRejected          a tool call that the model should fix; the message says how
└── ConfigurationError        a setting is missing or malformed; raised at start

Messages are for people: they say what is wrong and how to fix it. They never contain a key, a prompt or the text of a
remote service's response.
"""

from __future__ import annotations


class GleanerError(Exception):
    """The base class of all errors that this package raises on purpose."""


class InvalidInput(GleanerError):
    """The request cannot be served; the message says how to fix it."""


class PayloadTooLarge(InvalidInput):
    """The body is longer than any valid one."""


class NotFound(InvalidInput):
    """It does not exist, or belongs to another caller; the two are indistinguishable."""


class InvalidCursor(InvalidInput):
    """This service did not issue the cursor for this list."""


class UnknownSession(NotFound):
    """The session does not exist, or belongs to another caller."""


class UnknownSelection(NotFound):
    """The session has no such message, or it did not ask about a selected text."""


class UnknownQuery(NotFound):
    """The query does not exist, or belongs to another caller."""


class UnknownKeyword(NotFound):
    """The keyword does not exist."""


class UnknownAnswer(NotFound):
    """There is no stored web answer of this id."""


class UnknownPassage(NotFound):
    """No knowledge base of the caller holds this passage any more."""


class UnknownDocument(NotFound):
    """The knowledge base holds no document of this id."""


class UploadsUnavailable(NotFound):
    """The service has no bucket for documents, so it takes none."""


class UnknownPageFile(NotFound):
    """The page has no file of this name."""


class UnknownModel(NotFound):
    """No model of OpenAI's API has this name, or its knowledge base is not the caller's."""


class UnknownRun(NotFound):
    """The pruning run does not exist."""


class UnknownKnowledgeBase(InvalidInput):
    """The knowledge base does not exist."""


class IdempotencyKeyReused(InvalidInput):
    """The idempotency key was used with another body."""


class RequestInProgress(InvalidInput):
    """The first request with this idempotency key is still running."""


class NotAllowed(InvalidInput):
    """The caller is known but lacks permission."""


class AnswerFailed(GleanerError):
    """The model failed to answer, even after feedback and one retry."""


class MandatoryToolMissing(AnswerFailed):
    """The model never called a mandatory tool."""


class AnswerRejected(AnswerFailed):
    """The arguments of the answer stayed invalid."""


class AnswerRefused(GleanerError):
    """The model refuses to answer, or a content filter of its provider stops it. The same question would fail again."""

    def __init__(self) -> None:
        super().__init__(
            "The language model, or its provider's content filter, refuses to answer this question. "
            "Put the question in other words."
        )


class QuotaExceeded(GleanerError):
    """The quota of the day is used up. The same question may be asked again after `retry_after` seconds.

    `of_caller`: it is that of the caller, and not that of all callers together.
    """

    def __init__(self, message: str, *, retry_after: int, of_caller: bool) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.of_caller = of_caller


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


class KnowledgeBaseTimedOut(KnowledgeBaseUnavailable):
    """The vector index gave no answer in time. It may have done what it was asked, or may do so yet."""


class KnowledgeBaseBusy(KnowledgeBaseUnavailable):
    """The vector index takes no more for now; `retry_after` is what it asked to wait, in seconds, if it did."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class KnowledgeBaseQuotaUsed(KnowledgeBaseUnavailable):
    """An allowance of the vector index's plan is used up, and waiting for some minutes does not help."""


class KnowledgeBaseFull(KnowledgeBaseQuotaUsed):
    """The vector index may hold no more, until something is removed from it."""


class WebSearchUnavailable(ServiceUnavailable):
    """The web search failed, could not be reached or gave no usable result."""

    service = "web search"


class StoreUnavailable(ServiceUnavailable):
    """DynamoDB failed, throttled requests beyond the deadline or could not be reached."""

    service = "store"


class ObjectStoreUnavailable(ServiceUnavailable):
    """The object store that holds the documents failed, refused the request or could not be reached."""

    service = "object store"


class ApiKeysUnavailable(ServiceUnavailable):
    """The secret with the API keys could not be read, or holds no keys yet."""

    service = "secret of the API keys"


class LeaseLost(GleanerError):
    """The lease on a document ended, and another holder has taken it over or given it back."""


class LoadingPaused(GleanerError):
    """The loading of a document goes on later, after `seconds`; what was written is kept."""

    def __init__(self, message: str, *, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class ContextTooLong(GleanerError):
    """The model refused the conversation because of its length."""


class AnswerForgotten(GleanerError):
    """A web answer may not be stored: an administrator made the service forget it, or another one from its pages."""


class ToolCallRejected(GleanerError):
    """A tool call was not executed; the message is feedback for the model, `code` a stable reason."""

    def __init__(self, message: str, *, code: str = "rejected") -> None:
        super().__init__(message)
        self.code = code


class ConfigurationError(GleanerError):
    """A setting is missing or malformed."""
