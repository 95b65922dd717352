"""Names of files, in every way of loading them: composed, shown as they are, and never too long for what they go to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gleaner.clients.object_store import ObjectStore
from gleaner.document_files import document_id, uploaded_path
from gleaner.errors import InvalidInput
from gleaner.model import DocumentState
from gleaner.stores.document_items import DocumentEntry
from gleaner_documents.loading.object_names import make_key, read_key
from gleaner_documents.model import FileNotReadable, UnclearRights
from gleaner_documents.source_files import find_roots, find_source_files
from gleaner_local.ingestion.bucket_files import Place, find_gone_objects, send_file
from gleaner_local.ingestion.bucket_run import BucketRun, Watcher
from gleaner_local.ingestion.watched_directory import WatchedDirectory
from gleaner_local.service.documents import LocalDocuments
from tests.examples import examples

KB = "default_kb"
SHOWN = st.characters(categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters="/\\.")
LETTERS = st.text(SHOWN, min_size=1, max_size=12)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "guide").mkdir()
    return tmp_path / "guide"


def write(directory: Path, name: str, text: str = "# Moor\n") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (1, 1))
    return path


def names_and_reasons(directory: Path) -> tuple[list[str], dict[str, str]]:
    scan = find_source_files([directory])
    reasons = {problem.source_file_path: problem.reason for problem in scan.unreadable}
    return [file.source_file_path for file in scan.files], reasons


@given(LETTERS, st.sampled_from(["NFC", "NFD"]), st.sampled_from(["NFC", "NFD"]))
@settings(
    max_examples=examples(quick=40, thorough=400),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_way_gives_a_file_the_same_name(directory: Path, letters: str, one: Any, other: Any) -> None:
    name = f"a{letters}.md"
    try:
        uploaded = uploaded_path(normalize(one, name)).removeprefix("uploads/")
    except InvalidInput:
        uploaded = None
    path = write(directory, normalize(other, name))
    try:
        names, reasons = names_and_reasons(directory)
        assert names == ([f"guide/{uploaded}"] if uploaded else [])
        assert len(reasons) == (0 if uploaded else 1)
        for taken in names:
            found = read_key(make_key(KB, taken))
            assert (found.source_file_path, found.objection) == (taken, None)
    finally:
        path.unlink()


@pytest.mark.parametrize("name", ["a\ab.md", "a\nb.md", "a\u202eb.md", "a\u200bb.md", "part\x1b[2J/a.md", "a\ue000.md"])
def test_a_name_that_cannot_be_shown_is_skipped_with_the_reason(directory: Path, name: str) -> None:
    write(directory, name)
    write(directory, "moor.md")
    names, reasons = names_and_reasons(directory)
    assert names == ["guide/moor.md"]
    assert list(reasons) == [f"guide/{name}"]
    assert "cannot be shown" in reasons[f"guide/{name}"]


def test_two_files_of_one_name_are_refused_and_the_rest_is_loaded(directory: Path) -> None:
    for form in ("NFC", "NFD"):
        write(directory, normalize(form, "Größe.md"))
        write(directory, normalize(form, "Größe/moor.md"))
    write(directory, "heath.md")
    names, reasons = names_and_reasons(directory)
    assert names == ["guide/heath.md"]
    assert sorted(reasons) == ["guide/Größe.md", "guide/Größe/moor.md"]
    assert all(reason.startswith("is the name of two files") for reason in reasons.values())


@pytest.mark.parametrize(("file", "sidecar"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_sidecar_in_another_form_than_its_file_keeps_it_back(directory: Path, file: Any, sidecar: Any) -> None:
    write(directory, normalize(file, "Größe.md"))
    write(directory, normalize(sidecar, "Größe.md.gleaner.json"), '{"groups": ["hr"]}')
    scan = find_source_files([directory])
    assert scan.files == []
    assert {one.source_file_path for one in scan.unreadable if isinstance(one, UnclearRights)} == {
        "guide/Größe.md",
        "guide/Größe.md.gleaner.json",
    }


@pytest.mark.parametrize("name", ["x" * 252 + ".md", "ä" * 120 + "aa.md", "한" * 84 + ".md"])
def test_a_file_whose_name_has_no_room_for_a_sidecar_is_for_everybody(directory: Path, name: str) -> None:
    assert 243 <= len(name.encode()) <= 255
    write(directory, name)
    (file,) = find_source_files([directory]).files
    assert file.read_groups() == ()


def test_a_path_too_long_to_look_for_a_sidecar_is_not_taken_for_none(directory: Path) -> None:
    """Of a path beyond what the system takes at once, the sidecar may exist: it can be made from its own directory."""
    part = directory
    while len(os.fsencode(part)) < 4_090 - 202:
        part = part / ("d" * min(200, 4_090 - 2 - len(os.fsencode(part))))
    part.mkdir(parents=True)
    name = "f" * (4_093 - len(os.fsencode(part)) - 4) + ".md"
    write(part, name)
    here = os.open(part, os.O_RDONLY)
    try:
        os.close(os.open(f"{name}.gleaner.json", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    finally:
        os.close(here)
    (file,) = find_source_files([part / name]).files
    with pytest.raises(UnclearRights, match="too long"):
        file.read_groups()


def test_a_watched_directory_puts_composed_names_and_keeps_them(directory: Path, documents: LocalDocuments) -> None:
    said: list[str] = []
    objects = documents.connect()

    def watch() -> WatchedDirectory:
        memory = directory.with_name("memory.json")
        return WatchedDirectory(directory, kb_id=KB, objects=objects, memory=memory, say=said.append)

    def stored() -> list[str]:
        return [facts.key for facts in objects.list(f"{KB}/guide/")]

    path = write(directory, normalize("NFD", "한국어 안내.md"))
    write(directory, "a\u202eb.md")
    changes: list[tuple[str, str]] = []
    watched = watch()
    for _ in range(3):
        watched.update(lambda *change: changes.append(change))
    watch().update(lambda *change: changes.append(change))
    assert stored() == [f"{KB}/guide/한국어 안내.md"]
    assert changes == [(KB, "guide/한국어 안내.md")]
    assert said and all(line.startswith("guide/a\u202eb.md: skipped: ") for line in said)
    write(directory, normalize("NFC", "한국어 안내.md.gleaner.json"), '{"groups": ["hr"]}')
    watched.update(lambda *_: None)
    assert stored() == []
    (directory / normalize("NFC", "한국어 안내.md.gleaner.json")).unlink()
    path.unlink()


class Loaded:
    """A table that knows each object of the bucket as loaded, once it is looked at."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def find(self, *_arguments: Any, **_options: Any) -> None:
        return None

    def find_many(self, kb_id: str, ids: list[str], **_options: Any) -> dict[str, DocumentEntry]:
        entries = {}
        for facts in self._objects.list(f"{kb_id}/"):
            name = facts.key.removeprefix(f"{kb_id}/")
            entries[document_id(name)] = DocumentEntry(
                kb_id=kb_id,
                document_id=document_id(name),
                source_file_path=name,
                state=DocumentState.LOADED,
                queued_at="1",
                updated_at="2",
                version=facts.version,
                chunk_count=1,
            )
        return {key: entries[key] for key in ids if key in entries}


