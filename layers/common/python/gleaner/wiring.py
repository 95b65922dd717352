"""The composition root: builds clients, stores and services once per process.

It imports inside functions, so that a Lambda function loads only what it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from aws_lambda_powertools import Tracer
    from mypy_boto3_dynamodb import DynamoDBClient

    from gleaner.answering.events import Sink
    from gleaner.answering.exchange import Answer, Asker, Observation, QuestionRequest
    from gleaner.answering.plain import PlainAnswer
    from gleaner.answering.question import Services
    from gleaner.client_tasks import Spoken
    from gleaner.clients.answer_index import AnswerIndex
    from gleaner.clients.object_store import ObjectStore
    from gleaner.clients.pinecone import KnowledgeBase
    from gleaner.model import Passage
    from gleaner.pruning.run import Pruner
    from gleaner.pruning.settings import PruneSettings
    from gleaner.runtime.deadline import Deadline
    from gleaner.runtime.settings import Settings
    from gleaner.stores.conversations import ConversationStore
    from gleaner.stores.keyword_layout import KeywordLayout
    from gleaner.stores.keyword_lookup import KeywordLookup
    from gleaner.stores.learned_deletion import DeleteRecords, LearnedDeletion
    from gleaner.stores.session_deletion import SessionDeletion
    from gleaner.stores.tool_calls import ToolCallStore
    from gleaner.stores.usage import UsageStore

P = ParamSpec("P")
T = TypeVar("T")

_TOOL_THREADS = 8  # for the tool calls of one turn
_IO_THREADS = 48  # for the reads of one keyword look-up and the work in the background
_PRUNE_THREADS = 16
_MAX_DELETE_SECONDS = 5.0  # for a record of a forgotten answer


class _WorkerPool(ThreadPoolExecutor):
    """Threads that work in the context of the question that they work for: its trace records their calls."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        context, call = copy_context(), partial(fn, *args, **kwargs)
        return super().submit(lambda: context.run(call))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores that both the routes and the answering of questions use."""

    client: DynamoDBClient
    io_executor: ThreadPoolExecutor
    conversations: ConversationStore
    tool_calls: ToolCallStore
    keyword_layout: KeywordLayout
    lookup: KeywordLookup
    usage: UsageStore
    delete_records: DeleteRecords
    learned_deletion: LearnedDeletion
    session_deletion: SessionDeletion


def build_stores(settings: Settings) -> Stores:
    """The stores in the tables that `settings` names; sends nothing yet."""
    from gleaner.stores import dynamodb
    from gleaner.stores.conversations import ConversationStore
    from gleaner.stores.dynamodb import Table
    from gleaner.stores.keyword_layout import KeywordLayout
    from gleaner.stores.keyword_lookup import KeywordLookup
    from gleaner.stores.learned_deletion import LearnedDeletion
    from gleaner.stores.session_deletion import SessionDeletion
    from gleaner.stores.tool_calls import ToolCallStore
    from gleaner.stores.usage import UsageStore

    client = dynamodb.connect(endpoint_url=settings.dynamodb_endpoint_url)
    io_executor = _WorkerPool(_IO_THREADS, thread_name_prefix="io")
    conversations = Table(client, settings.conversations_table)

    def delete_records(kb_id: str, answer_ids: Sequence[str], deadline: Deadline) -> None:
        index = connect_answer_index(settings)
        index.delete(kb_id, answer_ids, timeout=deadline.timeout(_MAX_DELETE_SECONDS))

    keywords_table = Table(client, settings.keywords_table)
    layout = KeywordLayout(keywords_table)
    tool_calls = ToolCallStore(Table(client, settings.tool_calls_table), io_executor, layout)
    learned_deletion = LearnedDeletion(keywords_table, delete_records)
    forgets = settings.learning_policy.forgets_with_session
    return Stores(
        client=client,
        io_executor=io_executor,
        conversations=ConversationStore(conversations),
        tool_calls=tool_calls,
        delete_records=delete_records,
        learned_deletion=learned_deletion,
        session_deletion=SessionDeletion(conversations, tool_calls, learned_deletion, with_shared=forgets),
        keyword_layout=layout,
        lookup=KeywordLookup(keywords_table, io_executor, layout),
        usage=UsageStore(Table(client, settings.usage_table)),
    )


def build_services(settings: Settings, stores: Stores) -> Services:
    """The services that answering a question needs, connected as `settings` says; sends nothing yet."""
    from gleaner.answering.admission import Admissions
    from gleaner.answering.question import Services
    from gleaner.answering.steps import LoopLimits
    from gleaner.clients import pinecone
    from gleaner.clients.answer_index import AnswerIndex
    from gleaner.clients.from_settings import connect_model, connect_web_search, read_keys
    from gleaner.knowledge.learning import Learning
    from gleaner.knowledge.retrieval import Retrieval
    from gleaner.knowledge.shared_web_search import SharedWebSearch
    from gleaner.stores.dynamodb import Table
    from gleaner.stores.keywords import KeywordStore
    from gleaner.stores.search_leases import SearchLeases

    keys = read_keys(settings)
    max_age = timedelta(days=settings.web_answer_max_age_days)
    keywords_table = Table(stores.client, settings.keywords_table)
    keywords = KeywordStore(keywords_table, stores.keyword_layout, answer_lifetime=max_age)
    knowledge_base = pinecone.connect(host=settings.pinecone_index_host, api_key=lambda: keys().pinecone)
    answer_index = AnswerIndex(knowledge_base)
    return Services(
        model=connect_model(settings, keys),
        retrieval=Retrieval(
            knowledge_base,
            stores.lookup,
            keywords,
            stores.io_executor,
            web_answer_max_age=max_age,
            blocked_hosts=settings.web_blocked_hosts,
            answer_index=answer_index,
        ),
        web=SharedWebSearch(connect_web_search(settings, keys), SearchLeases(keywords_table)),
        learning=Learning(keywords, answer_index),
        conversations=stores.conversations,
        tool_calls=stores.tool_calls,
        session_deletion=stores.session_deletion,
        admissions=Admissions(stores.usage, settings.quota, settings.prices),
        tool_executor=_WorkerPool(_TOOL_THREADS, thread_name_prefix="tool"),
        io_executor=stores.io_executor,
        default_kb_id=settings.default_kb_id,
        prices=settings.prices,
        learning_policy=settings.learning_policy,
        limits=LoopLimits.for_deadline(settings.query_deadline_seconds),
    )


class Answering:
    """Answers questions. Loads what only questions need at the first one, because it takes longer than all the rest."""

    def __init__(self, settings: Settings, stores: Stores, tracer: Tracer) -> None:
        self._settings = settings
        self._stores = stores
        self._tracer = tracer
        self._lock = Lock()
        self._services: Services | None = None

    def prepare(self) -> Services:
        """Load what questions need: before a snapshot of the process is taken, or at the first question."""
        from gleaner.knowledge.differences import load_words
        from gleaner.text import stop_words

        with self._lock:
            if self._services is None:
                self._services = build_services(self._settings, self._stores)
                stop_words()  # built once per process; a snapshot holds them
                load_words()
            return self._services

    def __call__(
        self,
        request: QuestionRequest,
        query_id: str,
        deadline: Deadline,
        observe: Callable[[Observation], None],
        emit: Sink | None = None,
    ) -> Answer:
        """See gleaner.answering.question.answer_question."""
        with self._tracer.provider.in_subsegment("## answer") as segment:
            services = self.prepare()
            from gleaner.answering.events import ignore
            from gleaner.answering.question import answer_question
            from gleaner.runtime.spans import record_spans
            from gleaner.runtime.tracing import name_query, span_recorder

            name_query(segment, query_id)
            with record_spans(span_recorder(segment)):
                return answer_question(request, query_id, services, deadline, observe, emit or ignore)

    def complete_plainly(self, messages: Sequence[Spoken], asker: Asker, deadline: Deadline) -> PlainAnswer:
        """See gleaner.answering.plain.complete_plainly."""
        with self._tracer.provider.in_subsegment("## plain answer") as segment:
            services = self.prepare()
            from gleaner.answering.plain import complete_plainly
            from gleaner.runtime.spans import record_spans
            from gleaner.runtime.tracing import span_recorder

            with record_spans(span_recorder(segment)):
                return complete_plainly(messages, asker, services, deadline)

    def search(
        self,
        query: str,
        kb_id: str | None,
        *,
        caller_id: str,
        groups: frozenset[str],
        query_id: str,
        top_k: int,
        deadline: Deadline,
    ) -> Sequence[Passage]:
        """See gleaner.answering.searching.search_passages."""
        with self._tracer.provider.in_subsegment("## search") as segment:
            services = self.prepare()
            from gleaner.answering.searching import search_passages
            from gleaner.runtime.spans import record_spans
            from gleaner.runtime.tracing import name_query, span_recorder

            name_query(segment, query_id)
            with record_spans(span_recorder(segment)):
                return search_passages(
                    query,
                    kb_id,
                    caller_id=caller_id,
                    groups=groups,
                    query_id=query_id,
                    top_k=top_k,
                    services=services,
                    deadline=deadline,
                )


def connect_answer_index(settings: Settings) -> AnswerIndex:
    """The stored answers in the vector index; sends nothing yet. Loads the SDK of the index."""
    from gleaner.clients.answer_index import AnswerIndex

    return AnswerIndex(connect_knowledge_base(settings))


def connect_knowledge_base(settings: Settings) -> KnowledgeBase:
    """The vector index; sends nothing yet. Loads its SDK."""
    from gleaner.clients import pinecone

    return pinecone.connect(host=settings.pinecone_index_host, api_key=_read_index_key(settings))


def connect_object_store(settings: Settings) -> ObjectStore:
    """The bucket of the documents; sends nothing yet. Loads the description of S3."""
    from gleaner.clients import object_store

    return object_store.connect(bucket=settings.documents.bucket, endpoint_url=settings.documents.endpoint_url)


def _read_index_key(settings: Settings) -> Callable[[], str]:
    """How the key of the vector index is read: from the secret, or from the variable."""
    from gleaner.clients.secrets import ApiKeysSecret
    from gleaner.guards.redaction import protect

    if settings.api_keys_secret_arn is not None:
        secret = ApiKeysSecret(settings.api_keys_secret_arn)
        return lambda: secret.read().pinecone
    protect((settings.pinecone_api_key,))
    return lambda: settings.pinecone_api_key


def build_pruner(settings: PruneSettings) -> Pruner:
    """The pruner of the prune function; loads neither the API nor the SDKs of the model and the vector index.

    That function may not read the keys of the services, so it leaves the records of the vector index alone.
    """
    from gleaner.stores import dynamodb

    client = dynamodb.connect(endpoint_url=settings.dynamodb_endpoint_url)
    return pruner_of(client, settings.keywords_table, settings.answer_grace_days, connect_index=None)


def pruner_of(
    client: DynamoDBClient, table: str, answer_grace_days: float, connect_index: Callable[[], AnswerIndex] | None
) -> Pruner:
    """The pruner of a table; without `connect_index` it leaves the records of the vector index alone."""
    from gleaner.pruning.run import Pruner
    from gleaner.stores.dynamodb import Table

    executor = ThreadPoolExecutor(_PRUNE_THREADS, thread_name_prefix="prune")
    grace = timedelta(days=answer_grace_days)
    return Pruner(Table(client, table), executor, answer_grace=grace, connect_index=connect_index)
