"""Ingestion through the real client into the real local index: it matches the files, whatever happens."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from starlette.types import ASGIApp, Receive, Scope, Send

from gleaner.clients.pinecone import KnowledgeBase, connect
from gleaner.document_files import document_id
from gleaner.errors import InvalidInput, KnowledgeBaseUnavailable
from gleaner.model import Record, new_id
from gleaner_documents import source_files
from gleaner_documents.chunking import DEFAULT_CHUNK_SETTINGS, ChunkSettings, chunk_document, estimated_pieces
from gleaner_documents.loading.writing import IngestProgress
from gleaner_documents.model import FileTooLarge
from gleaner_documents.reading import read_document
from gleaner_local.commands.ingest_output import ingest_and_report
from gleaner_local.index.embedded import EmbeddedIndex
from gleaner_local.ingestion.run import IngestReport, ingest
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.servers.pinecone_server import create_app
from tests.documents.small_pdf import make_pdf
from tests.examples import examples

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and permissions as POSIX has them")


class Wire:
    """A proxy before the index: counts write requests and refuses those above `writes_allowed`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.writes = 0
        self.writes_allowed: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(("/upsert", "/delete")):
            if self.writes_allowed is not None and self.writes >= self.writes_allowed:
                await send({"type": "http.response.start", "status": 400, "headers": []})
                await send({"type": "http.response.body", "body": b"{}"})
                return
            self.writes += 1
        await self._app(scope, receive, send)


@pytest.fixture(scope="module")
def wired_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wire, KnowledgeBase]]:
    index = EmbeddedIndex(tmp_path_factory.mktemp("index"), None)
    wire = Wire(create_app(index))
    server = AsgiServer(wire)
    server.start()
    yield wire, connect(host=server.url, api_key=lambda: "any")
    server.stop()
    index.close()


@pytest.fixture
def wire(wired_index: tuple[Wire, KnowledgeBase]) -> Wire:
    wired_index[0].writes_allowed = None
    return wired_index[0]


@pytest.fixture
def kb(wire: Wire, wired_index: tuple[Wire, KnowledgeBase]) -> KnowledgeBase:
    return wired_index[1]


@pytest.fixture
def kb_id(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:60]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """A directory with a file of each type, 4 in all."""
    root = tmp_path / "docs"
    (root / "part").mkdir(parents=True)
    (root / "keywords.md").write_text("# Keywords\n\nIntro.\n\n## Merging\n\nDuplicates are merged.\n")
    (root / "part" / "notes.txt").write_text("Some notes.")
    (root / "part" / "page.html").write_text("<title>Page</title><h1>Page</h1><p>Body.</p>")
    (root / "book.pdf").write_bytes(make_pdf(["One.", "Two."], title="Book"))
    return root


def run(
    kb: KnowledgeBase,
    kb_id: str,
    *paths: Path,
    prune: bool = False,
    chunking: ChunkSettings = DEFAULT_CHUNK_SETTINGS,
    base_url: str | None = None,
) -> IngestReport:
    return ingest(
        paths,
        kb_id=kb_id,
        knowledge_base=kb,
        prune=prune,
        progress=lambda _: None,
        chunking=chunking,
        base_url=base_url,
    )


def stored_records(kb: KnowledgeBase, kb_id: str) -> dict[str, Record]:
    return kb.fetch(kb_id, list(kb.list_ids(kb_id, timeout=20)), timeout=20)


def chunks_by_file(kb: KnowledgeBase, kb_id: str) -> dict[str, list[str]]:
    """The stored texts of every file, in the order of their chunks."""
    texts: dict[str, list[str]] = {}
    for record in sorted(stored_records(kb, kb_id).values(), key=lambda record: record.chunk_index):
        texts.setdefault(record.source_file_path, []).append(record.text)
    return texts


def long_text(word: str, sentences: int) -> str:
    return " ".join(f"The {word} number {n} is described in this sentence." for n in range(sentences))


