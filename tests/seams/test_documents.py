"""The documents name files that exist, and the README stays a front door."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.layer_build import ROOT

# What documents may name paths from, beside the repository itself and the document's own directory.
PACKAGES = ("layers/common/python", "layers/common/python/gleaner", "layers/documents/python", "local")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "requirements" / "README.md"])
MAX_README_LINES = 110
CODE_SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
FILE = re.compile(r".*[\w-]\.(?:py|md|toml|txt|in|json|ya?ml)")
# Examples of users' files, and files that a deployment writes.
NOT_IN_THE_REPOSITORY = {
    "docs/keywords.md",
    "b-docs/keywords.md",
    "cdk.out/outputs-dev.json",
    "cdk.out/outputs-ENV.json",
}


def paths_named(document: Path) -> Iterator[str]:
    """The files and directories that a document names in code spans and links."""
    text = re.sub(r"^ *```.*?^ *```", "", document.read_text(), flags=re.DOTALL | re.MULTILINE)
    yield from LINK.findall(text)
    for span in CODE_SPAN.findall(text):
        is_path = PATH.fullmatch(span) and (FILE.fullmatch(span) or span.endswith("/"))
        if is_path and "/" in span and span not in NOT_IN_THE_REPOSITORY:
            yield span


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_a_document_exists(document: Path) -> None:
    roots = [document.parent, ROOT, *(ROOT / package for package in PACKAGES)]
    missing = [path for path in paths_named(document) if not any((root / path).exists() for root in roots)]
    assert not missing


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/00-map.md"])
def test_the_guides_name_files(name: str) -> None:
    assert len(list(paths_named(ROOT / name))) > 20


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES
