"""Checks the service of this machine, running or not, and the services that it calls or would call."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3

from gleaner.errors import ConfigurationError
from gleaner.runtime.settings import Settings
from gleaner_local import command_line
from gleaner_local.aws import ministack
from gleaner_local.diagnosis import _model_service, _tables, _vector_index, _web_search
from gleaner_local.diagnosis._paid_model import ask_model
from gleaner_local.diagnosis._paid_web import ask_web
from gleaner_local.diagnosis.aws import LIMITS, aws_findings
from gleaner_local.diagnosis.finding import Finding, Origin, note, ok, problem
from gleaner_local.diagnosis.http_api import check_api
from gleaner_local.index.embedder import Embedder, WeightsMissing
from gleaner_local.servers import openai_server
from gleaner_local.service.parts import Part, function_settings, local_parts, local_variables, with_defaults
from gleaner_local.service.running import NotReady, running_service

_SERVICE = "service"
_CONFIGURATION = "configuration"
_SUBJECTS = {
    Part.MODEL: _model_service.SUBJECT,
    Part.INDEX: _vector_index.SUBJECT,
    Part.WEB: _web_search.SUBJECT,
    Part.TABLES: _tables.SUBJECT,
}
_LOCAL_SERVERS = {
    Part.MODEL: f"the extractive model {openai_server.MODEL}",
    Part.INDEX: "the embedded index",
    Part.WEB: "the descriptions of the installed packages",
    Part.TABLES: "the local DynamoDB",
}
# Variables that have no effect while the part is served on this machine.
_UNUSED = {Part.MODEL: "OPENAI_MODEL", Part.INDEX: "PINECONE_API_KEY", Part.WEB: "PERPLEXITY_MODEL"}


class LocalCheck:
    """The checks of the service over `data_dir`; `env` may differ from the variables of one that is running."""

    def __init__(self, data_dir: Path, env: Mapping[str, str], *, ask: bool = False) -> None:
        """With `ask` the model and the web search are asked, which costs money unless this machine serves them."""
        self._data_dir = data_dir
        self._env = env
        self._ask = ask
        self._not_ready = ""
        self._running: dict[str, Any] = {}
        try:
            self._running = running_service(data_dir)
        except NotReady as reason:
            self._not_ready = str(reason)
        self._local_servers: dict[str, str] = self._running.get("local", {})  # address by variable, if one is running
        self._local_parts = local_parts(env)  # the parts that a service started with `env` would serve itself

    def findings(self) -> Iterator[Finding]:
        """Check the service itself, its configuration, and each part that it calls."""
        yield from self._check_service()
        try:
            settings = function_settings(self._function_env())
        except ConfigurationError as error:
            yield problem(_CONFIGURATION, str(error), "Fix or unset it; docs/02 has a table of the variables.")
            return
        yield ok(_CONFIGURATION, "The variables are well-formed.")
        for part in Part:
            yield from self._check_part(part, settings)

    def _check_service(self) -> Iterator[Finding]:
        if self._running:
            yield from check_api(self._running["url"])
            return
        if self._not_ready:
            yield note(_SERVICE, self._not_ready)
            return
        start = command_line.format_command("serve", data_dir=self._data_dir)
        yield note(_SERVICE, f"No service uses {self._data_dir}.", f"Start one with `{start}`.")
        directory = self._data_dir
        while not directory.exists() and directory != directory.parent:
            directory = directory.parent
        if not (directory.is_dir() and os.access(directory, os.W_OK)):
            yield problem(_SERVICE, f"{directory} cannot be written to.", "Choose another directory with --data-dir.")

    def _function_env(self) -> dict[str, str]:
        """The variables of the query function, with the addresses of the servers that run on this machine."""
        env = with_defaults(self._env) | self._local_servers
        for part in Part:
            if part.value in self._local_servers:
                env |= local_variables(part, env)
        if Part.TABLES.value in self._local_servers:
            env = ministack.with_credentials(env)
        return env

    def _check_part(self, part: Part, settings: Settings) -> Iterator[Finding]:
        subject = _SUBJECTS[part]
        is_remote_by_env = part not in self._local_parts
        is_local = part.value in self._local_servers if self._running else not is_remote_by_env
        if is_local and is_remote_by_env:
            text = f"The running service serves it itself, but {part.value} names a remote one."
            yield note(subject, text, "Start it again.")
        if not is_local and not is_remote_by_env:
            text = "The running service uses a remote one that the variables do not name."
            yield note(subject, text, f"To check it, set {part.value} and its key as for the service.")
            return
        if is_local:
            yield from self._describe_local_part(part, subject)
        if self._running or not is_local:
            yield from self._call_part(part, settings)
        elif self._ask and part in (Part.MODEL, Part.WEB):
            yield note(subject, "It was not asked, because no service runs.", "Start one, then check again.")

    def _describe_local_part(self, part: Part, subject: str) -> Iterator[Finding]:
        server = _LOCAL_SERVERS[part]
        yield ok(subject, f"{'Served' if self._running else 'Would be served'} on this machine: {server}.")
        unused = _UNUSED.get(part)
        if unused and self._env.get(unused):
            yield note(subject, f"{unused} is set but not used.", f"To use it, name its service with {part.value}.")
        if part is Part.INDEX:
            try:
                Embedder.installed()
            except WeightsMissing as missing:
                yield note(subject, str(missing))

    def _call_part(self, part: Part, settings: Settings) -> Iterator[Finding]:
        match part:
            case Part.MODEL:
                yield from self._call_model(settings)
            case Part.INDEX:
                yield from _vector_index.check_index(
                    host=settings.pinecone_index_host,
                    api_key=settings.pinecone_api_key,
                    control_host=self._env.get("PINECONE_CONTROLLER_HOST"),
                    origin=Origin(key="PINECONE_API_KEY", address=part.value),
                )
            case Part.WEB:
                yield from self._call_web(settings)
            case Part.TABLES:
                unreachable = f"Check {part.value}, and that its server runs."
                yield from aws_findings(_tables.SUBJECT, self._check_tables(), unreachable=unreachable)

    def _call_model(self, settings: Settings) -> Iterator[Finding]:
        key, origin = settings.openai_api_key, Origin(key="OPENAI_API_KEY", address=Part.MODEL, model="OPENAI_MODEL")
        yield _model_service.check_model(
            base_url=settings.openai_base_url, api_key=key, model=settings.openai_model, origin=origin
        )
        if self._ask:
            yield from ask_model(settings, key, origin)

    def _call_web(self, settings: Settings) -> Iterator[Finding]:
        origin = Origin(key="PERPLEXITY_API_KEY", address=Part.WEB, model="PERPLEXITY_MODEL")
        key = settings.perplexity_api_key or ""
        yield _web_search.check_web_search(base_url=settings.perplexity_base_url, api_key=key, origin=origin)
        if self._ask:
            yield ask_web(settings, key, origin)

    def _check_tables(self) -> Iterator[Finding]:
        env = self._function_env()
        session = ministack.session() if Part.TABLES.value in self._local_servers else boto3.Session()
        client = session.client(
            "dynamodb",
            endpoint_url=env[Part.TABLES.value],
            config=LIMITS,
            region_name=env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION"),
            aws_access_key_id=env.get("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=env.get("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=env.get("AWS_SESSION_TOKEN"),
        )
        fix = "Create it as stores/schema.py says, or unset AWS_ENDPOINT_URL_DYNAMODB."
        yield from _tables.check_tables(client, ministack.table_schemas(env), fix=fix)
