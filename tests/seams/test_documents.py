"""The documents name files that exist, and the README stays a front door."""

from __future__ import annotations

import re

import pytest

from checks import paths
from infra.layer_build import ROOT

MAX_README_LINES = 260  # more than half of them to paste: a block for each client
NAMED_FILE = re.compile(r"`[\w./-]+/[\w-]+\.(?:py|md|toml|txt)`")


def test_every_path_in_a_document_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert paths.main() == 0, capsys.readouterr().out


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/00-map.md"])
def test_the_guides_name_files(name: str) -> None:
    assert len(NAMED_FILE.findall((ROOT / name).read_text())) > 20


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES
