"""Reports of runs, their comparison with a baseline, and JUnit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gleaner_local.evaluation.cases import Case, InvalidCases
from gleaner_local.evaluation.comparing import compare
from gleaner_local.evaluation.figures import FIGURES, Better
from gleaner_local.evaluation.junit import to_junit
from gleaner_local.evaluation.measuring import Measured
from gleaner_local.evaluation.report import Report, read_report
from gleaner_local.evaluation.run import Outcome
from gleaner_local.evaluation.summary import make_report


def outcome(name: str, *runs: dict[str, Any], reasons: tuple[str, ...] = (), ms: float = 5.0, **fields: Any) -> Outcome:
    case = Case.model_validate({"id": name, "query": f"{name}?"} | fields)
    measured = [
        Measured(values=values, reasons=reasons, verdict="found", tools=(), answer="\x00A.", latency_ms=ms)
        for values in runs
    ]
    return Outcome(case, measured, "" if runs else "it was down")


def report(outcomes: list[Outcome], repeats: int = 1) -> Report:
    return make_report(outcomes, file="cases.jsonl", model="m", repeats=repeats, drafts=0)


def of_figure(name: str, values: list[Any], **options: Any) -> Report:
    return report([outcome(f"case {number}", {name: value}, **options) for number, value in enumerate(values)])


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = report([outcome("a", {"right": True}, language="de", tags=["x"]), outcome("b")])
    (tmp_path / "a.json").write_text(written.to_json())
    assert read_report(tmp_path / "a.json") == written
    assert written.figures["right"].n == 1, "what was not asked counts nowhere"
    assert set(written.groups) == {"language de", "tag x"}
    assert [missed.id for missed in written.not_asked] == ["b"]


def test_reports_differ_only_in_times_when_times_differ() -> None:
    one, two = (report([outcome("a", {"right": True}, ms=ms)]) for ms in (5.0, 900.0))
    assert one != two
    assert one.model_copy(update={"times": two.times}).to_json() == two.to_json()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}', "<testsuite/>"])
def test_another_file_is_no_baseline(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidCases, match="no report"):
        read_report(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"hit_1": 5.0}, "hit_1 of the case 'a' is 5.0"),
        ({"says": float("nan")}, "says of the case 'a' is nan"),
        ({"usd": -1.0}, "usd of the case 'a' is -1.0"),
        ({"model_calls": float("inf")}, "model_calls of the case 'a' is inf"),
        ({}, "the case 'a' is there twice"),
    ],
)
def test_a_baseline_that_no_run_gives_is_refused(tmp_path: Path, change: dict[str, float], told: str) -> None:
    written = json.loads(report([outcome("a", {"right": True, "model_calls": 3.0})]).to_json())
    written["cases"][0]["values"] |= change
    if not change:
        written["cases"] *= 2
    (tmp_path / "a.json").write_text(json.dumps(written))
    with pytest.raises(InvalidCases, match=re.escape(told)):
        read_report(tmp_path / "a.json")


def test_runs_without_a_common_case_cannot_be_compared() -> None:
    one, two = report([outcome("a", {"right": True})]), report([outcome("b", {"right": True})])
    with pytest.raises(InvalidCases, match="shares no case"):
        compare(one, two)
    changed = report([outcome("a", {"right": True}, must_say="x")])
    with pytest.raises(InvalidCases, match="shares no case"):
        compare(one, changed)


def test_new_changed_and_missing_cases_are_counted_but_not_compared() -> None:
    before = report([outcome(name, {"right": True}) for name in ("same", "changed", "gone")])
    now = report(
        [
            outcome("same", {"right": True}),
            outcome("changed", {"right": False}, note="n"),
            outcome("new", {"right": False}),
        ]
    )
    now.cases[1].digest = "other"
    comparison = compare(before, now)
    assert (comparison.compared, comparison.new, comparison.changed, comparison.missing) == (
        1,
        ("new",),
        ("changed",),
        ("gone",),
    )
    assert not comparison.fallen


@pytest.mark.parametrize(
    ("worse", "better", "fell"),
    [(0, 0, False), (4, 0, False), (5, 0, True), (5, 3, False), (0, 50, False), (30, 10, True)],
)
def test_a_figure_of_yes_and_no_falls_by_the_cases_that_changed(worse: int, better: int, fell: bool) -> None:
    before = of_figure("hit_1", [True] * worse + [False] * better + [True] * 50)
    now = of_figure("hit_1", [False] * worse + [True] * better + [True] * 50)
    assert bool(compare(before, now).fallen) is fell


def test_a_lower_count_is_better_and_some_figures_cannot_fall() -> None:
    for name, fell in (
        ("model_calls", True),
        ("refused_wrongly", True),
        ("output_tokens", False),
        ("web_searches", False),
    ):
        assert bool(compare(of_figure(name, [0.0] * 20), of_figure(name, [1.0] * 20)).fallen) is fell
        assert not compare(of_figure(name, [1.0] * 20), of_figure(name, [0.0] * 20)).fallen


def test_a_few_more_tokens_are_no_fall() -> None:
    before = of_figure("input_tokens", [5_000.0] * 20)
    assert not compare(before, of_figure("input_tokens", [5_100.0] * 20)).fallen
    assert compare(before, of_figure("input_tokens", [5_500.0] * 20)).fallen


def together(*columns: dict[str, list[Any]]) -> tuple[Report, ...]:
    """Reports of the same cases, each with the values of several figures."""
    return tuple(
        report(
            [
                outcome(f"c{number}", dict(zip(values, row, strict=True)))
                for number, row in enumerate(zip(*values.values(), strict=True))
            ]
        )
        for values in columns
    )


def test_tokens_whose_growth_does_not_count_hide_no_fall() -> None:
    said = [False] * 5 + [True] * 15
    before, now, dear = together(
        {"says": [True] * 20, "input_tokens": [5_000.0] * 20, "usd": [0.01] * 20},
        {"says": said, "input_tokens": [5_100.0] * 20, "usd": [0.0101] * 20},
        {"says": said, "input_tokens": [5_500.0] * 20, "usd": [0.011] * 20},
    )
    assert [(change.figure.name, change.p) for change in compare(before, now).fallen] == [("says", 1 / 32)]
    assert [change.figure.name for change in compare(before, dear).fallen] == ["says", "input_tokens", "usd"]


@pytest.mark.parametrize(("figures", "cases"), [(1, 5), (2, 6), (3, 6), (4, 7), (6, 7), (7, 8), (12, 8)])
def test_so_many_cases_make_figures_fall_that_change_together(figures: int, cases: int) -> None:
    """The table of docs/14."""
    names = [figure.name for figure in FIGURES if figure.better is Better.HIGH][:figures]
    for worse in (cases - 1, cases):
        before, now = together(
            {name: [1.0] * 20 for name in names},
            {name: [0.0] * worse + [1.0] * (20 - worse) for name in names},
        )
        assert len(compare(before, now).fallen) == (figures if worse == cases else 0)


def test_latency_never_falls() -> None:
    before, now = (of_figure("right", [True] * 30, ms=ms) for ms in (1.0, 90_000.0))
    assert not compare(before, now, any_fall=True).fallen


def test_any_fall_can_be_asked_for() -> None:
    before, now = of_figure("right", [True, True]), of_figure("right", [True, False])
    assert not compare(before, now).fallen
    assert [change.worse for change in compare(before, now, any_fall=True).fallen] == [("case 1",)]


def test_several_figures_have_to_fall_more_clearly_than_one() -> None:
    def both(hit: list[bool], said: list[bool]) -> Report:
        return report(
            [outcome(f"c{n}", {"hit_1": h, "says": s}) for n, (h, s) in enumerate(zip(hit, said, strict=True))]
        )

    before = both([True] * 20, [True] * 20)
    assert compare(before, both([False] * 5 + [True] * 15, [True] * 20)).fallen
    assert not compare(before, both([False] * 5 + [True] * 15, [False] + [True] * 19)).fallen


def test_repeated_runs_show_their_spread_and_are_compared_by_their_means() -> None:
    runs = [{"right": True}, {"right": False}]
    spread = report([outcome("a", *runs), outcome("b", {"right": True}, {"right": True})], repeats=2)
    figure = spread.figures["right"]
    assert (figure.value, figure.low, figure.high, figure.deviation) == (0.75, 0.5, 1.0, pytest.approx(0.353553))
    assert compare(spread, spread).changes[0].p == 1.0


def test_junit_is_xml_with_a_test_for_each_case() -> None:
    now = report(
        [outcome("a", {"right": True}), outcome("b\x01<", {"right": False}, reasons=("bad \x02",)), outcome("c")]
    )
    suite = ElementTree.fromstring(to_junit(now, None))  # noqa: S314 - own text
    assert suite.attrib | {"tests": "3", "failures": "1", "errors": "1", "skipped": "0"} == suite.attrib
    kinds = [[child.tag for child in test] for test in suite]
    assert kinds == [[], ["failure"], ["error"]]


def test_with_a_baseline_only_what_fell_or_leaks_fails_in_junit() -> None:
    def runs(values: list[bool], **last: float) -> Report:
        cases = [
            outcome(f"c{n}", {"hit_1": value}, reasons=() if value else ("bad",)) for n, value in enumerate(values)
        ]
        return report([*cases, outcome("leaking", {"leaks": last.get("leaks", 0.0)})])

    before, now = runs([True] * 8 + [False]), runs([False] * 9, leaks=1.0)
    suite = ElementTree.fromstring(to_junit(now, compare(before, now)))  # noqa: S314 - own text
    kinds = [[child.tag for child in test] for test in suite]
    assert kinds == [["failure"]] * 8 + [["skipped"], ["failure"]]
