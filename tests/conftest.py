"""Servers that all tests share, and the API on top of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics, Tracer
from hypothesis import settings as hypothesis_settings

from gleaner.api.app import Api
from gleaner.application import build_api
from gleaner.clients import pinecone
from gleaner.model import ANSWERS_SUFFIX, Record, utc_now
from gleaner.runtime import deadline
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.stores.access import AccessStore
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_item
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_moving import new_layout
from gleaner.stores.schema import LAYOUT_KEY
from gleaner.stores.tool_calls import ToolCallStore
from gleaner_local.aws import ministack
from gleaner_local.aws.execution_environment import LocalContext
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from tests.api_description import ApiDescription
from tests.doubles.event_stream import Reader, read_parts
from tests.doubles.faulty_store import FaultyStore
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb
from tests.doubles.still_clock import StillClock
from tests.run_directory import share
from tests.stored_items import read_item
from tests.table_pool import TablePool

MERGING = "Duplicate keywords are merged by a conditional write: the second keyword raises the usage count."
PRUNING = "Keywords are pruned when nobody used them for ninety days."

# Examples have no time limit: how long one takes depends on the load of the machine. The first two profiles try the
# same examples each time, so that a commit passes or fails for what it changed; new ones are tried by `make explore`.
hypothesis_settings.register_profile("quick", deadline=None, max_examples=30, derandomize=True)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=150, derandomize=True)  # in `make check`
hypothesis_settings.register_profile("explore", deadline=None, max_examples=150, print_blob=True)
hypothesis_settings.load_profile("quick")


@pytest.fixture(scope="session", autouse=True)
def _run_directory(tmp_path_factory: pytest.TempPathFactory) -> None:
    share(tmp_path_factory)


@pytest.fixture(scope="session")
def dynamodb_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A strict DynamoDB. moto would not do: its transactions lose writes of other threads."""
    path = tmp_path_factory.mktemp("dynamodb")
    server = ministack.Ministack(path / "state", path / "log", services="dynamodb,s3,sqs")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture(scope="session")
def s3_url(dynamodb_url: str) -> str:
    """An S3, by the same emulator."""
    return dynamodb_url


@pytest.fixture(scope="session")
def scripted_model_server() -> Iterator[tuple[ScriptedModel, str]]:
    model = ScriptedModel()
    server = AsgiServer(model.app)
    server.start()
    yield model, f"{server.url}/v1"
    server.stop()


@pytest.fixture(scope="session")
def scripted_web_server() -> Iterator[tuple[ScriptedWeb, str]]:
    web = ScriptedWeb()
    server = AsgiServer(web.app)
    server.start()
    yield web, server.url
    server.stop()


@pytest.fixture(scope="session")
def embedded_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    """An index that searches lexically."""
    index = EmbeddedIndex(tmp_path_factory.mktemp("index"), None)
    yield index
    index.close()


@pytest.fixture(scope="session")
def index_host(embedded_index: EmbeddedIndex) -> Iterator[str]:
    """A knowledge base of two chunks."""
    server = AsgiServer(pinecone_server.create_app(embedded_index))
    server.start()
    records = [
        Record(
            id=f"book#{number}",
            text=text,
            title="Handbook",
            chapter="Keywords",
            source_file_path="docs/keywords.md",
            chunk_index=number,
            content_hash="h",
        )
        for number, text in enumerate((MERGING, PRUNING))
    ]
    pinecone.connect(host=server.url, api_key=lambda: "k").upsert("default_kb", records, timeout=20)
    yield server.url
    server.stop()


_descriptions: list[ApiDescription] = []


