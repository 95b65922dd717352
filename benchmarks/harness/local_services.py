"""Starts the real services of a question on local servers, with a scripted model and web search."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gleaner.answering.question import Services
from gleaner.clients import pinecone
from gleaner.clients.pinecone import KnowledgeBase
from gleaner.runtime.settings import Settings
from gleaner.wiring import build_services, build_stores
from gleaner_local.aws import ministack
from gleaner_local.extractive.model import MODEL as LOCAL_MODEL
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.servers import pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from harness.own_environment import use_local_credentials
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from starlette.applications import Starlette

_TABLES = {variable: variable.lower() for variable in ministack.TABLES}
_KEYS = dict.fromkeys(("OPENAI_API_KEY", "PINECONE_API_KEY", "PERPLEXITY_API_KEY"), "k")


@dataclass(frozen=True, slots=True)
class Running:
    """The services, the client of their store, and the scripted model and web."""

    services: Services
    client: DynamoDBClient
    model: ScriptedModel
    web: ScriptedWeb


@contextlib.contextmanager
def running(
    folder: Path, load: Callable[[KnowledgeBase], object] = lambda _: None, *, model_app: Starlette | None = None
) -> Iterator[Running]:
    """Run the services until the end of the block. `load` fills the knowledge base, which is searched by words.

    `model_app` answers instead of the scripted model.
    """
    model, web = ScriptedModel(), ScriptedWeb()
    index = EmbeddedIndex(folder / "index", None)
    store = ministack.Ministack(folder / "dynamodb", folder / "log")
    model_server, web_server, index_server = (
        AsgiServer(app) for app in (model_app or model.app, web.app, pinecone_server.create_app(index))
    )
    with contextlib.ExitStack() as stack:
        stack.callback(index.close)
        for server in (model_server, web_server, index_server, store):
            server.start()
            stack.callback(server.stop)
        ministack.create_tables(ministack.admin_client(store.url), ministack.table_schemas(_TABLES))
        load(pinecone.connect(host=index_server.url, api_key=lambda: "k"))
        use_local_credentials()
        urls = {
            "OPENAI_BASE_URL": f"{model_server.url}/v1",
            "OPENAI_API": "responses",
            "PERPLEXITY_BASE_URL": web_server.url,
            "PINECONE_INDEX_HOST": index_server.url,
            "AWS_ENDPOINT_URL_DYNAMODB": store.url,
        }
        settings = Settings.from_env(_KEYS | urls | _TABLES | ({"OPENAI_MODEL": LOCAL_MODEL} if model_app else {}))
        stores = build_stores(settings)
        yield Running(build_services(settings, stores), stores.client, model, web)
