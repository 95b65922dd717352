"""Which service a command calls, and as whom."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import typer

from gleaner_local import command_line
from gleaner_local.clients import credentials
from gleaner_local.clients.credentials import Credentials
from gleaner_local.clients.http_api import ApiClient, CallFailed
from gleaner_local.command_line import default_data_dir
from gleaner_local.service.running import running_service

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def connect(
    *, url: str | None, data_dir: Path | None, api_key: str | None, token: str | None, caller: str | None = None
) -> ApiClient:
    """A client of the service at `url`, or of the one that runs over `data_dir`.

    `caller` is who calls a service of this machine when no credentials are given; other services never see it.
    Raises typer.BadParameter, and CallFailed when no service runs there: calling another instead, such as the one
    on the usual port, might prune what nobody meant.
    """
    if url is not None and data_dir is not None:
        raise typer.BadParameter("name the service by --url or by --data-dir, not by both")
    found = url or _running_over(data_dir or default_data_dir)
    who = named(api_key=api_key, token=token, remote=url is not None)
    if caller is not None and not who and is_here(found):
        who = Credentials(api_key=caller, assumed=True)
    return ApiClient(found, who)


def named(*, api_key: str | None, token: str | None, remote: bool) -> Credentials:
    """The credentials of the options, or else, for a `remote` service, of the environment. Raises CallFailed.

    A service that is found here gets none of the environment's: they name callers of another one.
    """
    if api_key or token or not remote:
        return Credentials(api_key=api_key, token=token)
    try:
        return credentials.from_environment(os.environ)
    except ValueError as error:
        raise CallFailed(str(error)) from error


def is_here(url: str) -> bool:
    """Whether a service answers on this machine, where the API key may be chosen."""
    return urlsplit(url).hostname in _LOOPBACK


def _running_over(data_dir: Path) -> str:
    url = running_service(data_dir).get("url")
    if url is None:
        start = command_line.gleaner("serve", data_dir=data_dir)
        raise CallFailed(f"No service runs over {data_dir}. Start one with `{start}`, or name another with --url.")
    return str(url)
