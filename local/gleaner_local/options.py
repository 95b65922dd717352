"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

default_data_dir = Path(".gleaner")


def _checked_key(value: str | None) -> str | None:
    if value is not None and not (value.isascii() and value.isprintable()):
        raise typer.BadParameter("a key is printable ASCII")
    return value


ApiKey = Annotated[str | None, typer.Option(help="Sent as x-api-key.", callback=_checked_key)]

DataDir = Annotated[Path, typer.Option(help="Where everything is kept.")]
Url = Annotated[str | None, typer.Option(help="The service; by default the one that runs here.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print what the API gives.")]
