"""Prints draft cases for `gleaner eval`: of documents, and of answers that were rated poor."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gleaner_local.command_line import DEFAULT_DATA_DIR
from gleaner_local.commands import eval_exit, terminal

if TYPE_CHECKING:
    from gleaner_local.evaluation.cases import Case

_MAX_LISTED = 5
_NEXT = "Edit them: ask as a user would, check what an answer must say, and take out the field draft."


def print_drafts(paths: Sequence[Path]) -> None:
    """Print a draft case for each section of the documents under `paths`."""
    from gleaner_local.evaluation.drafting import draft_cases  # loads the readers of documents

    drafts = draft_cases(paths)
    for problem in drafts.skipped:
        typer.echo(terminal.show_line(f"left out: {problem}"), err=True)
    if drafts.ambiguous:
        shown = ", ".join(drafts.ambiguous[:_MAX_LISTED])
        more = f" and {len(drafts.ambiguous) - _MAX_LISTED} more" if len(drafts.ambiguous) > _MAX_LISTED else ""
        line = f"left out, because several sections of the file have this heading: {shown}{more}"
        typer.echo(terminal.show_line(line), err=True)
    if drafts.silent:
        typer.echo(f"Sections without a sentence that says something: {drafts.silent}.", err=True)
    _print(drafts.cases)
    if not drafts.cases:
        raise typer.Exit(eval_exit.UNUSABLE)


def print_feedback(environment: str | None, data_dir: Path | None) -> None:
    """Print a draft case for each answer that was rated poor, in a deployed environment or the service that runs here.

    Raises CannotStart, NotReady and StoreUnavailable.
    """
    from gleaner_local.evaluation.feedback import Tables, collect_poor_answers  # loads the SDK of AWS
    from gleaner_local.service.access_table import connect_deployed, connect_local
    from gleaner_local.service.parts import with_defaults

    if environment is not None:
        client, outputs = connect_deployed(environment, ("ToolCallsTable", "ConversationsTable"))
        tables = Tables(client, outputs["ToolCallsTable"], outputs["ConversationsTable"])
    else:
        client, _ = connect_local(data_dir or DEFAULT_DATA_DIR)
        names = with_defaults(os.environ)
        tables = Tables(client, names["TOOL_CALLS_TABLE"], names["CONVERSATIONS_TABLE"])
    harvest = collect_poor_answers(tables)
    if harvest.gone:
        typer.echo(f"{harvest.gone} poor ratings are of questions that are not kept.", err=True)
    for problem in harvest.unusable:
        typer.echo(terminal.show_line(f"makes no case: {problem}"), err=True)
    _print(harvest.cases)


def _print(cases: Sequence[Case]) -> None:
    from gleaner_local.evaluation.case_files import format_case

    for case in cases:
        print(format_case(case))
    advice = f" {_NEXT}" if cases else ""
    typer.echo(f"Drafts: {len(cases)}.{advice}", err=True)
