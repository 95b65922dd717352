"""The doctor's findings about this machine when no service runs, and about faulty variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gleaner_local.commands import program
from gleaner_local.diagnosis.finding import Finding, State
from gleaner_local.diagnosis.here import LocalCheck
from gleaner_local.service import running
from infra.environments import ENVIRONMENTS

KEYS = dict.fromkeys(("PINECONE_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "secret-key")
AWS = {"AWS_REGION": "us-east-1"}


def findings(data_dir: Path, **variables: str) -> list[Finding]:
    results = list(LocalCheck(data_dir, variables).findings())
    assert "secret-key" not in "".join(f"{one.seen} {one.remedy}" for one in results)
    return results


def test_without_a_running_service_each_part_is_reported(tmp_path: Path) -> None:
    service, configuration, *parts = findings(tmp_path / "data")
    assert (service.subject, service.state) == ("service", State.NOTE)
    assert (configuration.subject, configuration.state) == ("configuration", State.OK)
    assert [part.subject for part in parts] == ["language model", "vector index", "web search", "tables"]
    assert {part.state for part in parts} == {State.OK}


@pytest.mark.parametrize("unused", ["OPENAI_MODEL", "PINECONE_API_KEY", "PERPLEXITY_MODEL"])
def test_an_unused_variable_is_noted(tmp_path: Path, unused: str) -> None:
    _service, *rest = findings(tmp_path / "data", **{unused: "secret-key"})
    (finding,) = [one for one in rest if one.state is State.NOTE]
    assert unused in finding.seen


def test_a_directory_that_cannot_be_created_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (problem,) = [one for one in findings(tmp_path / "file" / "data") if one.state is State.PROBLEM]
    assert "--data-dir" in problem.remedy


@pytest.mark.parametrize(
    ("variable", "subject"),
    [
        ("OPENAI_BASE_URL", "language model"),
        ("PINECONE_INDEX_HOST", "vector index"),
        ("PERPLEXITY_BASE_URL", "web search"),
        ("AWS_ENDPOINT_URL_DYNAMODB", "tables"),
    ],
)
def test_an_address_where_nothing_answers_is_a_problem(tmp_path: Path, variable: str, subject: str) -> None:
    results = findings(tmp_path / "data", **KEYS, **AWS, **{variable: "http://127.0.0.1:9"})
    (problem,) = [one for one in results if one.state is State.PROBLEM]
    assert problem.subject == subject
    assert variable in problem.remedy


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("QUERY_DEADLINE_SECONDS", "soon"),
        ("OPENAI_BASE_URL", "here"),
        ("ADMIN_CALLERS", "admin"),
        ("CORS_ORIGINS", "example.org"),
        ("DEFAULT_KB_ID", "My books"),
        ("MAX_AGE_DAYS", "old"),
    ],
)
def test_a_malformed_variable_is_reported_by_name(tmp_path: Path, variable: str, value: str) -> None:
    (problem,) = [one for one in findings(tmp_path / "data", **{variable: value}) if one.state is State.PROBLEM]
    assert problem.subject == "configuration"
    assert variable in problem.seen


def test_a_service_that_is_starting_is_noted(tmp_path: Path) -> None:
    with running.acquire_lock(tmp_path):
        service, *rest = findings(tmp_path)
    assert "starting" in service.seen
    assert {one.state for one in rest} == {State.OK}


def test_an_unknown_environment_is_a_usage_error_that_lists_the_environments() -> None:
    result = CliRunner().invoke(program.app, ["doctor", "--env", "nope"])
    assert result.exit_code == 2
    for environment in ENVIRONMENTS:
        assert environment.name in result.output


@pytest.mark.parametrize("options", [("--data-dir", ".", "--env", "dev"), ("--api-key", "k")])
def test_conflicting_options_are_usage_errors(options: tuple[str, ...]) -> None:
    assert CliRunner().invoke(program.app, ["doctor", *options]).exit_code == 2
