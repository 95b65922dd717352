"""A few changes have a line each, many are summed up, and what was not loaded always has its line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gleaner.errors import ObjectStoreUnavailable
from gleaner.model import DocumentState
from gleaner.stores.document_items import DocumentEntry
from gleaner_local.ingestion import watching
from gleaner_local.ingestion.watched_directory import Expect, WatchedDirectory
from gleaner_local.ingestion.watching import Watch

NOW = "2026-11-29T12:00:00+00:00"


def entry(state: DocumentState, **more: Any) -> DocumentEntry:
    return DocumentEntry(
        kb_id="kb", document_id="d", source_file_path="p", state=state, queued_at=NOW, updated_at=NOW, **more
    )


def watch(tmp_path: Path, said: list[str], *, expected: int) -> Watch:
    unused: Any = None
    directory = WatchedDirectory(
        tmp_path / "guide", kb_id="kb", objects=unused, memory=tmp_path / "memory", say=said.append
    )
    created = Watch([directory], said.append)
    created.expect([("kb", f"guide/{number}.md") for number in range(expected)])
    created.expect([("other", "guide/moor.md"), ("kb", "uploads/moor.md")])
    return created


class Working(WatchedDirectory):
    """A directory in which nothing changes."""

    def update(self, expect: Expect) -> None:
        pass


class Failing(WatchedDirectory):
    """A directory whose changes cannot be kept, and that counts how often that was tried."""

    tries = 0

    def update(self, expect: Expect) -> None:  # noqa: ARG002
        Failing.tries += 1
        raise ObjectStoreUnavailable("the bucket is full.")


def test_a_failure_is_said_once_beside_a_directory_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_PAUSE_SECONDS", 0.01)
    said: list[str] = []
    unused: Any = None

    def directory(name: str, kind: type[WatchedDirectory]) -> WatchedDirectory:
        return kind(tmp_path / name, kb_id="kb", objects=unused, memory=tmp_path / "memory", say=said.append)

    watched = Watch([directory("guide", Failing), directory("book", Working)], said.append)
    watched.start()
    while Failing.tries < 3:
        time.sleep(0.01)
    watched.stop()
    assert said == ["Changes in guide cannot be kept now: the bucket is full. They are tried again."]


def test_few_changes_have_a_line_each(tmp_path: Path) -> None:
    said: list[str] = []
    few = watch(tmp_path, said, expected=3)
    few.tell("kb", "guide/moor.md", entry(DocumentState.LOADED, chunk_count=1))
    few.tell("kb", "uploads/other.md", entry(DocumentState.LOADED, chunk_count=1))  # of the page
    few.tell("other", "guide/moor.md", entry(DocumentState.LOADED, chunk_count=1))
    few.tell("kb", "guide/scan.pdf", entry(DocumentState.SKIPPED, reason="holds no text"))
    few.tell("kb", "guide/old.md", None)
    assert said == [
        "guide/moor.md: loaded, 1 passage",
        "guide/scan.pdf: skipped: holds no text",
        "guide/old.md: removed",
    ]


def test_many_changes_are_summed_up(tmp_path: Path) -> None:
    said: list[str] = []
    many = watch(tmp_path, said, expected=500)
    for number in range(499):
        many.tell("kb", f"guide/{number}.md", entry(DocumentState.LOADED, chunk_count=2))
    many.tell("kb", "guide/499.md", entry(DocumentState.SKIPPED, reason="holds no text"))
    assert said == [
        "Watching: 1 loaded, 499 to go",
        "guide/499.md: skipped: holds no text",
        "Watching: 499 loaded, 1 skipped.",
    ]
    many.tell("kb", "guide/1.md", None)
    assert said[-1] == "guide/1.md: removed"


def test_a_document_that_changes_again_before_it_is_loaded_counts_once(tmp_path: Path) -> None:
    said: list[str] = []
    many = watch(tmp_path, said, expected=150)
    many.expect([("kb", f"guide/{number}.md") for number in range(150)])
    for number in range(150):
        many.tell("kb", f"guide/{number}.md", None)
    assert said[0] == "Watching: 1 removed, 149 to go"
    assert said[-1] == "Watching: 150 removed."
    many.tell("kb", "guide/by-hand.md", None)  # that nobody awaited
    assert said[-1] == "guide/by-hand.md: removed"
