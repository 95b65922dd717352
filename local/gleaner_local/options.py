"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

default_data_dir = Path(".gleaner")

DataDir = Annotated[Path, typer.Option(help="Where everything is kept.")]
Url = Annotated[str | None, typer.Option(help="The service; by default the one that runs here.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print what the API gives.")]
