"""What is said of a run beside its figures."""

from __future__ import annotations

from typing import Any

from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.exchange import Source
from gleaner_local.evaluation.measuring import Measured
from gleaner_local.evaluation.own_service import Loaded
from gleaner_local.evaluation.remarks import remark_on_loading, remark_on_planting, remark_on_repeats
from gleaner_local.evaluation.run import Outcome
from gleaner_local.evaluation.summary import make_report
from tests.doubles.answering_service import passage

PAGE = {"title": "T", "text": "t", "url": "https://planted.example/t"}


def case(name: str, **fields: Any) -> Case:
    return Case.model_validate({"id": name, "query": f"{name}?"} | fields)


def source(**fields: Any) -> Source:
    return Source.model_validate(passage(**fields))


def loaded(**fields: Any) -> Loaded:
    places = {"base": [source(), source(source_file_path="docs/other.md", chapter="Other")], "empty": []}
    return Loaded(default_kb_id="base", places=places, **fields)


def test_expected_places_that_nothing_was_loaded_from_are_named() -> None:
    cases = [
        case("fits", expected_files=["keywords.md"], expected_chapters=["Length"]),
        case("file", expected_files=["docs/Keywords.md", "other.md"]),
        case("chapter", expected_chapters=["Lenght"]),
        case("both", expected_files=["other.md"], expected_chapters=["Length"]),
        case("elsewhere", expected_files=["keywords.md"], kb_id="empty"),
        case("nothing"),
    ]
    assert list(remark_on_loading(loaded(skipped=["docs/empty.md: is empty"]), cases)) == [
        "not loaded: docs/empty.md: is empty",
        "file expects what was not loaded: 'docs/Keywords.md'",
        "chapter expects what was not loaded: 'Lenght'",
        "both expects chapters that none of its expected files has",
        "elsewhere expects what was not loaded: 'keywords.md'",
    ]


def test_a_case_that_meets_what_another_one_plants_is_named() -> None:
    def outcome(name: str, **fields: Any) -> Outcome:
        measured = Measured(values={}, reasons=(), verdict="", tools=(), answer="", latency_ms=1.0, **fields)
        return Outcome(case(name), [measured])

    planted = loaded(planted={("base", "base/0-0.md"): "own", ("other", "docs/x.md"): "own", PAGE["url"]: "own"})
    page = source(source_type="external", source_file_path=None, source_url=PAGE["url"])
    outcomes = [
        outcome("own", passages=(source(source_file_path="base/0-0.md"),), sources=(page,)),
        outcome("file", passages=(source(source_file_path="base/0-0.md"),)),
        outcome("page", sources=(page,)),
        outcome("another base", passages=(source(source_file_path="docs/x.md"),)),
    ]
    assert list(remark_on_planting(planted, outcomes)) == [
        "file found what is planted for own",
        "page found what is planted for own",
    ]


def test_a_baseline_of_other_repetitions_or_of_an_interrupted_run_is_told() -> None:
    def report(repeats: int, *, interrupted: bool = False) -> Any:
        return make_report([], file="a", model="m", repeats=repeats, drafts=0, interrupted=interrupted)

    assert not list(remark_on_repeats(report(5), 5))
    assert list(remark_on_repeats(report(1, interrupted=True), 5)) == [
        "the baseline has 1 runs of each case and this report 5: repeat both alike",
        "the baseline is of a run that was interrupted",
    ]
