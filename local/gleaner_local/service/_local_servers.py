"""The local servers that stand in for remote services: the model, the index, the web, the tables and the documents."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from gleaner.stores import dynamodb
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import api_gateway, ministack
from gleaner_local.aws.ministack import Ministack
from gleaner_local.errors import CannotStart
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.outside_world.descriptions import Section
from gleaner_local.servers import openai_server, perplexity_server, pinecone_server
from gleaner_local.servers.asgi import STOP_SECONDS, AsgiServer
from gleaner_local.service.documents import BUCKET, LocalDocuments
from gleaner_local.service.parts import Part, local_parts, local_variables, with_defaults


class LocalServers:
    """A server for each service that the environment does not name, over one data directory.

    `addresses` are those of the parts that are served here, by variable. `index` and `documents` are None before the
    start, and where they are elsewhere.
    """

    def __init__(
        self, data_dir: Path, env: Mapping[str, str], stack: ExitStack, *, web_pages: Sequence[Section]
    ) -> None:
        """What is started is stopped by `stack`. `web_pages` are found by the web search, besides its own."""
        self._data_dir = data_dir
        self._env = env
        self._stack = stack
        self._web_pages = web_pages
        self._checks: dict[str, Callable[[], bool]] = {}  # whether a part that is served here is up, by variable
        self._queue_endpoint = ""
        self.addresses: dict[str, str] = {}
        self.index: EmbeddedIndex | None = None
        self.documents: LocalDocuments | None = None

    def start(self) -> dict[str, str]:
        """Start them and return the function's variables. Raises CannotStart."""
        env, local = with_defaults(self._env), local_parts(self._env)
        if Part.MODEL in local:
            env["OPENAI_BASE_URL"] = self._serve(openai_server.create_app(), part=Part.MODEL) + "/v1"
            env |= local_variables(Part.MODEL, env)
        if Part.INDEX in local:
            env["PINECONE_INDEX_HOST"] = self._serve_index()
        if Part.WEB in local:
            env["PERPLEXITY_BASE_URL"] = self._serve(perplexity_server.create_app(self._web_pages), part=Part.WEB)
            env |= local_variables(Part.WEB, env)
        if Part.TABLES in local:
            env = ministack.with_credentials(env) | {"AWS_ENDPOINT_URL_DYNAMODB": self._serve_dynamodb(env)}
        if not self._env.get("DOCUMENTS_BUCKET"):
            env |= self._serve_bucket(env)
        self.addresses = {part.value: env[part] for part in local}
        return env

    def load_documents(self, function_env: Mapping[str, str]) -> None:
        """Load what is put into the bucket, if it is served here. Raises CannotStart."""
        if self.documents is None:
            return
        if not self._queue_endpoint:  # the tables are elsewhere
            self._queue_endpoint = self._start_ministack("queue", services="sqs").url
        self.documents.load(
            function_env,
            self.table(function_env, "DOCUMENTS_TABLE"),
            queue_endpoint=self._queue_endpoint,
            owns_table=Part.TABLES.value in self.addresses,
        )
        self._stack.callback(self.documents.stop_loading)

    def table(self, function_env: Mapping[str, str], variable: str) -> Table:
        """The table that a variable of the function names."""
        address = function_env.get(Part.TABLES.value)
        client = (
            ministack.table_client(address)
            if Part.TABLES.value in self.addresses and address
            else dynamodb.connect(endpoint_url=address)
        )
        return Table(client, function_env[variable])

    def find_down(self) -> list[str]:
        """The variables of the local parts that are down."""
        return [variable for variable, is_up in self._checks.items() if not is_up()]

    def _serve_index(self) -> str:
        try:
            index = EmbeddedIndex.open(self._data_dir / "index")
        except OSError as error:
            raise CannotStart(f"The index in {self._data_dir} cannot be opened: {error.strerror or error}.") from error
        self._stack.callback(index.close)
        self.index = index
        url = self._serve(pinecone_server.create_app(index), part=Part.INDEX, stop_seconds=pinecone_server.STOP_SECONDS)
        self._stack.callback(index.stop_embedding)
        return url

    def _serve_dynamodb(self, env: Mapping[str, str]) -> str:
        server = self._start_ministack("dynamodb", services="dynamodb,sqs")
        self._checks[Part.TABLES.value] = server.is_up
        self._queue_endpoint = server.url
        schemas = ministack.table_schemas(env)
        ministack.create_tables(ministack.admin_client(server.url), schemas)
        return server.url

    def _start_ministack(self, name: str, *, services: str) -> Ministack:
        server = Ministack(self._data_dir / name, self._data_dir / "logs" / f"{name}.log", services=services)
        try:
            server.start()
        except RuntimeError as error:
            raise CannotStart(str(error)) from error
        self._stack.callback(server.stop)
        return server

    def _serve_bucket(self, env: Mapping[str, str]) -> dict[str, str]:
        """Serve the bucket of documents; returns its variables."""
        directory = self._data_dir / "documents"
        try:
            self.documents = LocalDocuments(directory, self._data_dir / "logs", env)
        except (OSError, sqlite3.Error) as error:
            raise CannotStart(f"The documents in {directory} cannot be opened: {error}.") from error
        self._stack.callback(self.documents.stop)
        self._checks["AWS_ENDPOINT_URL_S3"] = self.documents.is_up
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or ministack.CREDENTIALS["AWS_DEFAULT_REGION"]
        return {
            "DOCUMENTS_BUCKET": BUCKET,
            "AWS_ENDPOINT_URL_S3": self.documents.url,
            "DOCUMENTS_ENDPOINT_URL": api_gateway.FORM_PATH,
            "AWS_DEFAULT_REGION": region,
        }

    def _serve(self, app: object, *, part: Part, stop_seconds: float = STOP_SECONDS) -> str:
        server = AsgiServer(app, stop_seconds=stop_seconds)  # type: ignore[arg-type]
        try:
            server.start()
        except OSError as error:
            raise CannotStart(f"No port can be used: {error.strerror}.") from error
        self._stack.callback(server.stop)
        self._checks[part.value] = server.is_up
        return server.url