@dataclass(frozen=True, slots=True)
class Client:
    """Calls the API as API Gateway does."""

    api: Api

    def post(self, path: str, body: Any, *, caller: str = "local", **event: Any) -> tuple[int, Any]:
        """Status and decoded body; a body that is not a string is encoded as JSON."""
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        return self.request("POST", path, caller=caller, body=text, **event)

    def request(self, method: str, path: str, *, caller: str = "local", **event: Any) -> tuple[int, Any]:
        """Status and decoded body."""
        response = self.send(proxy_event(method, path, caller) | event)
        return response["statusCode"], json.loads(response["body"]) if response["body"] else None

    def send(self, event: dict[str, Any], reader: Reader | None = None) -> dict[str, Any]:
        """The function's response to an event. The API's description must promise it, whatever it is.

        Where the gateway streams, the response goes to `reader`.
        """
        response = self._handle(event, reader)
        if reader is not None and reader.status is not None:
            headers = {name: list(values) for name, values in reader.headers.items()}
            response = {
                "statusCode": reader.status,
                "multiValueHeaders": headers,
                "body": b"".join(reader.chunks).decode(),
            }
        if reader is None or reader.leaves_at is None:
            self._description().check(event, response)
        return response

    def follow(
        self, body: dict[str, Any], path: str = "/api/chat/stream", *, reader: Reader | None = None, **event: Any
    ) -> tuple[int, Any]:
        """Ask on a route that streams. Status and parts, or the problem if nothing was streamed."""
        response = self.send(proxy_event("POST", path, "local") | {"body": json.dumps(body)} | event, reader)
        streams = response["multiValueHeaders"]["Content-Type"] == ["text/event-stream"]
        return response["statusCode"], (read_parts if streams else json.loads)(response["body"])

    def _handle(self, event: dict[str, Any], reader: Reader | None = None) -> dict[str, Any]:
        context = LocalContext("query", "request-1", ends_at=time.monotonic() + 60, response_stream=reader)
        return self.api.handle(event, context)  # type: ignore[arg-type]

    def _description(self) -> ApiDescription:
        if not _descriptions:  # identical for every test, so it is fetched once
            _descriptions.append(
                ApiDescription(json.loads(self._handle(proxy_event("GET", "/openapi.json", "x"))["body"]))
            )
        return _descriptions[0]

    def ask(self, query: str = "How are duplicates merged?", **body: Any) -> tuple[int, Any]:
        """Ask a question."""
        return self.post("/api/chat/query", {"query": query, **body})


def proxy_event(method: str, path: str, caller: str) -> dict[str, Any]:
    """A REST proxy event as API Gateway sends it."""
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": {"content-type": "application/json"},
        "multiValueHeaders": {"content-type": ["application/json"]},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "body": None,
        "isBase64Encoded": False,
        "requestContext": {"requestId": "r", "stage": "test", "identity": {"apiKeyId": caller}},
    }


@pytest.fixture(scope="session")
def shared_settings(
    dynamodb_url: str,
    index_host: str,
    scripted_model_server: tuple[ScriptedModel, str],
    scripted_web_server: tuple[ScriptedWeb, str],
) -> dict[str, str]:
    """The environment variables of a function that uses the scripted services."""
    return ministack.CREDENTIALS | {
        "OPENAI_API_KEY": "secret-openai-key",
        "OPENAI_API": "responses",
        "OPENAI_BASE_URL": scripted_model_server[1],
        "PINECONE_API_KEY": "secret-pinecone-key",
        "PINECONE_INDEX_HOST": index_host,
        "PERPLEXITY_API_KEY": "secret-perplexity-key",
        "PERPLEXITY_BASE_URL": scripted_web_server[1],
        "AWS_ENDPOINT_URL_DYNAMODB": dynamodb_url,
        "KEYWORDS_TABLE": "keywords",
        "CONVERSATIONS_TABLE": "conversations",
        "TOOL_CALLS_TABLE": "tool-calls",
        "IDEMPOTENCY_TABLE": "idempotency",
        "ACCESS_TABLE": "access",
        "USAGE_TABLE": "usage",
        "DOCUMENTS_TABLE": "documents",
        "ADMIN_CALLERS": "key:admin",
        "CHAT_PAGE": "on",
        "DOCS_ROUTES": "on",
        "API_URL": "https://api.example/dev",
        "USER_POOL_URL": "https://login.example",
        "USER_POOL_ISSUER": "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc",
    }


