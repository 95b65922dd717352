"""Runs the complete service on this machine: local servers, the function behind the gateway, and their data."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from socket import socket

from gleaner.errors import ConfigurationError
from gleaner.model import ANSWERS_SUFFIX
from gleaner.stores import dynamodb
from gleaner.stores.access import AccessStore
from gleaner.stores.dynamodb import Table
from gleaner_local.aws import api_gateway, ministack
from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed
from gleaner_local.aws.ministack import Ministack
from gleaner_local.aws.scheduler import Schedule
from gleaner_local.errors import CannotStart
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.outside_world.descriptions import Section
from gleaner_local.servers import asgi, openai_server, perplexity_server, pinecone_server
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service import running
from gleaner_local.service._deadline import choose_deadline
from gleaner_local.service._reachability import require_reachable
from gleaner_local.service.documents import BUCKET, LocalDocuments
from gleaner_local.service.parts import (
    NamedKeys,
    Part,
    function_settings,
    local_parts,
    local_variables,
    with_defaults,
)

QUERY_HANDLER = "functions.query.handler.lambda_handler"
_RESPONSE_SECONDS = 4.0  # from the deadline of a question to the end of its invocation
_STREAMED_SECONDS = 180.0  # of an invocation that streams, unless the deadline is longer; as the deployed function has
PRUNE_HANDLER = "functions.keyword_prune.handler.lambda_handler"
PRUNE_TIMEOUT_SECONDS = 300.0


class LocalService:
    """One service over one data directory."""

    def __init__(
        self,
        data_dir: Path,
        env: Mapping[str, str],
        *,
        port: int,
        concurrency: int,
        prune_hours: float | None = None,
        deadline_seconds: float | None = None,
        web_pages: Sequence[Section] = (),
    ) -> None:
        """`prune_hours`: the interval between runs of the prune function; None means never.

        `deadline_seconds` is the time for one question; None is the default for the model. `web_pages` are found by
        the local web search, besides its own.
        """
        self._web_pages = web_pages
        self._deadline_option = deadline_seconds
        self._prune_hours = prune_hours
        self._data_dir = data_dir
        self._env = dict(env)
        self._port = port
        self._concurrency = concurrency
        self._stack = ExitStack()
        self._local_addresses: dict[str, str] = {}  # of the parts that are served here, by variable
        self._checks: dict[str, Callable[[], bool]] = {}  # whether a part that is served here is up, by variable
        self._index: EmbeddedIndex | None = None
        self._queue_endpoint = ""
        self.documents_are_elsewhere = bool(self._env.get("DOCUMENTS_BUCKET"))
        self._documents: LocalDocuments | None = None  # None: it has not started, or they are elsewhere
        self.url = ""
        self.deadline_seconds = 0.0  # of a question; known once the service has started

    def start(self, *, before_gateway: Callable[[str], None] = lambda _host: None) -> None:
        """Start everything; questions are answered on return. Raises CannotStart after stopping what has started.

        `before_gateway` is called with the index host once the local servers run, before questions are accepted. The
        port is taken before all that: what loads for minutes must not end with a port in use.
        """
        try:
            self._check_settings()
            require_reachable(self._env)
            self._lock_data_dir()
            held = self._hold_port()
            function_env = self._start_servers()
            before_gateway(function_env["PINECONE_INDEX_HOST"])
            self._start_schedule(function_env)
            self._start_loading(function_env)
            self._start_gateway(function_env, held)
        except BaseException:
            self.stop()
            raise

    @property
    def documents(self) -> LocalDocuments:
        """The documents of the running service, unless they are elsewhere."""
        if self._documents is None:
            raise AssertionError("The service serves no documents.")
        return self._documents

    @property
    def is_empty(self) -> bool:
        """Whether the index is served here and contains no documents."""
        return self._index is not None and all(name.endswith(ANSWERS_SUFFIX) for name in self._index.counts())

    def stop(self) -> None:
        """Stop everything in reverse order; all data is on disk afterwards."""
        self._stack.close()

    def _check_settings(self) -> None:
        try:
            function_settings(with_defaults(self._env))
        except ConfigurationError as error:
            raise CannotStart(f"{error} Fix it or unset it; docs/02 has a table of the variables.") from error

    def _lock_data_dir(self) -> None:
        try:
            self._stack.enter_context(running.acquire_lock(self._data_dir))
            (self._data_dir / "logs").mkdir(exist_ok=True)
        except OSError as error:
            raise CannotStart(f"Cannot write to the data directory {self._data_dir}: {error.strerror}.") from error

    def _hold_port(self) -> socket:
        try:
            held = asgi.hold_port(self._port)
        except OSError as error:
            raise _unusable_port(self._port, error) from error
        self._stack.callback(held.close)
        return held

    def _start_servers(self) -> dict[str, str]:
        """Start a local server for each service that the environment does not name; return the function's variables."""
        env, local = with_defaults(self._env), local_parts(self._env)
        self.deadline_seconds = choose_deadline(self._env, self._deadline_option)
        env["QUERY_DEADLINE_SECONDS"] = f"{self.deadline_seconds:g}"
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
        if not self.documents_are_elsewhere:
            env |= self._serve_bucket(env)
        self._local_addresses = {part.value: env[part] for part in local}
        return env

    def _serve_index(self) -> str:
        try:
            index = EmbeddedIndex.open(self._data_dir / "index")
        except OSError as error:
            raise CannotStart(f"The index in {self._data_dir} cannot be opened: {error.strerror or error}.") from error
        self._stack.callback(index.close)
        self._index = index
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
            self._documents = LocalDocuments(directory, self._data_dir / "logs", env)
        except (OSError, sqlite3.Error) as error:
            raise CannotStart(f"The documents in {directory} cannot be opened: {error}.") from error
        self._stack.callback(self._documents.stop)
        self._checks["AWS_ENDPOINT_URL_S3"] = self._documents.is_up
        region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or ministack.CREDENTIALS["AWS_DEFAULT_REGION"]
        return {
            "DOCUMENTS_BUCKET": BUCKET,
            "AWS_ENDPOINT_URL_S3": self._documents.url,
            "DOCUMENTS_ENDPOINT_URL": api_gateway.FORM_PATH,
            "AWS_DEFAULT_REGION": region,
        }

    def _start_loading(self, function_env: Mapping[str, str]) -> None:
        if self._documents is None:
            return
        if not self._queue_endpoint:  # the tables are elsewhere
            self._queue_endpoint = self._start_ministack("queue", services="sqs").url
        self._documents.load(
            function_env,
            self._table(function_env, "DOCUMENTS_TABLE"),
            queue_endpoint=self._queue_endpoint,
            owns_table=Part.TABLES.value in self._local_addresses,
        )
        self._stack.callback(self._documents.stop_loading)

    def _start_schedule(self, function_env: dict[str, str]) -> None:
        if self._prune_hours is None:
            return
        environments = ExecutionEnvironments(
            PRUNE_HANDLER,
            function_env,
            log_path=self._data_dir / "logs" / "prune.log",
            timeout_seconds=PRUNE_TIMEOUT_SECONDS,
            concurrency=1,
        )
        self._stack.callback(environments.stop)
        schedule = Schedule(environments.invoke, seconds=self._prune_hours * 3600)
        self._stack.callback(schedule.stop)
        schedule.start()

    def _start_gateway(self, function_env: dict[str, str], held: socket) -> None:
        invocation_seconds = self.deadline_seconds + _RESPONSE_SECONDS
        streamed_seconds = max(invocation_seconds, _STREAMED_SECONDS)
        environments = ExecutionEnvironments(
            QUERY_HANDLER,
            function_env,
            log_path=self._data_dir / "logs" / "query.log",
            timeout_seconds=invocation_seconds,
            streamed_timeout_seconds=streamed_seconds,
            concurrency=self._concurrency,
        )
        self._stack.callback(environments.stop)
        try:
            environments.warm_up()
        except HandlerFailed as error:
            raise CannotStart(f"The query function does not start: {error}") from error
        origins = function_env.get("CORS_ORIGINS", "").split()
        gateway = api_gateway.create_app(
            environments.invoke,
            environments.invoke_streamed,
            origins=origins,
            find_down=self._find_down,
            take_form=self._documents.s3.answer_form if self._documents else None,
            named_keys=self._named_keys(function_env),
        )
        # At the stop, running questions are answered or end with a problem document at the end of their invocation.
        self.url = self._serve(gateway, held=held, stop_seconds=streamed_seconds + _RESPONSE_SECONDS)
        self._stack.callback(environments.refuse_waiting)
        index_host = function_env["PINECONE_INDEX_HOST"]
        state = {
            "url": self.url,
            "pinecone_index_host": index_host,
            "local": self._local_addresses,
            "documents_url": self._documents.url if self._documents else None,
            "deadline_seconds": self.deadline_seconds,
            "access_table": function_env["ACCESS_TABLE"],
            "unlisted_may_use_all": function_settings(function_env).unlisted_may_use_all,
        }
        self._stack.callback(running.announce(self._data_dir, state))

    def _named_keys(self, function_env: Mapping[str, str]) -> NamedKeys:
        admins = function_settings(function_env).admin_callers
        return NamedKeys(admins, AccessStore(self._table(function_env, "ACCESS_TABLE")))

    def _table(self, function_env: Mapping[str, str], variable: str) -> Table:
        address = function_env.get(Part.TABLES.value)
        client = (
            ministack.table_client(address)
            if Part.TABLES.value in self._local_addresses and address
            else dynamodb.connect(endpoint_url=address)
        )
        return Table(client, function_env[variable])

    def _find_down(self) -> list[str]:
        """The variables of the local parts that are down."""
        return [variable for variable, is_up in self._checks.items() if not is_up()]

    def _serve(
        self,
        app: object,
        *,
        part: Part | None = None,
        held: socket | None = None,
        stop_seconds: float = asgi.STOP_SECONDS,
    ) -> str:
        server = AsgiServer(app, held=held, stop_seconds=stop_seconds)  # type: ignore[arg-type]
        try:
            server.start()
        except OSError as error:
            raise _unusable_port(self._port if held else 0, error) from error
        self._stack.callback(server.stop)
        if part is not None:
            self._checks[part.value] = server.is_up
        return server.url


def _unusable_port(port: int, error: OSError) -> CannotStart:
    return CannotStart(f"Port {port} cannot be used: {error.strerror}. Choose another with --port.")
