"""A watched directory and its objects agree, and nothing that vanishes by mistake takes documents with it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gleaner.clients.object_store import ObjectStore
from gleaner.groups import read_header
from gleaner_local.ingestion.watched_directory import WatchedDirectory
from gleaner_local.service.documents import LocalDocuments
from tests.examples import examples

KB = "default_kb"


class Watched:
    """A watched directory over a bucket of its own."""

    def __init__(self, path: Path, documents: LocalDocuments) -> None:
        self.directory = path / "guide"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._memory = path / "memory.json"
        self.objects: ObjectStore = documents.connect()
        self.said: list[str] = []
        self.changes = 0
        self.restart()

    def restart(self) -> None:
        self.watched = WatchedDirectory(
            self.directory, kb_id=KB, objects=self.objects, memory=self._memory, say=self.said.append
        )

    def write(self, name: str, text: str = "# Moor\n", *, age: float = 60) -> Path:
        """Write a file as if it were `age` seconds ago."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    def look(self, times: int = 2) -> int:
        """Compare as often as that, and count the changes."""
        self.changes = 0
        for _ in range(times):
            self.watched.update(self._count)
        return self.changes

    def _count(self, _kb_id: str, _name: str) -> None:
        self.changes += 1

    def stored(self) -> dict[str, str]:
        prefix = f"{KB}/guide/"
        found = [one.key for one in self.objects.list(prefix)]
        return {key.removeprefix(prefix): self.read(key) for key in found}

    def read(self, key: str) -> str:
        stored = self.objects.read(key, max_bytes=1_000_000)
        assert stored is not None and stored.body is not None
        return stored.body.decode()


@pytest.fixture
def watched(tmp_path: Path, documents: LocalDocuments) -> Iterator[Watched]:
    created = Watched(tmp_path, documents)
    yield created
    for stored in created.objects.list():
        created.objects.delete(stored.key)


def test_files_come_change_move_and_go(watched: Watched) -> None:
    watched.write("moor.md", "one")
    watched.write("part/heath.txt", "two")
    watched.write(".hidden.md")
    watched.write("part/.git/x.md")
    watched.write("picture.png")
    watched.write("moor.md~")
    assert watched.look(1) == 2
    assert watched.stored() == {"moor.md": "one", "part/heath.txt": "two"}
    assert watched.look(3) == 0
    watched.write("moor.md", "three")
    (watched.directory / "part").rename(watched.directory / "section")
    watched.look()
    assert watched.stored() == {"moor.md": "three", "section/heath.txt": "two"}
    (watched.directory / "moor.md").unlink()
    watched.look()
    assert watched.stored() == {"section/heath.txt": "two"}
    assert watched.said == ["Left out in " + str(watched.directory) + ": 1 .png, 1 .md~."]


def test_what_was_put_waits_until_it_is_loaded(watched: Watched, documents: LocalDocuments) -> None:
    watched.write("part/Größe 1.md")
    watched.look()
    assert (KB, "guide/part/Größe 1.md") in documents.waiting()


def test_a_file_that_is_being_written_waits(watched: Watched) -> None:
    now = -60.0  # and it stays so, however long a look takes
    watched.write("moor.md", "half", age=now)
    assert watched.look(1) == 0
    watched.write("moor.md", "half and", age=now)
    assert watched.look(1) == 0
    watched.write("moor.md", "half and half", age=now)
    assert (watched.look(1), watched.look(1)) == (0, 1)
    assert watched.stored() == {"moor.md": "half and half"}


def test_an_editor_that_deletes_and_writes_a_file_loses_nothing(watched: Watched) -> None:
    path = watched.write("moor.md", "one")
    watched.look()
    path.unlink()
    assert watched.look(1) == 0
    watched.write("moor.md", "two")
    watched.look()
    new = watched.write(".moor.md.tmp", "six")  # of the same size and time: a rename that replaces it
    new.replace(path)
    os.utime(path, ns=(1, 1))
    watched.look()
    assert watched.stored() == {"moor.md": "six"}


def test_a_restart_puts_only_what_changed_meanwhile(watched: Watched) -> None:
    for number in range(4):
        watched.write(f"{number}.md", f"text {number}")
    watched.look()
    (watched.directory / "0.md").unlink()
    watched.write("1.md", "new", age=30)
    watched.objects.delete(f"{KB}/guide/2.md")  # on the page
    watched.restart()
    assert watched.look(3) == 3
    assert watched.stored() == {"1.md": "new", "2.md": "text 2", "3.md": "text 3"}


@pytest.mark.parametrize("leaves_empty", [False, True])
def test_a_directory_that_vanishes_takes_no_document_along(watched: Watched, *, leaves_empty: bool) -> None:
    for number in range(6):
        watched.write(f"{number}.md")
    watched.look()
    away = watched.directory.with_name("away")
    watched.directory.rename(away)
    if leaves_empty:  # as the mount point of a drive
        watched.directory.mkdir()
        watched.write("other.md")
    watched.look(3)
    watched.restart()
    watched.look(3)
    assert len(watched.stored()) == 6 + leaves_empty
    assert len(watched.said) == 2  # once for each start
    if leaves_empty:
        shutil.rmtree(watched.directory)
    away.rename(watched.directory)
    (watched.directory / "0.md").unlink()
    watched.look(3)
    assert sorted(watched.stored()) == ["1.md", "2.md", "3.md", "4.md", "5.md"]


