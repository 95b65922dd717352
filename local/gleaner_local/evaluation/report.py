"""The report of a run: figures of all cases and of groups of them, each case, and the times apart from them.

The same run of the local model gives the same report but for `times`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from gleaner_local.evaluation.cases import InvalidCases
from gleaner_local.evaluation.figures import FIGURES
from gleaner_local.evaluation.judging import JudgeReport

FORMAT = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FigureValue(_Model):
    """A figure over `n` cases: its mean and, of several runs, the lowest, highest and standard deviation of a run."""

    value: float
    n: int
    low: float | None = None
    high: float | None = None
    deviation: float | None = None


class CaseReport(_Model):
    """A case that was asked. Values are means over its runs; the rest is of the last one."""

    id: str
    query: str | None = None  # which earlier reports lack
    digest: str
    language: str | None
    tags: list[str]
    values: dict[str, float]
    verdict: str
    tools: list[str]
    reasons: list[str]
    answer: str
    # Places as "file › heading › …", which earlier reports lack: what was found, in order, and what was cited.
    passages: list[str] = []
    cited: list[str] = []


class NotAskedReport(_Model):
    """A case that was not asked. It counts in no figure. `left_out`: its planted texts cannot be in this service."""

    id: str
    query: str | None = None  # which earlier reports lack
    reason: str
    left_out: bool = False


class Times(_Model):
    """Milliseconds from a question to the end of its stream: median, 95th percentile, and of each case."""

    p50: float
    p95: float
    cases: dict[str, float]


class Report(_Model):
    """All of a run."""

    format: int
    gleaner: str
    file: str
    model: str
    repeats: int
    drafts: int
    figures: dict[str, FigureValue]
    groups: dict[str, dict[str, FigureValue]]
    verdicts: dict[str, dict[str, int]]
    cases: list[CaseReport]
    not_asked: list[NotAskedReport]
    judge: JudgeReport | None = None
    judge_problem: str | None = None  # why there is no judge, although one was asked for
    remarks: list[str] = []  # what a person should know of the run
    interrupted: bool = False  # what was not asked by then is among not_asked
    times: Times

    def to_json(self) -> str:
        """JSON that is the same for the same report."""
        return self.model_dump_json(indent=1) + "\n"


def read_report(path: Path) -> Report:
    """Read a report that `to_json` wrote. Raises InvalidCases that says what the file is instead."""
    try:
        report = Report.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidCases(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise InvalidCases(f"{path} is no report of `gleaner eval --json`.") from error
    if report.format != FORMAT:
        raise InvalidCases(f"{path} is a report of another version (format {report.format}): write it again.")
    if problem := next(_iter_impossible(report), None):
        raise InvalidCases(f"{path} was changed by hand or in part: {problem}. Write it again.")
    return report


def _iter_impossible(report: Report) -> Iterator[str]:
    """What no run gives, and would be compared without a word."""
    ids = Counter(case.id for case in report.cases)
    yield from (f"the case {name!r} is there twice" for name, count in ids.items() if count > 1)
    shares = {figure.name for figure in FIGURES if figure.is_share}
    for case in report.cases:
        for name, value in case.values.items():
            if not (math.isfinite(value) and value >= 0 and (value <= 1 or name not in shares)):
                yield f"{name} of the case {case.id!r} is {value}"