@pytest.fixture(scope="session")
def table_pool(dynamodb_url: str) -> TablePool:
    """Lends empty tables."""
    return TablePool(dynamodb_url)


@pytest.fixture
def settings(
    shared_settings: dict[str, str],
    table_pool: TablePool,
    embedded_index: EmbeddedIndex,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[dict[str, str]]:
    """The environment variables, with tables for this test only, and no learned answers in the index."""
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    for namespace in embedded_index.counts():
        if namespace.endswith(ANSWERS_SUFFIX):
            embedded_index.delete_all(namespace)
    tables = table_pool.borrow()
    yield shared_settings | tables
    table_pool.give_back(tables)


@pytest.fixture
def client(settings: dict[str, str]) -> Client:
    """The API over the scripted services."""
    return Client(make_api(settings))


def make_api(environment: dict[str, str]) -> Api:
    """The application that the function builds from these environment variables."""
    return build_api(
        Settings.from_env(environment),
        logger=Logger(service="gleaner"),
        tracer=Tracer(service="gleaner", disabled=True),
        metrics=Metrics(namespace="Gleaner", service="query"),
    )


def open_access(environment: dict[str, str]) -> AccessStore:
    """The access table that these environment variables name."""
    client = ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    return AccessStore(Table(client, environment["ACCESS_TABLE"]))


def open_tool_calls(environment: dict[str, str], client: Any = None) -> ToolCallStore:
    """The tool calls table that these environment variables name."""
    client = client or ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    table, keywords = (Table(client, environment[f"{name}_TABLE"]) for name in ("TOOL_CALLS", "KEYWORDS"))
    return ToolCallStore(table, ThreadPoolExecutor(5), KeywordLayout(keywords))


def keep_former_form(environment: dict[str, str]) -> None:
    """Have no item written in the compact form, as after an upgrade."""
    client = ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    Table(client, environment["KEYWORDS_TABLE"]).delete_many([LAYOUT_KEY], deadline=Deadline.after(30))


def allow_compact_form(environment: dict[str, str], since: datetime | None = None) -> None:
    """Have items written in the compact form from a time on, by default at once."""
    client = ministack.admin_client(environment["AWS_ENDPOINT_URL_DYNAMODB"])
    item = to_item(new_layout(since or utc_now(), until=utc_now() + timedelta(days=30)))
    client.put_item(TableName=environment["KEYWORDS_TABLE"], Item=item)


def limit_callers(environment: dict[str, str], access: dict[str, list[str]]) -> None:
    """List callers with the knowledge bases that they may use, as an operator does."""
    for subject, kb_ids in access.items():
        open_access(environment).allow(subject, frozenset(kb_ids), deadline=Deadline.after(30))


@pytest.fixture
def model(scripted_model_server: tuple[ScriptedModel, str]) -> ScriptedModel:
    """The model, for the test to script."""
    return scripted_model_server[0]


@pytest.fixture
def web(scripted_web_server: tuple[ScriptedWeb, str]) -> ScriptedWeb:
    """The web search, for the test to script."""
    return scripted_web_server[0]


@pytest.fixture
def items(settings: dict[str, str]) -> Any:
    """Reads all items of one of the tables, but the one that a new table has: `items("KEYWORDS_TABLE")`."""

    def read(variable: str) -> list[dict[str, Any]]:
        response = ministack.admin_client(settings["AWS_ENDPOINT_URL_DYNAMODB"]).scan(TableName=settings[variable])
        return [item for item in map(read_item, response["Items"]) if item.get("pk") != LAYOUT_KEY["pk"]]

    return read


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> StillClock:
    """The clock of all deadlines, which stands still unless the test moves it."""
    clock = StillClock()
    monkeypatch.setattr(deadline, "time", clock)
    return clock


@pytest.fixture
def faulty(settings: dict[str, str]) -> Iterator[FaultyStore]:
    """A store between the tests and theirs that fails as it is told."""
    store = FaultyStore(settings["AWS_ENDPOINT_URL_DYNAMODB"])
    store.start()
    yield store
    store.stop()