def test_a_document_that_was_removed_elsewhere_is_not_awaited(watched: Watched) -> None:
    path = watched.write("moor.md")
    watched.look()
    watched.objects.delete(f"{KB}/guide/moor.md")
    path.unlink()
    assert watched.look(3) == 0
    watched.write("moor.md")
    assert watched.look() == 1


def test_a_few_documents_may_all_go(watched: Watched) -> None:
    path = watched.write("moor.md")
    watched.look()
    path.unlink()
    watched.look()
    assert watched.stored() == {}


def test_what_cannot_be_loaded_is_said_once_and_its_last_version_stays(watched: Watched) -> None:
    path = watched.write("moor.md", "one")
    watched.look()
    with path.open("ab") as file:
        file.truncate(60 * 1024 * 1024)
    watched.write(
        "ä" * 100 + "/" + "b" * 100 + "/" + "c" * 200 + "/" + "d" * 200 + "/" + "e" * 200 + "/" + "f" * 250 + ".md"
    )
    watched.look(4)
    assert watched.stored() == {"moor.md": "one"}
    assert ["larger than 50 MB" in line for line in watched.said] == [True, False]
    assert "1,024 bytes" in watched.said[1]


def test_links_are_followed_and_no_circle_is(watched: Watched) -> None:
    outside = watched.directory.with_name("outside")
    outside.mkdir()
    (outside / "heath.md").write_text("two")
    (watched.directory / "linked").symlink_to(outside)
    (watched.directory / "circle").symlink_to(watched.directory)
    (watched.directory / "broken.md").symlink_to("nowhere.md")
    watched.look(2)
    watched.look(2)
    assert watched.stored() == {"linked/heath.md": "two"}


def test_a_sidecar_restricts_the_object_and_a_broken_one_keeps_it_back(watched: Watched) -> None:
    watched.write("moor.md", "one")
    watched.write("moor.md.gleaner.json", '{"groups": ["staff"]}')
    watched.look()
    facts = watched.objects.head(f"{KB}/guide/moor.md")
    assert facts is not None and read_header(facts.metadata["groups"]) == ("staff",)
    watched.write("moor.md.gleaner.json", '{"groups": ["board"]}', age=30)
    watched.look()
    facts = watched.objects.head(f"{KB}/guide/moor.md")
    assert facts is not None and read_header(facts.metadata["groups"]) == ("board",)
    watched.write("heath.md", "two")
    watched.write("heath.md.gleaner.json", "{")
    watched.look()
    assert "heath.md" not in watched.stored()
    assert [line.partition(": ")[0] for line in watched.said] == ["guide/heath.md"]


def test_a_sidecar_that_breaks_removes_what_was_there_before(watched: Watched) -> None:
    watched.write("moor.md", "one")
    watched.write("heath.md", "two")
    watched.look()
    watched.write("moor.md.gleaner.json", '{"groups": "hr"}')  # the document was for all
    assert watched.look(3) == 1
    assert watched.stored() == {"heath.md": "two"}
    (said,) = watched.said
    assert said.startswith("guide/moor.md: skipped: guide/moor.md.gleaner.json ")
    watched.write("moor.md.gleaner.json", '{"groups": ["hr"]}', age=30)
    watched.restart()
    watched.look()
    facts = watched.objects.head(f"{KB}/guide/moor.md")
    assert facts is not None and read_header(facts.metadata["groups"]) == ("hr",)


def test_a_sidecar_that_becomes_unreachable_removes_its_document(watched: Watched) -> None:
    watched.write("moor.md", "one")
    drive = watched.directory.with_name("drive")
    drive.mkdir()
    (drive / "moor.json").write_text('{"groups": ["hr"]}')
    (watched.directory / "moor.md.gleaner.json").symlink_to(drive / "moor.json")
    watched.look()
    assert watched.stored() == {"moor.md": "one"}
    drive.rename(watched.directory.with_name("unmounted"))
    watched.look(3)
    assert watched.stored() == {}
    assert "moor.md.gleaner.json cannot be read" in watched.said[-1]
    watched.restart()
    watched.look(3)
    assert watched.stored() == {}


NAMES = st.sampled_from(["a.md", "b.md", "c/d.md", "c/e.txt"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "delete", "look", "restart"]), NAMES, st.integers(0, 3)), max_size=14
)


@given(steps=STEPS)
@settings(max_examples=examples(10, 80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_after_any_changes_two_looks_make_both_equal(
    steps: list[tuple[str, str, int]], documents: LocalDocuments, tmp_path_factory: pytest.TempPathFactory
) -> None:
    watched = Watched(tmp_path_factory.mktemp("watched"), documents)
    files: dict[str, str] = {}
    for age, (step, name, text) in enumerate(steps):
        if step == "write":
            watched.write(name, "x" * text, age=1000 - age)
            files[name] = "x" * text
        elif step == "delete" and name in files:
            (watched.directory / name).unlink()
            del files[name]
        elif step == "look":
            watched.look(1)
        elif step == "restart":
            watched.restart()
    watched.look(2)
    assert watched.stored() == files
    for stored in watched.objects.list():
        watched.objects.delete(stored.key)
