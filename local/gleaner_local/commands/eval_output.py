"""Shows the report of `gleaner eval` on the terminal, and writes it to files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from gleaner_local.commands import terminal

if TYPE_CHECKING:
    from gleaner_local.evaluation.comparing import Comparison, FigureChange
    from gleaner_local.evaluation.figures import Figure
    from gleaner_local.evaluation.report import CaseReport, FigureValue, NotAskedReport, Report

_MAX_LISTED = 20
_MAX_QUERY = 80  # characters
_WIDTH = 110  # where nobody looks at a terminal
_OF_GROUPS = ("right", "hit_1", "reciprocal_rank", "says", "refused_rightly", "refused_wrongly")
_LEVEL = 0.05


@contextmanager
def progress() -> Iterator[Callable[[int], Callable[[int], None]]]:
    """A progress bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("Asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:

        def start(total: int) -> Callable[[int], None]:
            task = bar.add_task("cases", total=total)
            return lambda count: bar.advance(task, count)

        yield start


def show_report(report: Report, comparison: Comparison | None) -> None:
    """Print the figures as tables, and the cases that a person should look at."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    if report.cases:
        console.print(_tabulate(report, comparison))
        if report.groups:
            console.print(_tabulate_groups(report))
    lines = [*_describe_run(report), *(_describe_comparison(comparison) if comparison else _describe_wrong(report))]
    for line in lines:
        console.print(terminal.show_line(line), markup=False, soft_wrap=True)


def write(report: Report, comparison: Comparison | None, *, json_file: Path | None, junit: Path | None) -> bool:
    """Write the files that were asked for; False, with an error in words, if one of them cannot be written."""
    from gleaner_local.evaluation.junit import to_junit

    texts = ((json_file, report.to_json), (junit, lambda: to_junit(report, comparison)))
    written = [_write(file, text()) for file, text in texts if file is not None]
    return all(written)


def _write(file: Path, text: str) -> bool:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:  # without the name of the file, if it was opened
        typer.echo(terminal.show_line(f"{file} cannot be written: {error.strerror}."), err=True)
        return False
    return True


def _tabulate(report: Report, comparison: Comparison | None) -> Table:
    from gleaner_local.evaluation.figures import FIGURES

    table = Table(title=f"{report.file}: {len(report.cases)} cases, model {report.model}", title_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("cases", justify="right")
    has_spread = report.repeats > 1
    if has_spread:
        table.add_column("lowest … highest, s.d.", justify="right")
    changes = {change.figure.name: change for change in comparison.changes} if comparison else {}
    if changes:
        for column in ("baseline", "worse", "better", "p", ""):
            table.add_column(column, justify="right")
    for figure in FIGURES:
        if (value := report.figures.get(figure.name)) is None:
            continue
        cells = [figure.label, _format(figure, value.value), str(value.n)]
        cells += [_format_spread(figure, value)] if has_spread else []
        cells += _compare_cells(figure, changes.get(figure.name)) if changes else []
        table.add_row(*cells)
    return table


def _compare_cells(figure: Figure, change: FigureChange | None) -> Sequence[str]:
    if change is None:
        return ("new", "", "", "", "")
    mark = "FELL" if change.fell else ""
    return (
        _format(figure, change.before),
        str(len(change.worse)),
        str(len(change.better)),
        f"{change.p:.3f}" if change.worse or change.better else "",
        mark,
    )


def _tabulate_groups(report: Report) -> Table:
    from gleaner_local.evaluation.figures import FIGURES

    shown = [figure for figure in FIGURES if figure.name in _OF_GROUPS]
    table = Table(title="Groups", title_justify="left")
    table.add_column("group")
    table.add_column("cases", justify="right")
    for figure in shown:
        table.add_column(figure.name.replace("_", " "), justify="right")
    for name, figures in report.groups.items():
        table.add_row(terminal.show_line(name), str(figures["right"].n), *_group_cells(shown, figures))
    return table


def _group_cells(shown: Sequence[Figure], figures: Mapping[str, FigureValue]) -> list[str]:
    return [_format(figure, figures[figure.name].value) if figure.name in figures else "" for figure in shown]


def _describe_run(report: Report) -> Iterator[str]:
    if report.interrupted:
        yield "INTERRUPTED: the figures are of the cases that had been asked by then."
    for kind, counts in report.verdicts.items():
        if counts:
            yield f"Verdicts, {kind}: " + ", ".join(f"{name} {count}" for name, count in counts.items())
    yield f"Latency: median {report.times.p50:,.0f} ms, 95th percentile {report.times.p95:,.0f} ms"
    if report.judge:
        judge = report.judge
        yield (
            f"Judged by {judge.model}: {sum(judge.right.values())} of {len(judge.right)} right. It agrees with "
            f"{judge.agreement:.0%} of {judge.judged_by_hand} answers that people judged (Cohen's kappa "
            f"{judge.kappa:.2f}); {judge.unclear} verdicts were unclear."
        )
    if report.judge_problem:
        yield f"The answers were not judged: {report.judge_problem}"
    if report.drafts:
        yield f"Drafts that were not asked: {report.drafts}. Edit them, and take out their field draft."
    yield from _describe_missed([missed for missed in report.not_asked if not missed.left_out], "could not be asked")
    yield from _describe_missed([missed for missed in report.not_asked if missed.left_out], "were left out")


def _describe_missed(missed: Sequence[NotAskedReport], what: str) -> Iterator[str]:
    if missed:
        yield f"Cases that {what}, and count nowhere: {len(missed)}"
    for case in missed[:_MAX_LISTED]:
        yield f"  {_name(case)}: {case.reason}"
    yield from _more(len(missed))


def _name(case: CaseReport | NotAskedReport) -> str:
    """A case as people recognize it: by its question, beside an id that may be a hash."""
    return f"{case.id} {textwrap.shorten(case.query, _MAX_QUERY, placeholder=' …')!r}" if case.query else case.id


def _describe_wrong(report: Report) -> Iterator[str]:
    wrong = [case for case in report.cases if case.reasons]
    if wrong:
        yield f"Cases that are not right: {len(wrong)}"
    for case in wrong[:_MAX_LISTED]:
        yield f"  {_name(case)}: {'; '.join(case.reasons)}"
    yield from _more(len(wrong))


def _describe_comparison(comparison: Comparison) -> Iterator[str]:
    yield (
        f"Compared with the baseline: {comparison.compared} cases. Not compared: {len(comparison.new)} new, "
        f"{len(comparison.changed)} changed, {len(comparison.missing)} that the baseline alone has."
    )
    for change in comparison.changes:
        if change.worse and change.figure.is_share:
            ids = ", ".join(change.worse[:_MAX_LISTED])
            more = f" and {len(change.worse) - _MAX_LISTED} more" if len(change.worse) > _MAX_LISTED else ""
            yield f"  worse in {change.figure.name}: {ids}{more}"
    if comparison.fallen:
        yield f"Fell: {', '.join(change.figure.name for change in comparison.fallen)}."
        return
    yield "No figure fell significantly."
    if 2.0**-comparison.compared >= _LEVEL:
        yield f"With {comparison.compared} cases none can: write more, or use --fail-on any."


def _more(count: int) -> Iterator[str]:
    if count > _MAX_LISTED:
        yield f"  and {count - _MAX_LISTED:,} more; --json FILE has all"


def _format(figure: Figure, value: float) -> str:
    if figure.is_share:
        return f"{100 * value:.1f} %"
    if figure.name == "usd":
        return f"{value:.6f}"
    return f"{value:,.0f}" if figure.name.endswith("tokens") else f"{value:.3f}"


def _format_spread(figure: Figure, value: FigureValue) -> str:
    if value.low is None or value.high is None or value.deviation is None:
        return ""
    low, high, deviation = (_format(figure, each) for each in (value.low, value.high, value.deviation))
    return f"{low} … {high}, {deviation}"
