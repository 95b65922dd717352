"""Paths in documents must exist in the repository."""

from __future__ import annotations

import pytest

from checks.paths import Repository, dead_paths

FILES = (
    *("README.md", "docs/01-start.md", "docs/decisions/0001-index.md", "benchmarks/cost.py"),
    *("layers/common/python/gleaner/api/app.py", ".github/workflows/check.yml"),
)


def dead(text: str, document: str = "README.md") -> list[str]:
    return list(dead_paths(document, text, Repository.of(FILES)))


@pytest.mark.parametrize(
    "path",
    [
        "benchmarks/cost.py",
        "layers/common/python/gleaner/",
        "gleaner/api/app.py",
        "app.py",
        "docs/*.md",
        ".github/workflows/check.yml",
        ".venv/bin/python benchmarks/cost.py --help",
    ],
)
def test_paths_in_code_may_be_short_forms_or_patterns(path: str) -> None:
    assert dead(f"See `{path}`.") == []


@pytest.mark.parametrize("path", ["benchmarks/costs.py", "gleaner/answering.py", "api/once.py", "docs/*.rst"])
def test_a_dead_path_in_code_is_reported_with_its_line(path: str) -> None:
    assert dead(f"# Title\n\nSee `app.py` and `{path}`.") == [f"README.md:3: {path} does not exist"]


@pytest.mark.parametrize("text", ["`/api/chat/query`", "`logs/query.log`", "`application/json`", "gleaner/no/code.py"])
def test_other_words_are_ignored(text: str) -> None:
    assert dead(text) == []


def test_commands_in_code_blocks_are_checked() -> None:
    text = "```sh\n.venv/bin/python benchmarks/old.py\n```\nThen `app.py`.\n"
    assert dead(text) == ["README.md:2: benchmarks/old.py does not exist"]


def test_links_are_relative_to_their_document() -> None:
    text = "[a](decisions/0001-index.md#why) [b](../README.md) [c](https://example.com/x.md) [d](#here) [e](README.md)"
    assert dead(text, "docs/01-start.md") == ["docs/01-start.md:1: README.md does not exist"]
