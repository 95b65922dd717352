"""One evaluation from start to end: reads the files, runs or finds the service, asks, judges and compares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gleaner.errors import GleanerError
from gleaner_local.clients.http_api import MIN_TIMEOUT_SECONDS, ApiClient
from gleaner_local.evaluation.asking import Asker
from gleaner_local.evaluation.case_files import read_cases
from gleaner_local.evaluation.cases import Case, InvalidCases
from gleaner_local.evaluation.comparing import Comparison, compare, require_shared, shares_cases
from gleaner_local.evaluation.judging import Judge, connect_judge
from gleaner_local.evaluation.own_service import Loaded, own_service, serves_own_web
from gleaner_local.evaluation.remarks import remark_on_loading, remark_on_planting, remark_on_repeats
from gleaner_local.evaluation.report import Report, read_report
from gleaner_local.evaluation.run import INTERRUPTED, Outcome, Progress, Run, RunSettings
from gleaner_local.evaluation.summary import make_report

_OWN_CONCURRENCY = 4  # of the function of a service of its own, as `gleaner serve` has


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is evaluated and how. `load`: start a service over these documents; empty: `connect` finds one."""

    file: Path
    connect: Callable[[], ApiClient]
    load: Sequence[Path] = ()
    baseline: Path | None = None
    kb_id: str | None = None  # of cases that name none
    repeats: int = 1
    both_ways: bool | None = None
    concurrency: int = 1
    any_fall: bool = False
    judge: str | None = None


def evaluate(plan: Plan, show: Callable[[int], Progress]) -> tuple[Report, Comparison | None]:
    """Run a plan. `show` is told how many steps there are, and returns what is told of each that is done.

    All files are read first, so that a mistake in one costs no question. Raises InvalidCases, CannotStart, CallFailed
    and ConfigurationError.
    """
    cases = read_cases(plan.file)
    baseline = read_report(plan.baseline) if plan.baseline else None
    judge = connect_judge(plan.judge, os.environ) if plan.judge else None
    asked = [case for case in cases if not case.draft]
    if not asked:
        raise InvalidCases(f"{plan.file} holds drafts only. Edit them, and take out their field draft.")
    if baseline is not None:
        require_shared(baseline, [(case.id, case.digest) for case in asked], plan.file.name)
    progress = show(len(asked) * plan.repeats)
    with _service(plan, asked) as (client, settings, loaded):
        run = Run(Asker(client, kb_id=plan.kb_id, keeps_sessions=bool(plan.load)), settings, progress)
        outcomes = run.ask_all(asked)
    report = _report(plan, run, outcomes, drafts=len(cases) - len(asked), baseline=baseline, loaded=loaded)
    if judge is not None and not run.is_interrupted:
        report = _judge(judge, report, outcomes)
    is_comparable = baseline and shares_cases(baseline, [(case.id, case.digest) for case in report.cases])
    return report, compare(baseline, report, any_fall=plan.any_fall) if baseline and is_comparable else None


def _report(
    plan: Plan, run: Run, outcomes: Sequence[Outcome], *, drafts: int, baseline: Report | None, loaded: Loaded | None
) -> Report:
    repeats = min(plan.repeats, max(1, *(len(outcome.measured) for outcome in outcomes)))
    remarks: list[str] = []
    if baseline is not None:
        remarks += remark_on_repeats(baseline, repeats)
    if loaded is not None:
        remarks += remark_on_loading(loaded, [outcome.case for outcome in outcomes])
        remarks += remark_on_planting(loaded, outcomes)
    return make_report(
        outcomes,
        file=plan.file.name,
        model=run.model,
        repeats=repeats,
        drafts=drafts,
        interrupted=run.is_interrupted,
        remarks=remarks,
    )


def _judge(judge: Judge, report: Report, outcomes: Sequence[Outcome]) -> Report:
    """The report with what the judge says, or with why it says nothing: the answers are paid for."""
    try:
        return report.model_copy(update={"judge": judge.report(outcomes)})
    except GleanerError as error:
        return report.model_copy(update={"judge_problem": str(error)})
    except KeyboardInterrupt:
        return report.model_copy(update={"judge_problem": INTERRUPTED, "interrupted": True})


@contextmanager
def _service(plan: Plan, cases: Sequence[Case]) -> Iterator[tuple[ApiClient, RunSettings, Loaded | None]]:
    if not plan.load:
        client = plan.connect()
        client.call("GET", "/api/health")  # one wrong address is one error, and not one for each case
        yield client, _settings(plan), None
        return
    concurrency = max(_OWN_CONCURRENCY, plan.concurrency)
    with own_service(plan.load, cases, os.environ, kb_id=plan.kb_id, concurrency=concurrency) as (service, loaded):
        timeout = max(MIN_TIMEOUT_SECONDS, 2 * service.deadline_seconds)
        yield ApiClient(service.url, timeout=timeout), _settings(plan), loaded


def _settings(plan: Plan) -> RunSettings:
    return RunSettings(
        repeats=plan.repeats,
        both_ways=plan.both_ways,
        concurrency=plan.concurrency,
        has_planted_passages=bool(plan.load),
        has_planted_pages=bool(plan.load) and serves_own_web(os.environ),
    )
