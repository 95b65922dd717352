"""The figures of `gleaner eval` as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from gleaner_local.commands import terminal

if TYPE_CHECKING:
    from gleaner_local.evaluation.comparing import Comparison, FigureChange
    from gleaner_local.evaluation.figures import Figure
    from gleaner_local.evaluation.report import FigureValue, Report

_OF_GROUPS = ("right", "hit_1", "reciprocal_rank", "says", "refused_rightly", "refused_wrongly")


def tabulate(report: Report, comparison: Comparison | None) -> Table:
    """All figures and, with a comparison, what became of each."""
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


def tabulate_groups(report: Report) -> Table:
    """Some figures of each language and tag."""
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
