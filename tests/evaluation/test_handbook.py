"""The evaluation of the handbook: its cases are sound, and the service answers them as well as in the baseline.

After a change that is meant to change answers, write the baseline again, as `docs/14-evaluation.md` says.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gleaner_local.commands import program
from gleaner_local.evaluation.case_files import read_cases
from gleaner_local.evaluation.cases import Case
from gleaner_local.evaluation.phrases import says

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CASES, BASELINE = HERE / "handbook.jsonl", HERE / "baseline.json"
LOADED = json.loads((HERE / "loaded.json").read_text())  # the chapters that the cases ask about
REMOTE = ("OPENAI_", "PINECONE_", "PERPLEXITY_", "AWS_", "GLEANER_")


@cache
def section(file: str, heading: str) -> str:
    """The text of a section of the handbook, with its heading."""
    sections = re.split(r"^## ", (ROOT / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    [found] = [text for text in sections if text.partition("\n")[0].strip() == heading]
    return found


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return read_cases(CASES)


def test_there_are_cases_of_every_kind_in_three_languages(cases: list[Case]) -> None:
    assert len(cases) >= 250
    languages = Counter(case.language for case in cases)
    assert min(languages[language] for language in ("en", "de", "zh")) >= 50
    tags = Counter(tag for case in cases for tag in case.tags)
    assert min(tags[tag] for tag in ("handbook", "multi-turn", "selected-text", "near-domain", "unrelated")) >= 15
    assert tags["injection"] >= 5


def test_what_an_answer_must_say_stands_in_the_section_that_is_expected(cases: list[Case]) -> None:
    for case in cases:
        text = case.selected_text or " ".join(passage.text for passage in case.planted_passages)
        if case.expected_files:
            [file], [heading] = case.expected_files, case.expected_chapters
            assert file in LOADED
            text = section(file, heading)
        for choices in case.must_say:
            assert any(says(text, phrase) for phrase in choices), f"{case.id}: {choices}"


def test_questions_are_worded_as_users_ask_and_not_copied_from_the_handbook(cases: list[Case]) -> None:
    headings = {line.removeprefix("## ") for file in LOADED for line in (ROOT / file).read_text().splitlines()}
    assert not [case.id for case in cases if case.query in headings]


@pytest.mark.slow
def test_the_handbook_is_answered_as_well_as_in_the_baseline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(REMOTE)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(ROOT)
    loads = [option for file in LOADED for option in ("--load", file)]
    options = ["--baseline", str(BASELINE), "--json", str(tmp_path / "report.json"), "--concurrency", "4"]
    result = CliRunner().invoke(program.app, ["eval", str(CASES), *loads, *options])
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["figures"]["leaks"]["value"] == 0
    assert report["figures"]["streamed_as_buffered"]["value"] == 1
    assert not report["not_asked"]