@pytest.fixture
def place(documents: LocalDocuments) -> Iterator[Place]:
    unused: Any = None
    objects = documents.connect()
    states: Any = Loaded(objects)
    yield Place(kb_id=KB, objects=objects, states=states, queue=unused)
    for facts in list(objects.list()):
        objects.delete(facts.key)


def test_a_key_that_s3_refuses_costs_one_file(directory: Path, place: Place) -> None:
    deep = directory.joinpath(*("d" * 200 for _ in range(5)))
    write(deep, "moor.md")
    write(directory, "one.md")
    write(directory, "two.md")
    said: list[str] = []
    report = BucketRun(place, Watcher(show=lambda _: None, say=said.append), pause_seconds=0.01).load(
        find_source_files([directory]), prune=False
    )
    assert [problem.reason for problem in report.skipped] == [
        "has a name too long for the bucket: 1,029 of at most 1,024 bytes; rename it"
    ]
    assert sorted(report.loaded) == ["guide/one.md", "guide/two.md"]
    assert len(said) == 3


def test_decomposed_names_are_awaited_as_the_function_knows_them(directory: Path, place: Place) -> None:
    write(directory, normalize("NFD", "한국어.md"))
    place.objects.put(f"{KB}/guide/{normalize('NFD', 'Größe.md')}", b"of somebody else")
    run = BucketRun(place, Watcher(show=lambda _: None, say=lambda _: None), pause_seconds=0.01)
    report = run.load(find_source_files([directory]), prune=False)
    assert report.loaded == ["guide/한국어.md"]
    assert place.objects.head(f"{KB}/guide/한국어.md") is not None
    (root,) = find_roots([directory])
    gone = find_gone_objects(place, [root], new=set(report.loaded))
    assert f"guide/{normalize('NFD', 'Größe.md')}" in gone.documents
    assert "guide/한국어.md" not in gone.documents


def test_a_restricted_file_is_kept_back_if_its_sidecar_has_no_key(directory: Path, place: Place) -> None:
    deep = directory.joinpath(*("d" * 199 for _ in range(5)))
    write(deep, "m.md")
    write(deep, "m.md.gleaner.json", '{"groups": ["hr"]}')
    (file,) = find_source_files([directory]).files
    make_key(KB, file.source_file_path)
    with pytest.raises(FileNotReadable, match=r"1,03\d of at most 1,024 bytes"):
        send_file(place, file)
    assert place.objects.head(place.key_of(file.source_file_path)) is None


def test_an_address_that_exceeds_the_metadata_of_an_object_is_left_out(directory: Path, place: Place) -> None:
    write(directory, "/".join(["안" * 72] * 3) + "/moor.md")  # at an address of 1,977 characters
    write(directory, "moor.md")
    found = find_source_files([directory], base_url="https://docs.example.org/").files
    assert [len(file.source_url or "") for file in found] == [30, 1_977]
    for file in found:
        send_file(place, file)
    facts = [place.objects.head(place.key_of(file.source_file_path)) for file in found]
    addresses = [one.metadata.get("source-url") for one in facts if one is not None]
    assert addresses == ["https://docs.example.org/moor/", None]
