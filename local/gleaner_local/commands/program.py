"""All commands of `gleaner`, and expected errors as one line."""

from __future__ import annotations

import importlib.metadata
import io
import sys
from typing import Annotated

import typer

from gleaner.errors import GleanerError
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import (
    ask,
    caller_access,
    callers,
    doctor,
    eval,
    index,
    ingest,
    keys,
    keywords,
    mcp,
    serve,
    terminal,
    verify,
)
from gleaner_local.errors import CannotStart
from gleaner_local.service.running import NotReady

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(serve.serve)
app.command()(ask.ask)
app.command()(ingest.ingest)
app.add_typer(keywords.app, name="keywords")
caller_access.add_to(callers.app)
app.add_typer(callers.app, name="callers")
app.add_typer(index.app, name="index")
app.add_typer(keys.app, name="keys")
app.command()(mcp.mcp)
app.command()(verify.verify)
app.command("eval")(eval.evaluate_cases)
app.command()(doctor.doctor)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"gleaner {importlib.metadata.version('gleaner')}")
        raise typer.Exit


@app.callback()
def gleaner(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Gleaner answers questions from your documents and learns from the web what they lack."""


def run() -> None:
    """Run the command that the arguments name; expected errors are one line on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal lacks become question marks
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # an error of the last lines would otherwise show up after the end
    except OSError as error:
        if not terminal.give_up_output(error):
            raise
        sys.exit(1)
    except UnicodeEncodeError:
        print("An argument is not valid text: the terminal must send UTF-8.", file=sys.stderr)
        sys.exit(1)
    except (CannotStart, NotReady, CallFailed, GleanerError) as error:
        print(terminal.show_line(str(error)), file=sys.stderr)
        sys.exit(1)
