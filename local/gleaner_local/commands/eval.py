"""`gleaner eval`: asks cases of a service, measures the answers and compares them with a baseline."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gleaner_local.commands import eval_output, terminal
from gleaner_local.commands.connection import connect
from gleaner_local.commands.eval_drafts import print_drafts, print_feedback
from gleaner_local.commands.options import AnyEnvironmentName, ApiKey, KbId, ServiceDataDir, Token, Url

if TYPE_CHECKING:
    from gleaner_local.evaluation.comparing import Comparison
    from gleaner_local.evaluation.evaluating import Plan
    from gleaner_local.evaluation.report import Report

FELL, UNUSABLE, NOT_ALL_ASKED = 1, 2, 3  # exit codes


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
    bool | None,
    typer.Option(
        "--both-ways/--one-way",
        help="Ask each case by the route without a stream, too; by default if the local model answers.",
    ),
]
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


def evaluate_cases(
    file: File = None,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    load: Load = None,
    baseline: Baseline = None,
    json_file: JsonFile = None,
    junit: JunitFile = None,
    repeat: Repeat = 1,
    both_ways: BothWays = None,
    concurrency: Concurrency = 1,
    fail_on: Failing = FailOn.SIGNIFICANT,
    judge: JudgeModel = None,
    draft: Draft = None,
    from_feedback: FromFeedback = False,
    env: AnyEnvironmentName = None,
) -> None:
    """Measure the answers to cases, compare them with a baseline, and fail if they fell."""
    if env is not None and not from_feedback:
        raise typer.BadParameter("--env belongs to --from-feedback: name a deployed service by --url")
    if draft or from_feedback:
        if file is not None or (draft and from_feedback):
            raise typer.BadParameter("--draft and --from-feedback only print cases: give one of them, and no file")
        return print_drafts(draft) if draft else print_feedback(env, data_dir)
    if file is None:
        raise typer.BadParameter("name a file of cases, or make one with --draft or --from-feedback")
    if load and (url is not None or data_dir is not None):
        raise typer.BadParameter("--load starts a service of its own: leave out --url and --data-dir")
    for output in (json_file, junit):
        _require_directory(output)
    from gleaner_local.evaluation.evaluating import Plan  # only this command needs the models of the API

    plan = Plan(
        file=file,
        connect=lambda: connect(url=url, data_dir=data_dir, api_key=api_key, token=token),
        load=load or (),
        baseline=baseline,
        kb_id=kb_id,
        repeats=repeat,
        both_ways=both_ways,
        concurrency=concurrency,
        any_fall=fail_on is FailOn.ANY,
        judge=judge,
    )
    report, comparison = _evaluate(plan)
    eval_output.show_report(report, comparison)
    eval_output.write(report, comparison, json_file=json_file, junit=junit)
    raise typer.Exit(_exit_code(report, comparison))


def _evaluate(plan: Plan) -> tuple[Report, Comparison | None]:
    """Run the plan; what is wrong with a file is told line by line."""
    from gleaner_local.evaluation.cases import InvalidCases
    from gleaner_local.evaluation.evaluating import evaluate

    try:
        with eval_output.progress() as show:
            return evaluate(plan, show)
    except InvalidCases as error:
        typer.echo(terminal.show_block(str(error)), err=True)
        raise typer.Exit(UNUSABLE) from error


def _exit_code(report: Report, comparison: Comparison | None) -> int:
    """Nothing that leaks passes, whatever the baseline says of it."""
    leaks = report.figures.get("leaks")
    if (leaks is not None and leaks.value > 0) or (comparison is not None and comparison.fallen):
        return FELL
    return NOT_ALL_ASKED if report.not_asked else 0


def _require_directory(output: Path | None) -> None:
    """Raises typer.BadParameter for a file that could not be written at the end of a long run."""
    if output is not None and not output.parent.is_dir():
        raise typer.BadParameter(f"there is no directory {output.parent}")
