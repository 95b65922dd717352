"""Two directories of the same name are distinguished before one replaces the other's files."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gleaner.errors import InvalidInput
from gleaner_documents.source_files import find_roots
from gleaner_local.commands import program
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
    return CliRunner().invoke(program.app, ["ingest", "--data-dir", str(tmp_path / "data"), *arguments], env=env)


def test_another_directory_of_that_name_is_rejected_and_can_be_renamed(tmp_path: Path, one: Path, other: Path) -> None:
    assert ingest(tmp_path, str(one)).exit_code == 0
    rejection = ingest(tmp_path, str(other))
    assert isinstance(rejection.exception, InvalidInput)
    message = str(rejection.exception)
    assert str(one) in message and str(other) in message
    _, *command = shlex.split(message.split("`")[1])
    renaming = CliRunner().invoke(program.app, command)
    assert renaming.exit_code == 0
    assert "1 loaded" in renaming.output
    assert "1 unchanged" in ingest(tmp_path, str(one)).output


@pytest.mark.parametrize("kind", ["directory", "file", "link", "root"])
def test_no_directory_is_loaded_under_the_name_of_the_uploads(tmp_path: Path, kind: str) -> None:
    """It would replace what callers uploaded, and `--prune` would remove the rest."""
    uploads = handbook(tmp_path / ("docs" if kind == "root" else "uploads"), "The lamp burns oil.")
    if kind == "link":
        (tmp_path / "here").mkdir()
        uploads = (tmp_path / "here" / "uploads").resolve()
        uploads.symlink_to(tmp_path / "uploads")
    arguments = [str(uploads / "README.md" if kind == "file" else uploads), "--prune"]
    refusal = ingest(tmp_path, *arguments, *(("--root", "uploads") if kind == "root" else ()))
    assert refusal.exit_code == 1
    assert "uploaded by the page" in " ".join(f"{refusal.exception} {refusal.output}".split())
    if kind == "directory":
        assert ingest(tmp_path, *arguments, "--root", "manuals").exit_code == 0


def test_a_confirmed_name_moves_to_the_new_directory(tmp_path: Path, one: Path, other: Path) -> None:
    ingest(tmp_path, str(one))
    assert "1 replaced" in ingest(tmp_path, str(other), "--root", "docs").output
    assert isinstance(ingest(tmp_path, str(one)).exception, InvalidInput)


def test_files_under_another_name_are_pruned_by_that_name(tmp_path: Path, one: Path) -> None:
    (one / "old.md").write_text("# Old\n\nGone soon.\n")
    assert "2 loaded" in ingest(tmp_path, str(one), "--root", "book").output
    (one / "old.md").unlink()
    assert "Removed book/old.md" in ingest(tmp_path, str(one), "--root", "book", "--prune").output


def test_a_moved_or_linked_directory_is_the_same_root(tmp_path: Path, one: Path) -> None:
    assert ingest(tmp_path, str(one)).exit_code == 0
    (tmp_path / "link").symlink_to(one.parent)
    assert "1 unchanged" in ingest(tmp_path, str(tmp_path / "link" / "docs")).output
    new_place = one.parent.rename(tmp_path / "moved") / "docs"
    (tmp_path / "link").unlink()
    assert "1 unchanged" in ingest(tmp_path, str(new_place)).output


def test_names_are_separate_for_each_knowledge_base_and_index(tmp_path: Path, one: Path, other: Path) -> None:
    here, there = (KnownRoots(tmp_path, index=index) for index in ("here", "there"))
    here.claim(find_roots([one]), "a", confirmed=False)
    here.claim(find_roots([other]), "b", confirmed=False)
    there.claim(find_roots([other]), "a", confirmed=False)
    with pytest.raises(InvalidInput):
        here.claim(find_roots([other]), "a", confirmed=False)


def test_an_unreadable_memory_is_started_over(tmp_path: Path, one: Path, other: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "roots.json").write_text("no JSON")
    assert ingest(tmp_path, str(one)).exit_code == 0
    assert isinstance(ingest(tmp_path, str(other)).exception, InvalidInput)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb"])
def test_an_invalid_name_is_a_usage_error(tmp_path: Path, one: Path, name: str) -> None:
    assert ingest(tmp_path, str(one), "--root", name).exit_code == 2


def test_a_name_needs_exactly_one_directory(tmp_path: Path, one: Path, other: Path) -> None:
    assert ingest(tmp_path, str(one), str(other), "--root", "book").exit_code == 2
    assert ingest(tmp_path, str(one / "README.md"), "--root", "book").exit_code == 2


@pytest.mark.parametrize(
    "url", ["docs.example", "javascript:alert(1)", "https://u:p@docs.example", "https://a.example/?b"]
)
def test_a_directory_is_published_at_a_plain_web_address(tmp_path: Path, one: Path, url: str) -> None:
    assert ingest(tmp_path, str(one), "--base-url", url).exit_code == 2


def test_a_base_url_needs_one_directory_and_is_part_of_the_documents(tmp_path: Path, one: Path, other: Path) -> None:
    base_url = ("--base-url", "https://docs.example/v2")
    assert ingest(tmp_path, str(one), str(other), *base_url).exit_code == 2
    assert "1 loaded" in ingest(tmp_path, str(one), *base_url).output
    assert "1 unchanged" in ingest(tmp_path, str(one), *base_url).output
    assert "1 replaced" in ingest(tmp_path, str(one)).output


def test_documents_are_loaded_into_the_default_knowledge_base_of_the_service(tmp_path: Path, one: Path) -> None:
    assert "Knowledge base books" in ingest(tmp_path, str(one), DEFAULT_KB_ID="books").output
