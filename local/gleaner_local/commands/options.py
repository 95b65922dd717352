"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from gleaner.model import KB_ID_PATTERN
from gleaner_local.clients.credentials import API_KEY_VARIABLE, TOKEN_VARIABLE, fits_a_header
from gleaner_local.command_line import default_data_dir


def _checked_url(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # of a port that is none
        fits = False
    if not fits:
        raise typer.BadParameter("give an http or https address, such as http://127.0.0.1:8000")
    return value.rstrip("/")


def _checked_secret(value: str | None) -> str | None:
    if value is not None and not (value and fits_a_header(value)):
        raise typer.BadParameter("it must be printable ASCII, and not empty")
    return value


def _checked_kb_id(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(KB_ID_PATTERN, value):
        raise typer.BadParameter("use small letters, digits, - and _, at most 63, a letter or digit first")
    return value


Url = Annotated[str | None, typer.Option(help="The service; by default the one that runs here.", callback=_checked_url)]
ApiKey = Annotated[
    str | None,
    typer.Option(help=f"Sent as x-api-key. With --url, {API_KEY_VARIABLE} names it, too.", callback=_checked_secret),
]
Token = Annotated[
    str | None,
    typer.Option(help=f"Sent as bearer token. With --url, {TOKEN_VARIABLE} names it, too.", callback=_checked_secret),
]
DataDir = Annotated[Path, typer.Option(help="Where everything is kept.")]
ServiceDataDir = Annotated[
    Path | None, typer.Option("--data-dir", help=f"Of the service that runs here; {default_data_dir} by default.")
]
KbId = Annotated[str | None, typer.Option(help="The knowledge base.", callback=_checked_kb_id)]
AsJson = Annotated[bool, typer.Option("--json", help="Print what the API gives.")]
