"""Chooses the service that a command calls and the credentials that it uses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import typer

from gleaner_local import command_line
from gleaner_local.clients import credentials
from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import MIN_TIMEOUT_SECONDS, ApiClient, CallFailed
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.service.running import running_service

_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


def connect(
    *, url: str | None, data_dir: Path | None, api_key: str | None, token: str | None, caller: str | None = None
) -> ApiClient:
    """Create a client of the service at `url`, or of the one that uses `data_dir`.

    `caller` is the API key for a service of this machine if no credentials are given; other services never see it.
    Raises typer.BadParameter, and CallFailed if no service runs there: calling another one instead, such as that on
    the usual port, might prune the wrong keywords.
    """
    require_one_service(url, data_dir)
    state = {} if url else _find_running(data_dir or DEFAULT_DATA_DIR)
    address = url or str(state["url"])
    who = choose_credentials(api_key=api_key, token=token, remote=url is not None)
    if caller is not None and not who and is_on_this_machine(address):
        who = Credentials(api_key=caller, assumed=True)
    return ApiClient(address, who, timeout=max(MIN_TIMEOUT_SECONDS, 2 * state.get("deadline_seconds", 0)))


def require_one_service(url: str | None, data_dir: Path | None) -> None:
    """Raises typer.BadParameter if both options name a service."""
    if url is not None and data_dir is not None:
        raise typer.BadParameter("name the service by --url or by --data-dir, not by both")


def choose_credentials(*, api_key: str | None, token: str | None, remote: bool) -> Credentials:
    """Take the credentials from the options or, for a `remote` service, from the environment. Raises CallFailed.

    A service of this machine never gets those of the environment: they belong to another service.
    """
    if api_key or token or not remote:
        return Credentials(api_key=api_key, token=token)
    try:
        return credentials.from_environment(os.environ)
    except ValueError as error:
        raise CallFailed(str(error)) from error


def is_on_this_machine(url: str) -> bool:
    """Whether the service is on this machine, where the caller chooses the API key."""
    return urlsplit(url).hostname in _LOOPBACK_HOSTS


def _find_running(data_dir: Path) -> dict[str, Any]:
    state = running_service(data_dir)
    if "url" not in state:
        start = command_line.format_command("serve", data_dir=data_dir)
        raise CallFailed(
            f"No service uses {data_dir}. Start one with `{start}`, or name another with --data-dir or --url."
        )
    return state
