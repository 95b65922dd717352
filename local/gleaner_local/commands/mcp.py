"""`gleaner mcp`: prints what to paste into MCP clients, or is the bridge that some of them start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gleaner_local.clients.http_api import ApiClient, CallFailed
from gleaner_local.clients.mcp_bridge import PATH, Bridge
from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import mcp_setup
from gleaner_local.commands.connection import connect, is_on_this_machine, require_one_service
from gleaner_local.commands.options import ApiKey, ServiceDataDir, Token, Url
from gleaner_local.service.running import NotReady

_INTERRUPTED = 130  # the status that shells give to what Ctrl-C ended


def mcp(
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Speak the protocol on standard input and output, for a client.")
    ] = False,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    key: Annotated[
        bool | None,
        typer.Option("--key/--no-key", help="Print with an API key; by default with an address off this machine."),
    ] = None,
    client_id: Annotated[
        str | None, typer.Option(help="Print with a sign-in by this client of the user pool (output McpClientId).")
    ] = None,
) -> None:
    """Print what to paste into Claude, VS Code, Cursor and ChatGPT, to use the service there."""
    require_one_service(url, data_dir)
    if client_id is not None and key:
        raise typer.BadParameter("name --client-id where people sign in, or --key where they have keys, not both")
    url = url and _without_path(url)
    if stdio:
        _bridge(url, data_dir, api_key, token)
        return
    address = url or connect(url=None, data_dir=data_dir, api_key=None, token=None).url
    is_remote = not is_on_this_machine(address)
    options = ["--url", url] if url else ["--data-dir", str((data_dir or DEFAULT_DATA_DIR).absolute())]
    bridge = [str(Path(sys.argv[0]).absolute()), "mcp", "--stdio", *options]
    if client_id is not None:
        lines = mcp_setup.describe_sign_in(f"{address}{PATH}", client_id)
    else:
        with_key = is_remote if key is None else key
        lines = mcp_setup.describe(f"{address}{PATH}", bridge, with_key=with_key, is_remote=is_remote)
    for line in lines:
        print(line)


def _without_path(url: str) -> str:
    """The address of the service, also from that of its MCP server, which clients are given."""
    return url.removesuffix(PATH).rstrip("/")


def _bridge(url: str | None, data_dir: Path | None, api_key: str | None, token: str | None) -> None:
    # Absolute, because messages name it in the log of a client, which shows no working directory.
    place = None if url else (data_dir or DEFAULT_DATA_DIR).absolute()

    def find_service() -> ApiClient:
        try:
            return connect(url=url, data_dir=place, api_key=api_key, token=token)
        except NotReady as error:
            raise CallFailed(str(error)) from error

    def write(line: str) -> None:
        sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()

    def report(message: str) -> None:
        sys.stderr.write(f"{message}\n")  # at once, because several messages may fail at the same time
        sys.stderr.flush()

    try:
        Bridge(find_service, write, report).run(sys.stdin.buffer)
    except KeyboardInterrupt:
        report("Stopped.")
        raise typer.Exit(_INTERRUPTED) from None
