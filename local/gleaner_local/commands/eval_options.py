"""The options of `gleaner eval`, and which of them exclude each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class FailOn(StrEnum):
    """What fails against a baseline."""

    SIGNIFICANT = "significant"
    ANY = "any"


File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE.jsonl", help="Cases, a JSON object a line; docs/14 describes them.", dir_okay=False),
]
Load = Annotated[
    list[Path] | None,
    typer.Option(help="Start a fresh service over this file or directory: its figures are repeatable.", exists=True),
]
Baseline = Annotated[
    Path | None, typer.Option(help="Compare with this report of --json, case by case.", exists=True, dir_okay=False)
]
JsonFile = Annotated[Path | None, typer.Option("--json", help="Write the report as JSON to this file.", dir_okay=False)]
JunitFile = Annotated[Path | None, typer.Option(help="Write the cases as JUnit XML to this file.", dir_okay=False)]
Repeat = Annotated[int, typer.Option(help="Ask each case so many times and show the spread.", min=1, max=100)]
BothWays = Annotated[
    bool,
    typer.Option(
        "--both-ways", help="Ask each case by the route without a stream, too; by default if the local model answers."
    ),
]
OneWay = Annotated[bool, typer.Option("--one-way", help="Never ask by the route without a stream.")]
Concurrency = Annotated[
    int, typer.Option(help="How many of the cases that may not use the web are asked at once.", min=1, max=32)
]
Failing = Annotated[FailOn, typer.Option(help="What fails against a baseline: a significant fall of a figure, or any.")]
JudgeModel = Annotated[
    str | None,
    typer.Option(help="Have this model judge the answers, at OPENAI_BASE_URL and with OPENAI_API_KEY."),
]
Draft = Annotated[list[Path] | None, typer.Option(help="Only print draft cases, made of these documents.", exists=True)]
FromFeedback = Annotated[
    bool, typer.Option("--from-feedback", help="Only print draft cases, made of answers that were rated poor.")
]

_OF_FEEDBACK = {"from_feedback", "env", "data_dir"}
_OF_ANOTHER_SERVICE = {"url", "data_dir", "api_key", "token"}


def require_fitting(context: typer.Context) -> None:
    """Raises typer.BadParameter for an option that would be ignored beside the others."""
    given = dict(_iter_given(context))
    if "draft" in given or "from_feedback" in given:
        fitting = {"draft"} if "draft" in given else _OF_FEEDBACK
        _refuse(
            given,
            given.keys() - fitting,
            f"{given['draft' if 'draft' in given else 'from_feedback']} only prints cases",
        )
        _refuse(given, {"data_dir"} if "env" in given else (), "--env names a service on AWS")
        return
    _refuse(given, {"env"}, "a deployed service is named by --url")
    if "load" in given:
        _refuse(given, _OF_ANOTHER_SERVICE, "--load starts a service of its own")
    if "token" in given:
        _refuse(given, {"api_key"}, "only one of the credentials can count")
    if "both_ways" in given:
        _refuse(given, {"one_way"}, "--both-ways says the contrary")
    if "baseline" not in given:
        _refuse(given, {"fail_on"}, "nothing falls without --baseline")


def require_outputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None]) -> None:
    """Raises typer.BadParameter for a file that could not be written at the end of a long run, or that is needed."""
    taken = {path.resolve() for path in inputs if path is not None}
    for output in outputs:
        if output is None:
            continue
        if not output.parent.is_dir():
            raise typer.BadParameter(f"there is no directory {output.parent}")
        if output.resolve() in taken or (_is_document(output) and not taken.isdisjoint(output.resolve().parents)):
            raise typer.BadParameter(f"{output} is used already, and would be overwritten: name another file")
        taken.add(output.resolve())


def _is_document(path: Path) -> bool:
    """Whether it is loaded with a directory that holds it."""
    from gleaner_documents.reading import is_known_type  # other commands do without the readers

    return path.exists() and is_known_type(path.name)


def _iter_given(context: typer.Context) -> Iterator[tuple[str, str]]:
    """The options on the command line: their name in Python, and as people write it."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            yield parameter.name or "", parameter.opts[0] if parameter.param_type_name == "option" else "FILE"


def _refuse(given: Mapping[str, str], names: Iterable[str], reason: str) -> None:
    if refused := [given[name] for name in given if name in set(names)]:
        raise typer.BadParameter(f"{reason}: leave out {' and '.join(refused)}")
