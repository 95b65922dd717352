"""Every route of the API, and how a handler is bound to one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from http import HTTPStatus
from typing import Any

from aws_lambda_powertools.event_handler import Response

from gleaner.errors import GleanerError
from gleaner.runtime.response_stream import STREAMED

STREAM_TYPE = "text/event-stream"  # of the responses of routes that stream
_OPENAI_PREFIX = "/v1/"  # of the paths of OpenAI's API
_OPENAI_PATHS = ("/chat/completions", "/models")


def is_of_openai(path: str) -> bool:
    """Whether the clients of a path expect OpenAI's form of errors, also where their base URL lacks the /v1."""
    return f"{path}/".startswith(_OPENAI_PREFIX) or path.endswith(_OPENAI_PATHS)


class Endpoint(Enum):
    """Every route: method, path with parameters in angle brackets, and summary. Each area of the API binds its own."""

    ASK = "POST", "/api/chat/query", "Ask a question"
    ASK_STREAMED = "POST", "/api/chat/stream", "Ask a question and follow its answer"
    CREATE_SESSION = "POST", "/api/sessions", "Create a session"
    LIST_SESSIONS = "GET", "/api/sessions", "List your sessions"
    SHOW_SESSION = "GET", "/api/sessions/<session_id>", "Show a session"
    DELETE_SESSION = "DELETE", "/api/sessions/<session_id>", "Delete a session"
    ASK_IN_SESSION = "POST", "/api/sessions/<session_id>/chat", "Ask a question in a session"
    ASK_IN_SESSION_STREAMED = (
        "POST",
        "/api/sessions/<session_id>/chat/stream",
        "Ask a question in a session and follow its answer",
    )
    LIST_MESSAGES = "GET", "/api/sessions/<session_id>/messages", "List a session's messages"
    SHOW_SELECTED_TEXT = "GET", "/api/sessions/<session_id>/messages/<message_id>/selected-text", "Show a selected text"
    LIST_TOOL_CALLS_OF_QUERY = "GET", "/api/queries/<query_id>/tool-calls", "List the tool calls of a query"
    LIST_TOOL_CALLS_OF_SESSION = "GET", "/api/sessions/<session_id>/tool-calls", "List the tool calls of a session"
    LIST_TOOL_CALLS = "GET", "/api/tool-calls", "List tool calls by tool or status (admins)"
    RATE_ANSWER = "POST", "/api/queries/<query_id>/feedback", "Rate the answer to a query"
    SHOW_RATING = "GET", "/api/queries/<query_id>/feedback", "Show your feedback on a query"
    LIST_KEYWORDS = "GET", "/api/keywords", "List or look up keywords"
    SHOW_KEYWORD = "GET", "/api/keywords/<keyword_id>", "Show a keyword"
    PRUNE_KEYWORD = "DELETE", "/api/keywords/<keyword_id>", "Prune one keyword (admins)"
    PRUNE_KEYWORDS = "POST", "/api/keywords/prune", "Prune by usage and age (admins)"
    RESTORE_KEYWORDS = "POST", "/api/keywords/restore", "Restore keywords (admins)"
    FORGET_ANSWER = "DELETE", "/api/keywords/answers/<answer_id>", "Forget a stored web answer (admins)"
    LIST_DOUBTFUL = "GET", "/api/keywords/answers", "List stored web answers that were rated poor (admins)"
    CLEAR_DOUBTS = "DELETE", "/api/keywords/answers/<answer_id>/doubts", "Hand a doubtful answer out again (admins)"
    SHOW_PRUNE_RUN = "GET", "/api/keywords/runs/<run_id>", "Show a pruning run (admins)"
    ERASE_CALLER = "DELETE", "/api/callers/<caller_id>", "Erase all that a caller left (admins)"
    SHOW_USAGE = "GET", "/api/usage", "Show what you used today"
    SHOW_PASSAGE = "GET", "/api/passages/<passage_id>", "Show a passage that an answer cites"
    LIST_DOCUMENTS = "GET", "/api/documents", "List the documents of a knowledge base"
    SHOW_DOCUMENT = "GET", "/api/documents/<document_id>", "Show a document and its passages"
    UPLOAD_DOCUMENT = "POST", "/api/documents", "Get a form that uploads a document (editors)"
    DELETE_DOCUMENT = "DELETE", "/api/documents/<document_id>", "Remove a document (editors)"
    CREATE_COMPLETION = "POST", "/v1/chat/completions", "Ask a question as OpenAI's clients do"
    LIST_MODELS = "GET", "/v1/models", "List the models: your knowledge bases"
    SHOW_MODEL = "GET", "/v1/models/<model>", "Show a model"
    MCP = "POST", "/mcp", "Serve a message of the Model Context Protocol"
    PAGE = "GET", "/", "Show the page on which people ask"
    PAGE_FILE = "GET", "/page/<name>", "Send a file of the page"
    PROTECTED_RESOURCE = "GET", "/.well-known/oauth-protected-resource", "Say where tokens for the MCP server come from"
    PROTECTED_RESOURCE_OF_MCP = (
        "GET",
        "/.well-known/oauth-protected-resource/mcp",
        "Say where tokens for the MCP server come from, at the address that its own path gives",
    )
    AUTHORIZATION_SERVER = "GET", "/.well-known/oauth-authorization-server", "Describe how users sign in"
    OPENID_CONFIGURATION = (
        "GET",
        "/.well-known/openid-configuration",
        "Describe how users sign in, to clients of OpenID Connect",
    )
    HEALTH = "GET", "/api/health", "Check that the service is up"
    OPENAPI = "GET", "/openapi.json", "Describe the API to programs"
    SWAGGER = "GET", "/swagger", "Describe the API to people"

    def __init__(self, method: str, path: str, summary: str) -> None:
        self.method = method
        self.path = path
        self.summary = summary
        self.template = re.sub(r"<(\w+)>", r"{\1}", path)  # as API Gateway and OpenAPI write it
        self.streams = (method, self.template) in STREAMED


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint and its handler, whose annotations declare parameters, body and response.

    The OpenAPI document is generated from this. It adds the errors that any handler may return: for an invalid
    parameter, an unsupported content type, an unexpected exception.
    """

    endpoint: Endpoint
    handler: Callable[..., Response[Any]]
    _: KW_ONLY
    raises: tuple[type[GleanerError], ...] = ()
    status: HTTPStatus = HTTPStatus.OK
    unfinished: HTTPStatus | None = None  # the status of the same response when time ran out
    # Schemas by content type, for a success response that is not the JSON of the handler's annotation.
    content: Mapping[str, Any] | None = None
    # The schema of a JSON body that the handler reads itself, and the schemas of its JSON responses by their statuses:
    # None is a response without a body. Problem documents with the same status are added to them.
    body: Mapping[str, Any] | None = None
    responses: Mapping[HTTPStatus, Mapping[str, Any] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Area:
    """Routes that belong together. Their modules are loaded at the first request for one of them.

    An environment serves few areas in its life, and each costs a cold start several milliseconds. `is_prepared`: they
    are loaded before a snapshot, too. A door that most services never open is not: it would make each snapshot larger.
    """

    endpoints: tuple[Endpoint, ...]
    load: Callable[[], Sequence[Route]]
    _: KW_ONLY
    is_prepared: bool = True
