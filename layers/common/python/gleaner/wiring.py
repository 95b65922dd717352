"""Builds the clients once per process. The only module that imports inside functions: what a function
does not need it does not load."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

from gleaner.settings import PruneSettings, Settings

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger, Metrics, Tracer
    from mypy_boto3_dynamodb import DynamoDBClient

    from gleaner.answering import Services
    from gleaner.api.app import Api
    from gleaner.api.request import Current, Route
    from gleaner.clients.perplexity import WebSearch
    from gleaner.clients.secrets import ReadKeys
    from gleaner.pruning import Pruner

_TOOL_THREADS = 8  # calls of one turn
_IO_THREADS = 48  # reads of one keyword look-up and what goes on beside it
_PRUNE_THREADS = 16
_ANSWER_SECONDS = 8.0  # kept back for the answer; of a short deadline a third
_ANSWER_GRACE_DAYS = 7.0  # of web answers that a run by hand leaves without keywords


def build_services(settings: Settings, client: DynamoDBClient) -> Services:
    """Everything that the API needs, connected as `settings` say; sends nothing yet."""
    from gleaner.answering import Services
    from gleaner.clients import openai_chat, pinecone
    from gleaner.learning import Learning
    from gleaner.retrieval import Retrieval
    from gleaner.steps import LoopLimits
    from gleaner.stores.conversations import ConversationStore
    from gleaner.stores.dynamodb import Table
    from gleaner.stores.keyword_catalog import KeywordCatalog
    from gleaner.stores.keyword_lookup import KeywordLookup
    from gleaner.stores.keywords import KeywordStore
    from gleaner.stores.tool_calls import ToolCallStore

    keys = _read_keys(settings)
    io_executor = ThreadPoolExecutor(_IO_THREADS, thread_name_prefix="io")
    keywords_table = Table(client, settings.keywords_table)
    keywords = KeywordStore(keywords_table)
    lookup = KeywordLookup(keywords_table, io_executor)
    return Services(
        model=openai_chat.connect(
            api_key=lambda: keys().openai,
            base_url=settings.openai_base_url,
            model=settings.openai_model,
            max_completion_tokens=settings.openai_max_completion_tokens,
        ),
        retrieval=Retrieval(
            pinecone.connect(host=settings.pinecone_index_host, api_key=lambda: keys().pinecone),
            lookup,
            keywords,
            io_executor,
            web_answer_max_age=timedelta(days=settings.web_answer_max_age_days),
        ),
        web=_build_web(settings, keys),
        learning=Learning(keywords),
        lookup=lookup,
        catalog=KeywordCatalog(keywords_table, io_executor),
        conversations=ConversationStore(Table(client, settings.conversations_table)),
        tool_calls=ToolCallStore(Table(client, settings.tool_calls_table)),
        tool_executor=ThreadPoolExecutor(_TOOL_THREADS, thread_name_prefix="tool"),
        io_executor=io_executor,
        default_kb_id=settings.default_kb_id,
        prices=settings.prices,
        limits=LoopLimits(answer_seconds=min(_ANSWER_SECONDS, settings.query_deadline_seconds / 3)),
    )


def build_api(settings: Settings, *, logger: Logger, tracer: Tracer, metrics: Metrics) -> Api:
    """The HTTP application over the services."""
    from gleaner.api import health
    from gleaner.api.app import Api
    from gleaner.api.chat import ChatRoutes
    from gleaner.api.feedback import FeedbackRoutes
    from gleaner.api.keywords import KeywordRoutes
    from gleaner.api.once import Once
    from gleaner.api.pruning import PruneRoutes
    from gleaner.api.sessions import SessionRoutes
    from gleaner.api.tool_calls import ToolCallRoutes
    from gleaner.stores import dynamodb
    from gleaner.stores.dynamodb import Table
    from gleaner.stores.feedback import FeedbackStore

    client = dynamodb.connect(endpoint_url=settings.dynamodb_endpoint_url)
    services = build_services(settings, client)
    pruner = _pruner(client, settings.keywords_table, _ANSWER_GRACE_DAYS)
    once = Once(client, settings.idempotency_table)

    def make_routes(current: Current) -> list[Route]:
        chat = ChatRoutes(services, once, current, tracer=tracer, metrics=metrics)
        sessions = SessionRoutes(services.conversations, chat.answer, once, current)
        tool_calls = ToolCallRoutes(services.tool_calls, current)
        feedback_store = FeedbackStore(Table(client, settings.tool_calls_table))
        feedback = FeedbackRoutes(feedback_store, current, metrics)
        default_kb_id = settings.default_kb_id
        keywords = KeywordRoutes(services.catalog, services.lookup, current, default_kb_id=default_kb_id)
        areas = (chat, sessions, tool_calls, feedback, keywords, PruneRoutes(pruner, current))
        return [*(route for area in areas for route in area.routes()), *health.ROUTES]

    return Api(make_routes, settings=settings, logger=logger)


def build_pruner(settings: PruneSettings) -> Pruner:
    """What the prune function runs; loads neither the model's SDK nor the vector index's nor the API."""
    from gleaner.stores import dynamodb

    client = dynamodb.connect(endpoint_url=settings.dynamodb_endpoint_url)
    return _pruner(client, settings.keywords_table, settings.answer_grace_days)


def _pruner(client: DynamoDBClient, table: str, answer_grace_days: float) -> Pruner:
    from gleaner.pruning import Pruner
    from gleaner.stores.dynamodb import Table

    executor = ThreadPoolExecutor(_PRUNE_THREADS, thread_name_prefix="prune")
    return Pruner(Table(client, table), executor, answer_grace=timedelta(days=answer_grace_days))


def _read_keys(settings: Settings) -> ReadKeys:
    from gleaner.clients.secrets import ApiKeys, ApiKeysSecret

    if settings.api_keys_secret_arn is not None:
        return ApiKeysSecret(settings.api_keys_secret_arn).read
    keys = ApiKeys(
        openai=settings.openai_api_key, pinecone=settings.pinecone_api_key, perplexity=settings.perplexity_api_key
    )
    return lambda: keys


def _build_web(settings: Settings, keys: ReadKeys) -> WebSearch:
    from gleaner.clients import perplexity
    from gleaner.prompts import read_prompt

    return perplexity.connect(
        base_url=settings.perplexity_base_url,
        api_key=lambda: keys().perplexity,
        model=settings.perplexity_model,
        instructions=read_prompt("web_search"),
    )
