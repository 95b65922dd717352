"""The data directory of a running service."""

from __future__ import annotations

from pathlib import Path

from gleaner_local.service.running import acquire_lock


def test_a_data_directory_belongs_to_no_repository(tmp_path: Path) -> None:
    acquire_lock(tmp_path / "data").close()
    assert (tmp_path / "data" / ".gitignore").read_text() == "*\n"
