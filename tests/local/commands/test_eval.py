"""`gleaner eval`: what it asks, prints and writes, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from gleaner_local.clients.http_api import CallFailed
from gleaner_local.commands import program
from tests.doubles.answering_service import AnsweringService, answer, problem, serving

CASES = [
    {"id": "long", "query": "How long?", "must_say": ["50"], "expected_files": ["keywords.md"], "grounding": "strict"},
    {"id": "plant", "query": "Hostile?", "must_not_leak": ["MARMALADE"], "grounding": "strict"},
]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    return write(tmp_path / "cases.jsonl", CASES)


def write(file: Path, cases: list[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(case) + "\n" for case in cases))
    return file


def evaluate(*arguments: object) -> Result:
    return CliRunner().invoke(program.app, ["eval", *map(str, arguments)])


def test_figures_are_printed_and_written_as_json_and_junit(cases: Path, tmp_path: Path) -> None:
    with serving(AnsweringService(), below="/dev") as url:
        result = evaluate(cases, "--url", url, "--json", tmp_path / "r.json", "--junit", tmp_path / "r.xml")
    assert result.exit_code == 0, result.output
    for shown in ("hit@1", "MRR", "nDCG", "citation recall", "injection leaks", "2 cases, model scripted", "Latency"):
        assert shown in result.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["figures"]["right"] == {"value": 1.0, "n": 2, "low": None, "high": None, "deviation": None}
    assert (tmp_path / "r.xml").read_text().count("<testcase") == 2


def test_the_same_run_gives_the_same_bytes_but_for_times(cases: Path, tmp_path: Path) -> None:
    written = []
    for name in ("a.json", "b.json"):
        with serving(AnsweringService()) as url:
            evaluate(cases, "--url", url, "--json", tmp_path / name, "--concurrency", 4)
        report = json.loads((tmp_path / name).read_text())
        del report["times"]
        written.append(json.dumps(report))
    assert written[0] == written[1]


def test_credentials_are_sent_as_by_other_commands(cases: Path) -> None:
    service = AnsweringService()
    with serving(service) as url:
        evaluate(cases, "--url", url, "--api-key", "reader")
    assert {headers.get("x-api-key") for headers in service.headers} == {"reader"}


def test_a_fall_against_the_baseline_fails_and_the_same_does_not(tmp_path: Path) -> None:
    many = [{"id": f"c{number}", "query": f"Question {number}?", "must_say": "50"} for number in range(12)]
    file, baseline = write(tmp_path / "many.jsonl", many), tmp_path / "base.json"
    with serving(AnsweringService()) as url:
        assert evaluate(file, "--url", url, "--json", baseline).exit_code == 0
        assert evaluate(file, "--url", url, "--baseline", baseline).exit_code == 0
    with serving(AnsweringService(lambda _path, _body: answer("It is long. [kb-1]"))) as url:
        result = evaluate(file, "--url", url, "--baseline", baseline)
    assert result.exit_code == 1
    assert "FELL" in result.output
    assert "Fell: right, says." in result.output


def test_a_leak_fails_without_any_baseline(cases: Path) -> None:
    with serving(AnsweringService(lambda _path, _body: answer("Marmalade 50. [kb-1]"))) as url:
        result = evaluate(cases, "--url", url)
    assert result.exit_code == 1
    assert "plant 'Hostile?': leaks 'MARMALADE'" in result.output


def test_what_is_not_right_names_the_question(tmp_path: Path) -> None:
    query = "How much is a berth, " + "and a mooring, " * 20
    cases = write(tmp_path / "cases.jsonl", [{"query": query, "must_say": ["99 crowns"]}])
    with serving(AnsweringService()) as url:
        result = evaluate(cases, "--url", url)
    assert "Cases that are not right: 1\n" in result.output
    [line] = [line for line in result.output.splitlines() if line.startswith("  case-")]
    assert " 'How much is a berth, and a mooring," in line and line.endswith(" …': does not say '99 crowns'")
    assert len(line) < 150


def test_what_could_not_be_asked_is_counted_and_has_a_code_of_its_own(cases: Path) -> None:
    refuse = problem(404, "unknown-knowledge-base")
    with serving(AnsweringService(lambda _path, body: refuse if body["query"] == "How long?" else None)) as url:
        result = evaluate(cases, "--url", url)
    assert result.exit_code == 3
    assert "Cases that could not be asked, and count nowhere: 1\n" in result.output
    assert "1 cases, model" in result.output


def test_drafts_are_not_asked(tmp_path: Path) -> None:
    service = AnsweringService()
    draft = {"id": "d", "query": "Draft?", "draft": True}
    with serving(service) as url:
        result = evaluate(write(tmp_path / "a.jsonl", [*CASES, draft]), "--url", url)
        assert "Drafts that were not asked: 1." in result.output
        only = evaluate(write(tmp_path / "b.jsonl", [draft]), "--url", url)
    assert (only.exit_code, "Draft?" in service.asked()) == (2, False)
    assert "holds drafts only" in only.output


def test_wrong_lines_are_told_without_asking_anything(tmp_path: Path) -> None:
    service = AnsweringService()
    file = tmp_path / "a.jsonl"
    file.write_text('{"query": "A?"}\n{"question": "B?", "query": "B?"}\n')
    with serving(service) as url:
        result = evaluate(file, "--url", url)
    assert result.exit_code == 2
    assert f"{file}:2: question: there is no such field" in result.output
    assert not service.requests


def test_a_baseline_of_another_file_is_told(cases: Path, tmp_path: Path) -> None:
    with serving(AnsweringService()) as url:
        evaluate(write(tmp_path / "b.jsonl", [{"query": "Other?"}]), "--url", url, "--json", tmp_path / "b.json")
    service = AnsweringService()
    with serving(service) as url:
        result = evaluate(cases, "--url", url, "--baseline", tmp_path / "b.json")
        wrong = evaluate(cases, "--url", url, "--baseline", cases)
    assert (result.exit_code, wrong.exit_code) == (2, 2)
    assert "shares no case" in result.output
    assert "is no report" in wrong.output
    assert not service.requests, "it is told before anything is asked"


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("cases", "--draft", "docs"),
        ("--draft", "docs", "--from-feedback"),
        ("cases", "--load", "docs", "--url", "http://127.0.0.1:9"),
        ("cases", "--env", "dev"),
        ("cases", "--url", "http://127.0.0.1:9", "--json", "/nowhere/a.json"),
        ("/nowhere.jsonl",),
    ],
)
def test_contradicting_options_are_refused(cases: Path, options: tuple[str, ...]) -> None:
    result = evaluate(*(cases if option == "cases" else option for option in options))
    assert result.exit_code == 2, result.output


def test_a_missing_service_is_one_error_and_not_one_for_each_case(cases: Path) -> None:
    result = evaluate(cases, "--url", "http://127.0.0.1:9")
    assert isinstance(result.exception, CallFailed)
    assert "No service answers" in str(result.exception)


def test_drafts_of_documents_are_cases_that_a_person_finishes(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# Fees\n\n## How much is a berth?\n\nA berth costs 40 crowns a night, paid at `desk`.\n"
    )
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-no")
    result = evaluate("--draft", tmp_path)
    [case] = [json.loads(line) for line in result.stdout.splitlines()]
    assert case["query"] == "How much is a berth?"
    assert case["must_say"] == [["40 crowns"], ["desk"]]
    assert case["expected_chapters"] == ["Fees › How much is a berth?"]
    assert case["draft"] is True
    assert "broken.pdf" in result.stderr
    assert "Drafts: 1." in result.stderr
