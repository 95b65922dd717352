"""Two directories of the same name are told apart before one replaces the other's files."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gleaner.errors import InvalidInput
from gleaner_documents.source_files import directories
from gleaner_local.commands import main as cli
from gleaner_local.ingestion.known_roots import KnownRoots


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return handbook(tmp_path / "one" / "docs", "The keeper is called Hume.")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return handbook(tmp_path / "other" / "docs", "The lamp burns oil.")


def handbook(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True)
    (directory / "README.md").write_text(f"# Lighthouses\n\n{text}\n")
    return directory


def ingest(tmp_path: Path, *arguments: str, **env: str) -> Result:
    return CliRunner().invoke(cli.app, ["ingest", "--data-dir", str(tmp_path / "data"), *arguments], env=env)


def test_another_directory_of_the_same_name_is_refused_and_can_be_named(tmp_path: Path, one: Path, other: Path) -> None:
    assert ingest(tmp_path, str(one)).exit_code == 0
    refused = ingest(tmp_path, str(other))
    assert isinstance(refused.exception, InvalidInput)
    message = str(refused.exception)
    assert str(one) in message and str(other) in message
    _, *command = shlex.split(message.split("`")[1])
    named = CliRunner().invoke(cli.app, command)
    assert named.exit_code == 0
    assert "1 loaded" in named.output
    assert "1 unchanged" in ingest(tmp_path, str(one)).output


def test_a_name_that_is_confirmed_goes_to_the_new_directory(tmp_path: Path, one: Path, other: Path) -> None:
    ingest(tmp_path, str(one))
    assert "1 replaced" in ingest(tmp_path, str(other), "--root", "docs").output
    assert isinstance(ingest(tmp_path, str(one)).exception, InvalidInput)


def test_files_under_another_name_are_pruned_by_it(tmp_path: Path, one: Path) -> None:
    (one / "old.md").write_text("# Old\n\nGone soon.\n")
    assert "2 loaded" in ingest(tmp_path, str(one), "--root", "book").output
    (one / "old.md").unlink()
    assert "Removed book/old.md" in ingest(tmp_path, str(one), "--root", "book", "--prune").output


def test_a_directory_that_was_moved_or_is_named_in_another_way_is_the_same(tmp_path: Path, one: Path) -> None:
    assert ingest(tmp_path, str(one)).exit_code == 0
    (tmp_path / "link").symlink_to(one.parent)
    assert "1 unchanged" in ingest(tmp_path, str(tmp_path / "link" / "docs")).output
    moved = one.parent.rename(tmp_path / "moved") / "docs"
    (tmp_path / "link").unlink()
    assert "1 unchanged" in ingest(tmp_path, str(moved)).output


def test_knowledge_bases_and_indexes_have_names_of_their_own(tmp_path: Path, one: Path, other: Path) -> None:
    here, there = (KnownRoots(tmp_path, index=index) for index in ("here", "there"))
    here.claim(directories([one]), "a", confirmed=False)
    here.claim(directories([other]), "b", confirmed=False)
    there.claim(directories([other]), "a", confirmed=False)
    with pytest.raises(InvalidInput):
        here.claim(directories([other]), "a", confirmed=False)


def test_a_memory_that_cannot_be_read_is_begun_anew(tmp_path: Path, one: Path, other: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "roots.json").write_text("no JSON")
    assert ingest(tmp_path, str(one)).exit_code == 0
    assert isinstance(ingest(tmp_path, str(other)).exception, InvalidInput)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb"])
def test_a_name_that_cannot_be_is_a_usage_error(tmp_path: Path, one: Path, name: str) -> None:
    assert ingest(tmp_path, str(one), "--root", name).exit_code == 2


def test_a_name_is_of_one_directory(tmp_path: Path, one: Path, other: Path) -> None:
    assert ingest(tmp_path, str(one), str(other), "--root", "book").exit_code == 2
    assert ingest(tmp_path, str(one / "README.md"), "--root", "book").exit_code == 2


def test_documents_go_to_the_default_knowledge_base_of_the_service(tmp_path: Path, one: Path) -> None:
    assert "Knowledge base books" in ingest(tmp_path, str(one), DEFAULT_KB_ID="books").output
