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
from gleaner_local.evaluation.comparing import Comparison, compare, require_shared
from gleaner_local.evaluation.judging import Judge, connect_judge
from gleaner_local.evaluation.own_service import own_service, serves_own_web
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
    asked = [_in_knowledge_base(case, plan.kb_id) for case in cases if not case.draft]
    if not asked:
        raise InvalidCases(f"{plan.file} holds drafts only. Edit them, and take out their field draft.")
    if baseline is not None:
        require_shared(baseline, [(case.id, case.digest) for case in asked], plan.file.name)
    progress = show(len(asked) * plan.repeats)
    with _service(plan, asked) as (client, settings):
        run = Run(Asker(client, keeps_sessions=bool(plan.load)), settings, progress)
        outcomes = run.ask_all(asked)
    report = make_report(
        outcomes,
        file=plan.file.name,
        model=run.model,
        repeats=min(plan.repeats, max(1, *(len(outcome.measured) for outcome in outcomes))),
        drafts=len(cases) - len(asked),
        interrupted=run.is_interrupted,
    )
    if judge is not None and not run.is_interrupted:
        report = _judge(judge, report, outcomes)
    comparison = compare(baseline, report, any_fall=plan.any_fall) if baseline and report.cases else None
    return report, comparison


def _judge(judge: Judge, report: Report, outcomes: Sequence[Outcome]) -> Report:
    """The report with what the judge says, or with why it says nothing: the answers are paid for."""
    try:
        return report.model_copy(update={"judge": judge.report(outcomes)})
    except GleanerError as error:
        return report.model_copy(update={"judge_problem": str(error)})
    except KeyboardInterrupt:
        return report.model_copy(update={"judge_problem": INTERRUPTED, "interrupted": True})


@contextmanager
def _service(plan: Plan, cases: Sequence[Case]) -> Iterator[tuple[ApiClient, RunSettings]]:
    if not plan.load:
        client = plan.connect()
        client.call("GET", "/api/health")  # one wrong address is one error, and not one for each case
        yield client, _settings(plan)
        return
    concurrency = max(_OWN_CONCURRENCY, plan.concurrency)
    with own_service(plan.load, cases, os.environ, kb_id=plan.kb_id, concurrency=concurrency) as service:
        timeout = max(MIN_TIMEOUT_SECONDS, 2 * service.deadline_seconds)
        yield ApiClient(service.url, timeout=timeout), _settings(plan)


def _settings(plan: Plan) -> RunSettings:
    return RunSettings(
        repeats=plan.repeats,
        both_ways=plan.both_ways,
        concurrency=plan.concurrency,
        has_planted_passages=bool(plan.load),
        has_planted_pages=bool(plan.load) and serves_own_web(os.environ),
    )


def _in_knowledge_base(case: Case, kb_id: str | None) -> Case:
    return case if kb_id is None or case.kb_id is not None else case.model_copy(update={"kb_id": kb_id})
