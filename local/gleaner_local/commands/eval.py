"""`gleaner eval`: asks cases of a service, measures the answers and compares them with a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from gleaner_local.commands import eval_exit, eval_options, eval_output
from gleaner_local.commands.connection import connect
from gleaner_local.commands.eval_drafts import print_drafts, print_feedback
from gleaner_local.commands.options import AnyEnvironmentName, ApiKey, KbId, ServiceDataDir, Token, Url

if TYPE_CHECKING:
    from gleaner_local.evaluation.comparing import Comparison
    from gleaner_local.evaluation.evaluating import Plan
    from gleaner_local.evaluation.report import Report


def evaluate_cases(
    context: typer.Context,
    file: eval_options.File = None,
    url: Url = None,
    data_dir: ServiceDataDir = None,
    api_key: ApiKey = None,
    token: Token = None,
    kb_id: KbId = None,
    load: eval_options.Load = None,
    baseline: eval_options.Baseline = None,
    json_file: eval_options.JsonFile = None,
    junit: eval_options.JunitFile = None,
    repeat: eval_options.Repeat = 1,
    both_ways: eval_options.BothWays = False,
    one_way: eval_options.OneWay = False,
    concurrency: eval_options.Concurrency = 1,
    fail_on: eval_options.Failing = eval_options.FailOn.SIGNIFICANT,
    judge: eval_options.JudgeModel = None,
    draft: eval_options.Draft = None,
    from_feedback: eval_options.FromFeedback = False,
    env: AnyEnvironmentName = None,
) -> None:
    """Measure the answers to cases, compare them with a baseline, and fail if they fell."""
    eval_options.require_fitting(context)
    with eval_exit.exit_codes() as interruption:
        if draft or from_feedback:
            return print_drafts(draft) if draft else print_feedback(env, data_dir)
        if file is None:
            raise typer.BadParameter("name a file of cases, or make one with --draft or --from-feedback")
        eval_options.require_outputs([json_file, junit], [file, baseline, *(load or ())])
        from gleaner_local.evaluation.evaluating import Plan  # only this command needs the models of the API

        plan = Plan(
            file=file,
            connect=lambda: connect(url=url, data_dir=data_dir, api_key=api_key, token=token),
            load=load or (),
            baseline=baseline,
            kb_id=kb_id,
            repeats=repeat,
            both_ways=True if both_ways else False if one_way else None,
            concurrency=concurrency,
            any_fall=fail_on is eval_options.FailOn.ANY,
            judge=judge,
        )
        report, comparison = _evaluate(plan)
        eval_output.show_report(report, comparison)
        is_written = eval_output.write(report, comparison, json_file=json_file, junit=junit)
        code = _exit_code(report, comparison, is_written=is_written)
        raise typer.Exit(interruption.exit_code if report.interrupted else code)


def _evaluate(plan: Plan) -> tuple[Report, Comparison | None]:
    from gleaner_local.evaluation.evaluating import evaluate

    with eval_output.progress() as show:
        return evaluate(plan, show)


def _exit_code(report: Report, comparison: Comparison | None, *, is_written: bool) -> int:
    """Nothing that leaks passes, whatever the baseline says of it."""
    leaks = report.figures.get("leaks")
    if (leaks is not None and leaks.value > 0) or (comparison is not None and comparison.fallen):
        return eval_exit.FELL
    if not is_written:
        return eval_exit.UNUSABLE
    is_whole = report.cases and all(missed.left_out for missed in report.not_asked)
    return 0 if is_whole else eval_exit.NOT_EVALUATED
