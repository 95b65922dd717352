"""Compares a run with a baseline, case by case, and says which figures fell."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gleaner_local.evaluation.cases import InvalidCases
from gleaner_local.evaluation.figures import FIGURES, Better, Figure
from gleaner_local.evaluation.report import CaseReport, Report
from gleaner_local.evaluation.significance import adjust_by_holm, worse_by_mcnemar, worse_by_randomization

LEVEL = 0.05
# More tokens by less than this share are what every change of a prompt or a document brings.
MIN_GROWTH = 0.05
_GROWING = ("input_tokens", "usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChange:
    """A figure over the cases that both runs asked; `p` is adjusted for the number of figures that could fall."""

    figure: Figure
    before: float
    now: float
    n: int
    worse: tuple[str, ...]  # ids of cases
    better: tuple[str, ...]
    p: float = 1.0
    fell: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs. Cases that only one of them has, or whose content differs, are counted but not compared."""

    changes: tuple[FigureChange, ...]
    compared: int
    new: tuple[str, ...]
    missing: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def fallen(self) -> list[FigureChange]:
        """The figures that fell."""
        return [change for change in self.changes if change.fell]

    @property
    def worse_by_case(self) -> dict[str, list[str]]:
        """The names of the shares and of the figures that fell in which a case became worse, those that fell first."""
        shown = sorted((change for change in self.changes if change.fell or change.figure.is_share), key=_is_spared)
        worse: dict[str, list[str]] = {}
        for change in shown:
            for case in change.worse:
                worse.setdefault(case, []).append(change.figure.name)
        return worse


def compare(baseline: Report, current: Report, *, any_fall: bool = False) -> Comparison:
    """Compare each figure over the cases that both runs asked. Raises InvalidCases if they share none.

    A figure fell if it is significantly worse or, with `any_fall`, if it is worse for any case.
    """
    before = {case.id: case for case in baseline.cases}
    now = {case.id: case for case in current.cases}
    shared = [name for name in now if name in before]
    same = [name for name in shared if now[name].digest == before[name].digest]
    require_shared(baseline, [(case.id, case.digest) for case in current.cases], current.file)
    pairs = [(before[name], now[name]) for name in same]
    changes = [change for figure in FIGURES if (change := _compare_figure(figure, pairs)) is not None]
    return Comparison(
        changes=tuple(_judge(changes, any_fall=any_fall)),
        compared=len(same),
        new=tuple(name for name in now if name not in before),
        missing=tuple(name for name in before if name not in now),
        changed=tuple(name for name in shared if name not in set(same)),
    )


def require_shared(baseline: Report, cases: Iterable[tuple[str, str]], file: str) -> None:
    """Raises InvalidCases if the baseline has none of these cases (id and digest)."""
    if not shares_cases(baseline, cases):
        raise InvalidCases(
            f"The baseline is of {baseline.file!r} and shares no case with {file!r}: their ids or contents differ."
        )


def shares_cases(baseline: Report, cases: Iterable[tuple[str, str]]) -> bool:
    """Whether the baseline has one of these cases (id and digest)."""
    return not {(case.id, case.digest) for case in baseline.cases}.isdisjoint(cases)


def _compare_figure(figure: Figure, pairs: Sequence[tuple[CaseReport, CaseReport]]) -> FigureChange | None:
    name = figure.name
    known = [
        (one.id, one.values[name], two.values[name]) for one, two in pairs if name in one.values and name in two.values
    ]
    if not known:
        return None
    sign = -1 if figure.better is Better.LOW else 1
    losses = {case: sign * (before - now) for case, before, now in known}
    worse = tuple(case for case, loss in losses.items() if loss > 0)
    better = tuple(case for case, loss in losses.items() if loss < 0)
    is_binary = all(value in (0.0, 1.0) for _, *values in known for value in values)
    p = worse_by_mcnemar(len(worse), len(better)) if is_binary else worse_by_randomization(list(losses.values()))
    return FigureChange(
        figure=figure,
        before=statistics.fmean(before for _, before, _ in known),
        now=statistics.fmean(now for _, _, now in known),
        n=len(known),
        worse=worse,
        better=better,
        p=p,
    )


def _judge(changes: Sequence[FigureChange], *, any_fall: bool) -> list[FigureChange]:
    """Adjust p and say what fell.

    A figure that cannot fall is no test to adjust for: one in which no case changed, or whose growth is too small to
    count. Otherwise a few more tokens, which no change of a prompt avoids, would hide a fall of the answers.
    """
    tested = {change.figure.name: change.p for change in changes if _can_fall(change)}
    adjusted = adjust_by_holm(tested)
    judged = []
    for change in changes:
        p = adjusted.get(change.figure.name, 1.0)
        is_fall = bool(change.worse) and (any_fall or p < LEVEL)
        judged.append(replace(change, p=p, fell=change.figure.name in tested and is_fall))
    return judged


def _is_spared(change: FigureChange) -> bool:
    return not change.fell


def _can_fall(change: FigureChange) -> bool:
    return change.figure.better is not Better.NEITHER and bool(change.worse or change.better) and _is_large(change)


def _is_large(change: FigureChange) -> bool:
    return change.figure.name not in _GROWING or change.now > change.before * (1 + MIN_GROWTH)
