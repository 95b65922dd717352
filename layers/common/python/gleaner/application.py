"""Builds the HTTP application: each area of the API is loaded at the first request for it."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from gleaner.api.routes import Area, Endpoint, Route
from gleaner.stores.dynamodb import Table
from gleaner.wiring import (
    Answering,
    Stores,
    build_stores,
    connect_answer_index,
    connect_knowledge_base,
    connect_object_store,
    pruner_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from aws_lambda_powertools import Logger, Metrics, Tracer

    from gleaner.api.app import Api
    from gleaner.api.chat import ChatRoutes
    from gleaner.api.idempotency import IdempotentRunner
    from gleaner.api.keywords import KeywordRoutes
    from gleaner.api.passages import PassageRoutes
    from gleaner.api.request import Current
    from gleaner.knowledge.known_documents import KnownDocuments
    from gleaner.knowledge.library import Library
    from gleaner.runtime.authorization import Authorization
    from gleaner.runtime.settings import Settings
    from gleaner.stores.documents import DocumentStore
    from gleaner.stores.doubts import DoubtStore
    from gleaner.stores.keyword_catalog import KeywordCatalog

_ANSWER_GRACE_DAYS = 7.0  # how long web answers without keywords survive a pruning run of an admin


def build_api(settings: Settings, *, logger: Logger, tracer: Tracer, metrics: Metrics) -> Api:
    """The HTTP application; sends nothing yet."""
    from gleaner.api.access import Access
    from gleaner.api.app import Api
    from gleaner.stores.access import AccessStore

    stores = build_stores(settings)
    access = Access(
        AccessStore(Table(stores.client, settings.access_table)),
        unlisted_may_use_all=settings.unlisted_may_use_all,
        unlisted_may_edit=settings.unlisted_may_edit,
    )
    answering = Answering(settings, stores, tracer)

    def make_areas(current: Current) -> Sequence[Area]:
        return _Areas(settings, stores, answering, metrics, current).list()

    return Api(make_areas, settings=settings, access=access, logger=logger, metrics=metrics, prepare=answering.prepare)


class _Areas:
    """The areas of the API. Imports stand in the methods, so that an area loads only what it needs."""

    def __init__(
        self, settings: Settings, stores: Stores, answering: Answering, metrics: Metrics, current: Current
    ) -> None:
        self._settings = settings
        self._stores = stores
        self._answering = answering
        self._metrics = metrics
        self._current = current
        self._keywords_table = Table(stores.client, settings.keywords_table)
        self._documents_table = Table(stores.client, settings.documents.table)

    def list(self) -> Sequence[Area]:
        """All areas."""
        e = Endpoint
        sessions = (e.CREATE_SESSION, e.LIST_SESSIONS, e.SHOW_SESSION, e.DELETE_SESSION)
        messages = (e.ASK_IN_SESSION, e.ASK_IN_SESSION_STREAMED, e.LIST_MESSAGES, e.SHOW_SELECTED_TEXT)
        tool_calls = (e.LIST_TOOL_CALLS_OF_QUERY, e.LIST_TOOL_CALLS_OF_SESSION, e.LIST_TOOL_CALLS)
        pruning = (e.PRUNE_KEYWORDS, e.RESTORE_KEYWORDS, e.PRUNE_KEYWORD, e.SHOW_PRUNE_RUN)
        return (
            Area((e.ASK, e.ASK_STREAMED), self._load_chat),
            Area(sessions, self._load_sessions),
            Area(messages, self._load_messages),
            Area(tool_calls, self._load_tool_calls),
            Area((e.RATE_ANSWER, e.SHOW_RATING), self._load_feedback),
            Area((e.LIST_KEYWORDS, e.SHOW_KEYWORD), self._load_keywords),
            Area(pruning, self._load_pruning),
            Area((e.FORGET_ANSWER,), self._load_forgetting),
            Area((e.LIST_DOUBTFUL, e.CLEAR_DOUBTS), self._load_doubts),
            Area((e.ERASE_CALLER,), self._load_callers),
            Area((e.SHOW_USAGE,), self._load_usage, is_prepared=False),
            Area((e.SHOW_PASSAGE,), self._load_passages),
            Area((e.LIST_DOCUMENTS, e.SHOW_DOCUMENT), self._load_documents),
            Area((e.UPLOAD_DOCUMENT, e.DELETE_DOCUMENT), self._load_uploads, is_prepared=False),
            Area((e.CREATE_COMPLETION,), self._load_completions, is_prepared=False),
            Area((e.LIST_MODELS, e.SHOW_MODEL), self._load_models, is_prepared=False),
            Area((e.MCP,), self._load_mcp, is_prepared=False),
            Area((e.HEALTH,), _load_health),
            *([Area((e.PAGE, e.PAGE_FILE), self._load_page)] if self._settings.chat_page else []),
            *self._authorization_areas(),
        )

    def _authorization_areas(self) -> Sequence[Area]:
        authorization, e = self._settings.authorization, Endpoint
        if authorization is None:
            return ()
        resource = (e.PROTECTED_RESOURCE, e.PROTECTED_RESOURCE_OF_MCP)
        server = (e.AUTHORIZATION_SERVER, e.OPENID_CONFIGURATION)
        return (Area((*resource, *server), partial(_load_authorization, authorization), is_prepared=False),)

    @cached_property
    def _idempotent(self) -> IdempotentRunner:
        from gleaner.api.idempotency import IdempotentRunner

        return IdempotentRunner(self._stores.client, self._settings.idempotency_table)

    @cached_property
    def _chat(self) -> ChatRoutes:
        from gleaner.api.chat import ChatRoutes

        return ChatRoutes(
            self._answering,
            self._stores.conversations,
            self._idempotent,
            self._current,
            metrics=self._metrics,
            default_kb_id=self._settings.default_kb_id,
        )

    @cached_property
    def _catalog(self) -> KeywordCatalog:
        from gleaner.stores.keyword_catalog import KeywordCatalog

        return KeywordCatalog(self._keywords_table, self._stores.io_executor)

    @cached_property
    def _doubts(self) -> DoubtStore:
        from gleaner.stores.doubts import DoubtStore

        return DoubtStore(self._keywords_table)

    @cached_property
    def _library(self) -> Library:
        from gleaner.knowledge.library import Library

        return Library(partial(connect_knowledge_base, self._settings))

    @cached_property
    def _documents(self) -> DocumentStore:
        from gleaner.stores.documents import DocumentStore

        return DocumentStore(self._documents_table)

    @cached_property
    def _known_documents(self) -> KnownDocuments:
        from gleaner.knowledge.known_documents import KnownDocuments

        return KnownDocuments(self._library, self._documents)

    @cached_property
    def _keywords(self) -> KeywordRoutes:
        from gleaner.api.keywords import KeywordRoutes

        return KeywordRoutes(
            self._catalog,
            self._stores.lookup,
            self._current,
            default_kb_id=self._settings.default_kb_id,
            learning_policy=self._settings.learning_policy,
        )

    @cached_property
    def _passages(self) -> PassageRoutes:
        from gleaner.api.passages import PassageRoutes
        from gleaner.knowledge.learned_passages import LearnedPassages
        from gleaner.stores.keywords import KeywordStore

        settings = self._settings
        keywords = KeywordStore(self._keywords_table, self._stores.keyword_layout)
        learned = LearnedPassages(keywords, self._catalog, settings.learning_policy, settings.web_blocked_hosts)
        return PassageRoutes(self._library, learned, self._current)

    def _load_chat(self) -> Sequence[Route]:
        return self._chat.routes()

    def _load_sessions(self) -> Sequence[Route]:
        from gleaner.api.sessions import SessionRoutes

        return SessionRoutes(self._stores.conversations, self._stores.session_deletion, self._current).routes()

    def _load_messages(self) -> Sequence[Route]:
        from gleaner.api.messages import MessageRoutes

        chat, conversations = self._chat, self._stores.conversations
        return MessageRoutes(
            conversations,
            chat.answer,
            self._idempotent,
            self._current,
            default_kb_id=self._settings.default_kb_id,
        ).routes()

    def _load_tool_calls(self) -> Sequence[Route]:
        from gleaner.api.tool_calls import ToolCallRoutes

        return ToolCallRoutes(self._stores.tool_calls, self._stores.conversations, self._current).routes()

    def _load_feedback(self) -> Sequence[Route]:
        from gleaner.api.feedback import FeedbackRoutes
        from gleaner.stores.feedback import FeedbackStore

        feedback = FeedbackStore(Table(self._stores.client, self._settings.tool_calls_table))
        return FeedbackRoutes(feedback, self._doubts, self._current, self._metrics).routes()

    def _load_keywords(self) -> Sequence[Route]:
        return self._keywords.routes()

    def _load_pruning(self) -> Sequence[Route]:
        from gleaner.api.pruning import PruneRoutes

        connect_index = partial(connect_answer_index, self._settings)
        table = self._settings.keywords_table
        return PruneRoutes(
            pruner_of(self._stores.client, table, _ANSWER_GRACE_DAYS, connect_index), self._current
        ).routes()

    def _load_forgetting(self) -> Sequence[Route]:
        from gleaner.api.forgetting import ForgetRoutes
        from gleaner.stores.answer_forgetting import AnswerForgetting

        forgetting = AnswerForgetting(self._keywords_table)
        return ForgetRoutes(forgetting, self._stores.delete_records, self._current).routes()

    def _load_doubts(self) -> Sequence[Route]:
        from gleaner.api.doubts import DoubtRoutes

        return DoubtRoutes(self._doubts, self._current).routes()

    def _load_callers(self) -> Sequence[Route]:
        from gleaner.api.callers import CallerRoutes
        from gleaner.stores.caller_erasure import CallerErasure

        stores = self._stores
        conversations = Table(stores.client, self._settings.conversations_table)
        erasure = CallerErasure(
            conversations,
            stores.tool_calls,
            stores.session_deletion,
            stores.learned_deletion,
            self._doubts,
            stores.usage,
            self._documents,
        )
        return CallerRoutes(erasure, self._current).routes()

    def _load_usage(self) -> Sequence[Route]:
        from gleaner.api.usage import UsageRoutes

        settings = self._settings
        prices = settings.prices
        return UsageRoutes(self._stores.usage, settings.quota, self._current, counts_money=prices.count_money).routes()

    def _load_passages(self) -> Sequence[Route]:
        return self._passages.routes()

    def _load_documents(self) -> Sequence[Route]:
        from gleaner.api.documents import DocumentRoutes

        return DocumentRoutes(
            self._known_documents,
            self._current,
            default_kb_id=self._settings.default_kb_id,
            takes_uploads=bool(self._settings.documents.bucket),
        ).routes()

    def _load_uploads(self) -> Sequence[Route]:
        from gleaner.api.uploads import UploadRoutes
        from gleaner.knowledge.document_removal import DocumentRemoval
        from gleaner.stores.document_leases import DocumentLeases

        settings, leases = self._settings, DocumentLeases(self._documents_table)
        connect_index = partial(connect_knowledge_base, settings)
        return UploadRoutes(
            settings.documents,
            partial(connect_object_store, settings),
            self._known_documents,
            self._documents,
            DocumentRemoval(self._known_documents, self._documents, leases, connect_index),
            self._current,
            default_kb_id=settings.default_kb_id,
        ).routes()

    def _load_completions(self) -> Sequence[Route]:
        from gleaner.api.completions import CompletionRoutes

        return CompletionRoutes(
            self._chat,
            self._answering.complete_plainly,
            self._stores.conversations,
            self._idempotent,
            self._current,
            default_kb_id=self._settings.default_kb_id,
        ).routes()

    def _load_models(self) -> Sequence[Route]:
        from gleaner.api.models import ModelRoutes

        return ModelRoutes(self._library, self._current, default_kb_id=self._settings.default_kb_id).routes()

    def _load_mcp(self) -> Sequence[Route]:
        from gleaner.api.mcp import McpRoutes
        from gleaner.api.mcp_knowledge_bases import KnowledgeBaseChoice
        from gleaner.api.mcp_questions import QuestionTools
        from gleaner.api.mcp_reading import ReadingTools
        from gleaner.api.protocols.mcp.server import Server

        choice = KnowledgeBaseChoice(self._current, default_kb_id=self._settings.default_kb_id)
        reading = ReadingTools(self._answering.search, self._passages, self._library, choice, self._current)
        questions = QuestionTools(self._chat, self._keywords, choice, self._current)
        server = Server([*reading.tools(), *questions.tools()])
        return McpRoutes(server, choice, self._current, origins=self._settings.cors_origins).routes()

    def _load_page(self) -> Sequence[Route]:
        from gleaner.api.page import PageRoutes

        return PageRoutes(self._current, self._settings.sign_in, self._settings.documents).routes()


def _load_authorization(authorization: Authorization) -> Sequence[Route]:
    from gleaner.api.authorization import AuthorizationRoutes

    return AuthorizationRoutes(authorization).routes()


def _load_health() -> Sequence[Route]:
    from gleaner.api import health

    return health.ROUTES
