"""`gleaner serve` refuses directories that it cannot watch before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from gleaner_local.commands.program import app


@pytest.fixture
def uploads(tmp_path: Path) -> Path:
    """A directory whose name is that of the page's documents, with one in it."""
    (tmp_path / "uploads" / "part").mkdir(parents=True)
    return tmp_path / "uploads"


@pytest.mark.parametrize("there", ["..", "../../uploads", "."])
def test_the_name_of_a_directory_does_not_depend_on_how_it_is_written(
    uploads: Path, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(uploads if there == "." else uploads / "part")
    result = CliRunner().invoke(app, ["serve", "--watch", there])
    assert result.exit_code == 2
    assert "cannot be watched" in " ".join(result.output.replace("│", " ").split())


def test_two_directories_of_one_name_are_refused(uploads: Path) -> None:
    (uploads / "other" / "part").mkdir(parents=True)
    result = CliRunner().invoke(
        app, ["serve", "--watch", f"{uploads}/part", "--watch", f"{uploads}/other/part/../part"]
    )
    assert result.exit_code == 2
    assert "same name" in " ".join(result.output.replace("│", " ").split())
