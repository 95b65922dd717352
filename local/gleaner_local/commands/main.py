"""The `gleaner` command: registers all commands and prints expected errors as one line."""

from __future__ import annotations

import io
import sys

import typer

from gleaner.errors import GleanerError
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import ask, doctor, index, ingest, keywords, serve, verify
from gleaner_local.errors import CannotStart
from gleaner_local.service.running import NotReady

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(serve.serve)
app.command()(ask.ask)
app.command()(ingest.ingest)
app.add_typer(keywords.app, name="keywords")
app.add_typer(index.app, name="index")
app.command()(verify.verify)
app.command()(doctor.doctor)


@app.callback()
def gleaner() -> None:
    """Gleaner answers questions from your documents and learns from the web what they lack."""


def main() -> None:
    """Entry point of the `gleaner` command; expected errors are one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal lacks become question marks
    try:
        app()
    except UnicodeEncodeError:
        print("An argument is not valid text: the terminal must send UTF-8.", file=sys.stderr)
        sys.exit(1)
    except (CannotStart, NotReady, CallFailed, GleanerError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
