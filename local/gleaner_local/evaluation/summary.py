"""Makes the report of a run: sums up what its cases gave."""

from __future__ import annotations

import importlib.metadata
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.figures import FIGURES
from gleaner_local.evaluation.measuring import Measured
from gleaner_local.evaluation.report import FORMAT, CaseReport, FigureValue, NotAskedReport, Report, Times
from gleaner_local.evaluation.run import Outcome

_DIGITS = 6
_MAX_ANSWER = 300  # characters to be shown


def make_report(
    outcomes: Sequence[Outcome],
    *,
    file: str,
    model: str,
    repeats: int,
    drafts: int,
    interrupted: bool = False,
    remarks: Sequence[str] = (),
) -> Report:
    """Put together what the cases gave."""
    asked = [outcome for outcome in outcomes if outcome.measured]
    return Report(
        format=FORMAT,
        gleaner=importlib.metadata.version("gleaner"),
        file=file,
        model=model,
        repeats=repeats,
        drafts=drafts,
        figures=_summarize(asked),
        groups={name: _summarize(group) for name, group in sorted(_group(asked).items())},
        verdicts=_count_verdicts(asked),
        cases=[_to_case_report(outcome) for outcome in asked],
        not_asked=[
            NotAskedReport(id=o.case.id, query=o.case.query, reason=o.not_asked, left_out=o.left_out)
            for o in outcomes
            if o.not_asked
        ],
        remarks=list(remarks),
        interrupted=interrupted,
        times=_time(asked),
    )


def mean_values(measured: Iterable[Measured]) -> dict[str, float]:
    """The means of the figures over several runs of a case; of a figure that some lack, over the others."""
    runs = [run.values for run in measured]
    return {
        figure.name: round(statistics.fmean(values), _DIGITS)
        for figure in FIGURES
        if (values := [float(run[figure.name]) for run in runs if figure.name in run])
    }


def _summarize(outcomes: Sequence[Outcome]) -> dict[str, FigureValue]:
    summary = {}
    for figure in FIGURES:
        cases = [mean for outcome in outcomes if (mean := mean_values(outcome.measured).get(figure.name)) is not None]
        if cases:
            spread = _spread(outcomes, figure.name)
            summary[figure.name] = FigureValue(value=round(statistics.fmean(cases), _DIGITS), n=len(cases), **spread)
    return summary


def _spread(outcomes: Sequence[Outcome], figure: str) -> dict[str, float]:
    """How a figure of all cases differs between runs."""
    runs = zip(*(outcome.measured for outcome in outcomes), strict=True)
    values = [
        statistics.fmean(known)
        for run in runs
        if (known := [float(measured.values[figure]) for measured in run if figure in measured.values])
    ]
    if len(values) < 2:  # noqa: PLR2004 - one run has no spread
        return {}
    spread = {"low": min(values), "high": max(values), "deviation": statistics.stdev(values)}
    return {name: round(value, _DIGITS) for name, value in spread.items()}


def _group(outcomes: Sequence[Outcome]) -> Mapping[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        case = outcome.case
        languages = [f"language {case.language}"] if case.language else []
        for name in [*languages, *(f"tag {tag}" for tag in dict.fromkeys(case.tags))]:
            groups.setdefault(name, []).append(outcome)
    return groups


def _count_verdicts(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    counts = {"answerable": Counter[str](), "unanswerable": Counter[str]()}
    for outcome in outcomes:
        kind = "answerable" if outcome.case.answerable else "unanswerable"
        counts[kind].update(measured.verdict for measured in outcome.measured)
    return {kind: dict(sorted(count.items())) for kind, count in counts.items()}


def _to_case_report(outcome: Outcome) -> CaseReport:
    case, last = outcome.case, outcome.measured[-1]
    return CaseReport(
        id=case.id,
        query=case.query,
        digest=case.digest,
        language=case.language,
        tags=list(case.tags),
        values=mean_values(outcome.measured),
        verdict=last.verdict,
        tools=list(last.tools),
        reasons=list(last.reasons),
        answer=last.answer if len(last.answer) <= _MAX_ANSWER else f"{last.answer[:_MAX_ANSWER]}…",
        passages=list(map(_place, last.passages)),
        cited=list(map(_place, last.cited)),
    )


def _place(source: Source) -> str:
    return " › ".join(part for part in (source.source_file_path, source.chapter) if part)


def _time(outcomes: Sequence[Outcome]) -> Times:
    by_case = {o.case.id: round(statistics.fmean(m.latency_ms for m in o.measured), 1) for o in outcomes}
    every = sorted(measured.latency_ms for outcome in outcomes for measured in outcome.measured) or [0.0]
    p50, p95 = (every[min(len(every) - 1, round(share * (len(every) - 1)))] for share in (0.5, 0.95))
    return Times(p50=round(p50, 1), p95=round(p95, 1), cases=by_case)
