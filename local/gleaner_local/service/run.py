"""Runs the complete service on this machine: local servers, the function behind the gateway, and their data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from socket import socket

from starlette.types import ASGIApp

from gleaner.errors import ConfigurationError
from gleaner.model import ANSWERS_SUFFIX
from gleaner.stores.access import AccessStore
from gleaner_local.aws import api_gateway
from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed
from gleaner_local.aws.scheduler import Schedule
from gleaner_local.errors import CannotStart
from gleaner_local.outside_world.descriptions import Section
from gleaner_local.ports import hold_port
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service import running
from gleaner_local.service._deadline import choose_deadline
from gleaner_local.service._local_servers import LocalServers
from gleaner_local.service._reachability import require_reachable
from gleaner_local.service.documents import LocalDocuments
from gleaner_local.service.parts import (
    NamedKeys,
    function_settings,
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
        self._deadline_option = deadline_seconds
        self._prune_hours = prune_hours
        self._data_dir = data_dir
        self._env = dict(env)
        self._port = port
        self._concurrency = concurrency
        self._stack = ExitStack()
        self._servers = LocalServers(data_dir, self._env, self._stack, web_pages=web_pages)
        self.documents_are_elsewhere = bool(self._env.get("DOCUMENTS_BUCKET"))
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
            self.deadline_seconds = choose_deadline(self._env, self._deadline_option)
            function_env = self._servers.start() | {"QUERY_DEADLINE_SECONDS": f"{self.deadline_seconds:g}"}
            before_gateway(function_env["PINECONE_INDEX_HOST"])
            self._start_schedule(function_env)
            self._servers.load_documents(function_env)
            self._start_gateway(function_env, held)
        except BaseException:
            self.stop()
            raise

    @property
    def documents(self) -> LocalDocuments:
        """The documents of the running service, unless they are elsewhere."""
        if self._servers.documents is None:
            raise AssertionError("The service serves no documents.")
        return self._servers.documents

    @property
    def is_empty(self) -> bool:
        """Whether the index is served here and contains no documents."""
        index = self._servers.index
        return index is not None and all(name.endswith(ANSWERS_SUFFIX) for name in index.counts())

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
            held = hold_port(self._port)
        except OSError as error:
            raise _unusable_port(self._port, error) from error
        self._stack.callback(held.close)
        return held

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
        documents = self._servers.documents
        origins = function_env.get("CORS_ORIGINS", "").split()
        gateway = api_gateway.create_app(
            environments.invoke,
            environments.invoke_streamed,
            origins=origins,
            find_down=self._servers.find_down,
            take_form=documents.s3.answer_form if documents else None,
            named_keys=self._named_keys(function_env),
        )
        # At the stop, running questions are answered or end with a problem document at the end of their invocation.
        self.url = self._serve(gateway, held, stop_seconds=streamed_seconds + _RESPONSE_SECONDS)
        self._stack.callback(environments.refuse_waiting)
        index_host = function_env["PINECONE_INDEX_HOST"]
        state = {
            "url": self.url,
            "pinecone_index_host": index_host,
            "local": self._servers.addresses,
            "documents_url": documents.url if documents else None,
            "deadline_seconds": self.deadline_seconds,
            "access_table": function_env["ACCESS_TABLE"],
            "unlisted_may_use_all": function_settings(function_env).unlisted_may_use_all,
        }
        self._stack.callback(running.announce(self._data_dir, state))

    def _named_keys(self, function_env: Mapping[str, str]) -> NamedKeys:
        admins = function_settings(function_env).admin_callers
        return NamedKeys(admins, AccessStore(self._servers.table(function_env, "ACCESS_TABLE")))

    def _serve(self, gateway: ASGIApp, held: socket, *, stop_seconds: float) -> str:
        server = AsgiServer(gateway, held=held, stop_seconds=stop_seconds)
        try:
            server.start()
        except OSError as error:
            raise _unusable_port(self._port, error) from error
        self._stack.callback(server.stop)
        return server.url


def _unusable_port(port: int, error: OSError) -> CannotStart:
    return CannotStart(f"Port {port} cannot be used: {error.strerror}. Choose another with --port.")