def test_files_of_every_type_are_loaded_with_all_citation_data(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    report = run(kb, kb_id, docs)

    names = ["docs/book.pdf", "docs/keywords.md", "docs/part/notes.txt", "docs/part/page.html"]
    assert report.loaded == names
    assert report.chunks_written == 6
    records = stored_records(kb, kb_id)
    merging = records[f"{document_id('docs/keywords.md')}#1"]
    assert (merging.text, merging.heading) == ("Duplicates are merged.", "Keywords › Merging")
    assert (merging.title, merging.chapter, merging.chunk_index) == ("Keywords", "Keywords › Merging", 1)
    assert merging.source_file_path == "docs/keywords.md"
    assert records[f"{document_id('docs/book.pdf')}#1"].page_number == 2
    assert kb.search(kb_id, "duplicates merged", top_k=1, timeout=20)[0].record == merging


def test_unchanged_files_write_nothing(wire: Wire, kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    run(kb, kb_id, docs)
    before = wire.writes

    report = run(kb, kb_id, docs, prune=True)

    assert wire.writes == before
    assert len(report.unchanged) == 4
    assert report.chunks_written == 0


@pytest.mark.parametrize(("first", "second"), [(90, 10), (10, 90), (60, 60)])
def test_a_changed_file_replaces_all_its_chunks(
    kb: KnowledgeBase, kb_id: str, docs: Path, first: int, second: int
) -> None:
    (docs / "long.txt").write_text(long_text("first", first))
    run(kb, kb_id, docs)
    (docs / "long.txt").write_text(long_text("second", second))

    report = run(kb, kb_id, docs)

    assert report.replaced == ["docs/long.txt"]
    assert len(report.unchanged) == 4
    assert " ".join(chunks_by_file(kb, kb_id)["docs/long.txt"]) == long_text("second", second)


def test_a_sidecar_restricts_its_document_and_loads_it_again_when_it_changes(
    kb: KnowledgeBase, kb_id: str, docs: Path
) -> None:
    (docs / "front.md").write_text("---\ngroups: [board]\n---\nMinutes.")
    run(kb, kb_id, docs)
    sidecars = [docs / f"{name}.gleaner.json" for name in ("keywords.md", "front.md")]
    for groups in (["hr"], ["hr", "staff"], None):
        for sidecar in sidecars:
            sidecar.unlink() if groups is None else sidecar.write_text(json.dumps({"groups": groups}))
        report = run(kb, kb_id, docs)
        assert report.replaced == ["docs/front.md", "docs/keywords.md"]
        assert (report.skipped, report.left_out) == ([], {})
        assert {record.source_file_path: record.groups for record in stored_records(kb, kb_id).values()} == {
            "docs/keywords.md": tuple(groups or ()),
            "docs/front.md": tuple(groups or ["board"]),
            "docs/part/notes.txt": (),
            "docs/part/page.html": (),
            "docs/book.pdf": (),
        }


@pytest.mark.parametrize("slip", ["text", "link"])
def test_what_was_loaded_of_a_document_goes_when_it_is_unclear_whom_it_is_for(
    kb: KnowledgeBase, kb_id: str, docs: Path, slip: str
) -> None:
    run(kb, kb_id, docs)
    sidecar = docs / "keywords.md.gleaner.json"
    sidecar.write_text('{"groups": "hr"}') if slip == "text" else sidecar.symlink_to("unmounted.json")
    report = run(kb, kb_id, docs)
    assert [problem.source_file_path for problem in report.skipped] == ["docs/keywords.md"]
    assert report.removed == ["docs/keywords.md"]
    assert run(kb, kb_id, docs).removed == []
    assert "docs/keywords.md" not in chunks_by_file(kb, kb_id)
    assert len(chunks_by_file(kb, kb_id)) == 3
    sidecar.unlink()
    assert run(kb, kb_id, docs).loaded == ["docs/keywords.md"]


def test_other_chunk_settings_replace_the_documents(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    (docs / "long.txt").write_text(long_text("lamp", 60))
    loaded = run(kb, kb_id, docs).loaded
    smaller = ChunkSettings(max_pieces=40)

    report = run(kb, kb_id, docs, chunking=smaller)

    assert sorted(report.replaced) == sorted(loaded)
    chunks = chunks_by_file(kb, kb_id)["docs/long.txt"]
    assert max(estimated_pieces(chunk) for chunk in chunks) <= 40
    assert " ".join(chunks) == long_text("lamp", 60)
    assert sorted(run(kb, kb_id, docs, chunking=smaller).unchanged) == sorted(loaded)


def test_a_published_directory_gives_its_documents_their_addresses(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    loaded = run(kb, kb_id, docs).loaded
    assert {record.source_url for record in stored_records(kb, kb_id).values()} == {None}

    report = run(kb, kb_id, docs, base_url="https://docs.example/v2")

    assert report.replaced == loaded
    assert {record.source_file_path: record.source_url for record in stored_records(kb, kb_id).values()} == {
        "docs/keywords.md": "https://docs.example/v2/keywords/",
        "docs/part/notes.txt": "https://docs.example/v2/part/notes.txt",
        "docs/part/page.html": "https://docs.example/v2/part/page.html",
        "docs/book.pdf": "https://docs.example/v2/book.pdf",
    }
    assert run(kb, kb_id, docs / "keywords.md", base_url="https://docs.example/v2/").chunks_written == 0
    assert run(kb, kb_id, docs, base_url="https://docs.example/v3").replaced == loaded


def test_names_do_not_depend_on_where_the_command_runs(
    kb: KnowledgeBase, kb_id: str, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(kb, kb_id, docs)

    places = [(docs.parent, "docs"), (docs, "."), (docs / "part", ".."), (docs, "keywords.md")]
    for place, path in [*places, (docs.parent, "docs/keywords.md")]:
        monkeypatch.chdir(place)
        assert run(kb, kb_id, Path(path)).chunks_written == 0


def test_prune_removes_only_files_deleted_from_the_given_directories(
    kb: KnowledgeBase, kb_id: str, docs: Path, tmp_path: Path
) -> None:
    for other in ("docs-old", "docs2", "elsewhere"):
        (tmp_path / other).mkdir()
        (tmp_path / other / "gone.md").write_text("Text.")
        run(kb, kb_id, tmp_path / other)
        (tmp_path / other / "gone.md").unlink()
    run(kb, kb_id, docs)
    (docs / "keywords.md").unlink()
    (docs / "part" / "notes.txt").unlink()
    assert run(kb, kb_id, docs).removed == []

    report = run(kb, kb_id, docs, prune=True)

    assert report.removed == ["docs/keywords.md", "docs/part/notes.txt"]
    assert sorted(chunks_by_file(kb, kb_id)) == [
        "docs-old/gone.md", "docs/book.pdf", "docs/part/page.html", "docs2/gone.md", "elsewhere/gone.md",
    ]  # fmt: skip


def test_prune_keeps_files_that_exist_but_cannot_be_read(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    run(kb, kb_id, docs)
    before = chunks_by_file(kb, kb_id)
    (docs / "keywords.md").write_bytes(b"")
    (docs / "book.pdf").write_bytes(b"broken")

    report = run(kb, kb_id, docs, prune=True)

    assert report.removed == []
    assert [problem.source_file_path for problem in report.skipped] == ["docs/book.pdf", "docs/keywords.md"]
    assert chunks_by_file(kb, kb_id) == before


def test_prune_affects_only_its_own_knowledge_base(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    run(kb, kb_id, docs)
    run(kb, f"{kb_id}-2", docs)
    (docs / "keywords.md").unlink()

    run(kb, kb_id, docs, prune=True)

    assert "docs/keywords.md" not in chunks_by_file(kb, kb_id)
    assert "docs/keywords.md" in chunks_by_file(kb, f"{kb_id}-2")


def test_two_files_of_one_name_are_rejected_before_anything_is_written(
    wire: Wire, kb: KnowledgeBase, kb_id: str, docs: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "docs"
    other.mkdir(parents=True)
    (other / "keywords.md").write_text("Else.")
    before = wire.writes

    with pytest.raises(InvalidInput, match=r"would both be named 'docs/keywords\.md'"):
        run(kb, kb_id, docs, other)

    assert wire.writes == before


def test_a_path_given_twice_is_loaded_once(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    assert len(run(kb, kb_id, docs, docs / "keywords.md", docs).loaded) == 4


def test_hidden_files_unknown_types_and_link_loops_are_skipped(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    (docs / ".hidden.md").write_text("Hidden.")
    (docs / ".git").mkdir()
    (docs / ".git" / "a.md").write_text("Hidden.")
    (docs / "picture.png").write_bytes(b"x")
    (docs / "part" / "up").symlink_to(docs)
    (docs / "part" / "self").symlink_to("self")
    (docs / "alias").symlink_to(docs / "part")
    os.mkfifo(docs / "pipe.md")

    report = run(kb, kb_id, docs)

    assert len(report.loaded) == 4
    assert report.skipped == []
    assert report.left_out == {".png": 1, ".md": 1, "": 1}


def test_links_to_directories_outside_are_followed(kb: KnowledgeBase, kb_id: str, docs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "linked.md").write_text("Linked.")
    (docs / "more").symlink_to(outside)

    assert "docs/more/linked.md" in run(kb, kb_id, docs).loaded


def test_unreadable_files_are_reported_and_the_rest_is_loaded(
    kb: KnowledgeBase, kb_id: str, docs: Path, tmp_path: Path
) -> None:
    (docs / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
    (docs / "latin.txt").write_bytes(b"Gr\xf6\xdfe")
    (tmp_path / "table.xls").write_bytes(b"x")

    report = run(kb, kb_id, docs, tmp_path / "absent.md", tmp_path / "table.xls")

    assert len(report.loaded) == 4
    assert [Path(problem.source_file_path).name for problem in report.skipped] == [
        "absent.md",
        "table.xls",
        "bad.pdf",
        "latin.txt",
    ]


def test_files_above_the_limit_are_skipped(docs: Path) -> None:
    large = docs / "large.txt"
    with large.open("wb") as stream:
        stream.truncate(source_files.MAX_FILE_BYTES + 1)

    with pytest.raises(FileTooLarge, match="larger than 50 MB"):
        source_files.SourceFile(path=large, source_file_path="docs/large.txt").read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission_are_skipped(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    (docs / "keywords.md").chmod(0)
    (docs / "part").chmod(0)
    try:
        report = run(kb, kb_id, docs, prune=True)
    finally:
        (docs / "part").chmod(0o700)

    assert [problem.source_file_path for problem in report.skipped] == ["docs/part/", "docs/keywords.md"]
    assert report.loaded == ["docs/book.pdf"]


def test_names_in_any_script_give_ids_that_the_index_accepts(kb: KnowledgeBase, kb_id: str, tmp_path: Path) -> None:
    root = tmp_path / "文档"
    root.mkdir()
    for name in ("手册.md", "über uns (2).txt", "x" * 200 + ".md"):
        (root / name).write_text("Text.")
    run(kb, kb_id, root)
    (root / "手册.md").unlink()

    assert run(kb, kb_id, root, prune=True).removed == ["文档/手册.md"]
    assert all(record_id.isascii() and len(record_id) < 90 for record_id in stored_records(kb, kb_id))


def test_the_forms_of_a_name_are_one_document(kb: KnowledgeBase, kb_id: str, tmp_path: Path) -> None:
    mac, linux = tmp_path / "mac" / "Gro\u0308ße", tmp_path / "linux" / "Größe"
    names = ("한국어 안내.md", "Tiếng Việt.md", "30\u212a.md", "part/Größe.md", "x.md", "y.md")
    for root, form in ((mac, "NFD"), (linux, "NFC")):
        for name in names:
            path = root / ("30\u212a.md" if "30" in name else normalize(form, name))  # whose composed form is ASCII
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("# Text\n\nA text.\n")
    expected = sorted(f"Größe/{normalize('NFC', name)}" for name in names)
    assert run(kb, kb_id, mac, prune=True).loaded == expected
    for root in (mac, linux):
        again = run(kb, kb_id, root, prune=True)
        assert (again.unchanged, again.removed) == (expected, [])
    (mac / normalize("NFD", names[0])).unlink()
    (mac / normalize("NFD", "part/Größe.md")).unlink()
    assert run(kb, kb_id, mac, prune=True).removed == ["Größe/part/Größe.md", "Größe/한국어 안내.md"]


def test_documents_of_decomposed_names_make_way_for_the_composed_ones(
    kb: KnowledgeBase, kb_id: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "docs"
    root.mkdir()
    names = [f"Größe {number}.md" for number in range(6)]
    for name in names:
        (root / normalize("NFD", name)).write_text("# Text\n\nA text.\n")
    with monkeypatch.context() as earlier:  # versions that took names as they were
        earlier.setattr(source_files, "compose_name", str)
        earlier.setattr(source_files, "is_visible", str.isprintable)
        run(kb, kb_id, root)
    report = run(kb, kb_id, root, prune=True)
    assert report.loaded == [f"docs/{name}" for name in names]
    assert report.removed == [f"docs/{normalize('NFD', name)}" for name in names]


def test_progress_counts_files_and_chunks(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    (docs / "long.txt").write_text(long_text("thing", 900))
    reports: list[IngestProgress] = []

    report = ingest([docs], kb_id=kb_id, knowledge_base=kb, prune=False, progress=reports.append)

    assert len(reports) > 2
    assert [at.chunks_written for at in reports] == sorted(at.chunks_written for at in reports)
    assert all(0 < at.files_done <= 5.001 and at.files_total == 5 for at in reports)
    assert reports[-1].files_done == pytest.approx(5)
    assert reports[-1].chunks_written == report.chunks_written == len(stored_records(kb, kb_id))


@pytest.mark.parametrize("writes", range(7))
def test_a_file_that_is_changed_back_after_an_interruption_is_complete(
    wire: Wire, kb: KnowledgeBase, kb_id: str, docs: Path, writes: int
) -> None:
    """The old hash must not stay on a version whose chunks were partly overwritten."""
    (docs / "long.txt").write_text(long_text("first", 400))
    run(kb, kb_id, docs)
    (docs / "long.txt").write_text(long_text("second", 500))
    wire.writes, wire.writes_allowed = 0, writes
    with contextlib.suppress(KnowledgeBaseUnavailable):
        run(kb, kb_id, docs)
    wire.writes_allowed = None
    (docs / "long.txt").write_text(long_text("first", 400))

    run(kb, kb_id, docs)

    assert " ".join(chunks_by_file(kb, kb_id)["docs/long.txt"]) == long_text("first", 400)


Change = dict[str, tuple[str, int] | None]  # file name -> its new content; None deletes it
NAMES = ("a.md", "part/b.md", "part/c.txt", "d.html")
contents = st.tuples(st.sampled_from(["red", "green"]), st.sampled_from([1, 12, 80, 300]))
changes = st.dictionaries(st.sampled_from(NAMES), st.none() | contents, max_size=3)
# A step changes files, then runs; a number interrupts the run after that many writes.
steps = st.lists(st.tuples(changes, st.none() | st.integers(0, 6), st.booleans()), min_size=1, max_size=6)


@given(steps=steps)
@settings(max_examples=examples(12, 40))
def test_after_any_interruptions_a_complete_run_makes_the_index_equal_to_the_files(
    wired_index: tuple[Wire, KnowledgeBase],
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[Change, int | None, bool]],
) -> None:
    wire, kb = wired_index
    kb_id = new_id()
    root = tmp_path_factory.mktemp("model") / "docs"
    (root / "part").mkdir(parents=True)
    for change, interrupt_after, prune in steps:
        apply(root, change)
        wire.writes, wire.writes_allowed = 0, interrupt_after
        try:
            run(kb, kb_id, root, prune=prune)
        except KnowledgeBaseUnavailable:
            assert interrupt_after is not None
    wire.writes, wire.writes_allowed = 0, None

    run(kb, kb_id, root, prune=True)

    assert chunks_by_file(kb, kb_id) == expected(root)
    writes = wire.writes
    assert run(kb, kb_id, root, prune=True).chunks_written == 0
    assert wire.writes == writes


def apply(root: Path, change: Change) -> None:
    for name, content in change.items():
        if content is None:
            (root / name).unlink(missing_ok=True)
        else:
            (root / name).write_text(long_text(*content))


def expected(root: Path) -> dict[str, list[str]]:
    files = {f"docs/{name}": (root / name).read_bytes() for name in NAMES if (root / name).exists()}
    return {name: [c.text for c in chunk_document(read_document(name, data))] for name, data in files.items()}


def command(
    kb: KnowledgeBase, kb_id: str, *paths: Path, prune: bool = False, terminal: bool = False
) -> tuple[int, str]:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=terminal, highlight=False)
    code = ingest_and_report(paths, kb_id=kb_id, knowledge_base=kb, prune=prune, console=console)
    return code, out.getvalue()


def test_the_command_reports_what_it_did(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    for name in ("image.png", "part/photo.PNG", "backup.zip", "Makefile"):
        (docs / name).write_bytes(b"x")
    code, output = command(kb, kb_id, docs)
    assert code == 0
    assert "4 loaded; 6 chunks written. Left out: 2 .png, 1 .zip, 1 without an ending." in output

    (docs / "keywords.md").write_text("New.")
    (docs / "book.pdf").unlink()
    (docs / "part" / "[bold]x[").with_suffix(".md").write_bytes(b"")
    code, output = command(kb, kb_id, docs, prune=True)
    assert code == 1
    assert "Removed docs/book.pdf\n" in output
    assert "Skipped docs/part/[bold]x[.md: is empty\n" in output
    assert "1 replaced, 2 unchanged, 1 removed, 1 skipped; 1 chunks written." in output


def test_a_section_page_with_front_matter_alone_is_no_failure(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    (docs / "_index.md").write_text("---\nweight: 3\n---\n")

    code, output = command(kb, kb_id, docs)

    assert code == 0
    assert "Note: docs/_index.md: has front matter alone; there is nothing to load" in output
    assert "4 loaded, 1 with nothing to read; 6 chunks written." in output


def test_the_command_shows_a_progress_bar_on_a_terminal(kb: KnowledgeBase, kb_id: str, docs: Path) -> None:
    code, output = command(kb, kb_id, docs, terminal=True)

    assert code == 0
    assert "4/4" in output


def test_the_command_ends_with_one_line_when_the_index_fails(
    wire: Wire, kb: KnowledgeBase, kb_id: str, docs: Path
) -> None:
    wire.writes, wire.writes_allowed = 0, 0

    code, output = command(kb, kb_id, docs)

    assert code == 1
    assert output.startswith("Stopped: The knowledge base answered HTTP 400.")
    assert "Traceback" not in output


def test_the_command_names_a_missing_path(kb: KnowledgeBase, kb_id: str, tmp_path: Path) -> None:
    code, output = command(kb, kb_id, tmp_path / "absent")

    assert code == 1
    assert "absent: does not exist" in output
