"""Shows the report of `gleaner eval` on the terminal, and writes it to files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from gleaner_local.commands import eval_tables, terminal

if TYPE_CHECKING:
    from gleaner_local.evaluation.comparing import Comparison
    from gleaner_local.evaluation.report import CaseReport, NotAskedReport, Report

_MAX_LISTED = 20
_MAX_QUERY = 80  # characters
_WIDTH = 110  # where nobody looks at a terminal
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
        console.print(eval_tables.tabulate(report, comparison))
        if report.groups:
            console.print(eval_tables.tabulate_groups(report))
    lines = [
        *_describe_run(report),
        *(_describe_comparison(comparison, report) if comparison else _describe_wrong(report)),
    ]
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


def _describe_run(report: Report) -> Iterator[str]:
    if report.interrupted:
        yield "INTERRUPTED: the figures are of the cases that had been asked by then."
    if report.remarks:
        yield f"Remarks: {len(report.remarks)}"
    for remark in report.remarks[:_MAX_LISTED]:
        yield f"  {remark}"
    yield from _more(len(report.remarks))
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


def _describe_comparison(comparison: Comparison, report: Report) -> Iterator[str]:
    yield (
        f"Compared with the baseline: {comparison.compared} cases. Not compared: {len(comparison.new)} new, "
        f"{len(comparison.changed)} changed, {len(comparison.missing)} that the baseline alone has."
    )
    worse = comparison.worse_by_case
    shown = [case for case in report.cases if case.id in worse or case.values.get("leaks")]
    if shown:
        yield f"Cases that became worse, or leak: {len(shown)}"
    for case in shown[:_MAX_LISTED]:
        figures = f" (worse in {', '.join(worse[case.id])})" if case.id in worse else ""
        yield f"  {_name(case)}{figures}: {'; '.join(case.reasons) or 'right, but not as good as it was'}"
    yield from _more(len(shown))
    if comparison.fallen:
        yield f"Fell: {', '.join(change.figure.name for change in comparison.fallen)}."
        return
    yield "No figure fell significantly."
    if 2.0**-comparison.compared >= _LEVEL:
        yield f"With {comparison.compared} cases none can: write more, or use --fail-on any."


def _more(count: int) -> Iterator[str]:
    if count > _MAX_LISTED:
        yield f"  and {count - _MAX_LISTED:,} more; --json FILE has all"
