"""No file takes the time, the memory or the life of the process that wants it read."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gleaner_documents.model import (
    BrokenFile,
    Document,
    NoTextFound,
    ReaderFailed,
    ReaderNotStarted,
    RefusedFile,
    UnreadableDocument,
)
from gleaner_documents.reading import read_document
from gleaner_documents.reading_process import ReadingProcess
from tests.documents.small_files import make_docx, make_epub, make_xlsx, make_zip, paragraph, parts_of

ENTITY = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>'


@pytest.fixture(scope="module")
def process() -> Iterator[ReadingProcess]:
    reading_process = ReadingProcess()
    yield reading_process
    reading_process.stop()


def read_fine(process: ReadingProcess) -> Document:
    return process.read("docs/a.md", b"# Title\n\nText.", source_url="https://docs.example/a")


def test_a_file_reads_in_the_process_as_it_does_here(process: ReadingProcess) -> None:
    assert read_fine(process) == read_document("docs/a.md", b"# Title\n\nText.", source_url="https://docs.example/a")
    with pytest.raises(NoTextFound, match=r"^a\.md: is empty$"):
        process.read("a.md", b" ")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the environment of a process is in /proc")
def test_a_file_that_takes_over_its_parser_finds_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")  # pragma: allowlist secret
    process = ReadingProcess()
    assert read_fine(process).title == "Title"
    [children] = [Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    environments = [Path(f"/proc/{child}/environ").read_bytes() for child in children]
    workers = [environment for environment in environments if b"planted-secret" not in environment]
    process.stop()
    assert any(b"PYTHONPATH=" in environment and b"AWS_" not in environment for environment in workers)


def test_a_file_that_takes_too_long_is_refused_and_the_next_one_is_read() -> None:
    process = ReadingProcess(max_seconds=0.001)  # no worker starts in this time
    with pytest.raises(RefusedFile, match=r"a\.md: takes longer than 0.001 seconds"):
        process.read("a.md", b"Text.")
    process.stop()


def test_a_file_that_takes_too_much_memory_is_refused_and_the_next_one_is_read() -> None:
    process = ReadingProcess(max_memory_bytes=100 * 1024**2)
    with pytest.raises(RefusedFile, match=r"a\.txt: takes more than 100 MB"):
        process.read("a.txt", codecs.BOM_UTF16_LE + "ж".encode("utf-16-le") * 20_000_000)
    assert read_fine(process).title == "Title"
    process.stop()


def test_a_worker_that_does_not_start_blames_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document would be called unreadable, for good, by a fault that the next deployment mends."""
    process = ReadingProcess()
    with monkeypatch.context() as broken:
        broken.setattr(sys, "executable", "/bin/false")
        with pytest.raises(ReaderNotStarted):
            process.read("a.md", b"Text.")
    assert read_fine(process).title == "Title"
    process.stop()


def test_a_worker_that_dies_names_the_file() -> None:
    process = ReadingProcess(max_memory_bytes=1024)  # too little to go on with
    with pytest.raises(UnreadableDocument, match=r"^a\.md: ") as problem:
        process.read("a.md", b"Text.")
    assert isinstance(problem.value, ReaderFailed | RefusedFile)
    process.stop()


@pytest.mark.parametrize(
    ("name", "make", "error", "reason"),
    [
        pytest.param(
            "bomb.docx",
            lambda: make_docx("", parts={"a.bin": b"\0" * 301 * 1024**2}),
            RefusedFile,
            "unpacks to more",
            id="bomb",
        ),
        pytest.param(
            "a.docx",
            lambda: make_docx(paragraph("&amp;a;"), doctype=ENTITY),
            RefusedFile,
            "entities",
            id="external entity",
        ),
        pytest.param(
            "a.docx",
            lambda: make_docx("", parts={"word/styles.xml": ENTITY.encode("utf-16")}),
            RefusedFile,
            "entities",
            id="entity in UTF-16",
        ),
        pytest.param(
            "a.epub",
            lambda: make_zip({"META-INF/container.xml": ENTITY}),
            RefusedFile,
            "entities",
            id="entity in a book",
        ),
        pytest.param(
            "a.docx",
            lambda: make_docx("<w:ins>" * 3000 + "</w:ins>" * 3000),
            ReaderFailed,
            "not understood",
            id="nested tags",
        ),
        pytest.param(
            "a.pptx", lambda: make_docx(paragraph("Text.")), BrokenFile, "no PPTX", id="another Office format"
        ),
        pytest.param("a.xlsx", lambda: make_xlsx([["Text"]])[:-40], BrokenFile, "damaged", id="cut off"),
        pytest.param(
            "a.docx", lambda: bytes.fromhex("d0cf11e0a1b11ae1") + bytes(512), BrokenFile, "password", id="locked"
        ),
        pytest.param("a.ipynb", lambda: b"[" * 100_000, BrokenFile, "not JSON", id="nested lists"),
        pytest.param(
            "a.eml",
            lambda: b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 3000,
            ReaderFailed,
            "not understood",
            id="messages within messages",
        ),
    ],
)
def test_hostile_and_broken_files_are_refused_with_a_reason(
    name: str, make: Callable[[], bytes], error: type[UnreadableDocument], reason: str
) -> None:
    with pytest.raises(error, match=reason):
        read_document(name, make())


def test_names_that_leave_the_archive_do_no_harm() -> None:
    names = {"../../outside.txt": "x", "/absolute.txt": "x"}

    assert read_document("a.docx", make_docx(paragraph("Text."), parts=names)).sections[0].text == "Text."


def test_a_sheet_that_claims_every_cell_is_read_by_the_cells_that_it_has() -> None:
    sheet = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>7</v></c></row></sheetData>'
        '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells></worksheet>'
    )

    document = read_document("a.xlsx", make_zip({**parts_of(make_xlsx([["x"]])), "xl/worksheets/sheet1.xml": sheet}))

    assert [(section.chapter, section.text) for section in document.sections] == [("Sheet", "7")]


def test_a_book_protected_against_copying_is_named() -> None:
    parts = parts_of(make_epub({"one.xhtml": "<p>One.</p>"}))
    encryption = '<encryption><CipherReference URI="OPS/one.xhtml"/></encryption>'

    with pytest.raises(BrokenFile, match="protected against copying"):
        read_document("a.epub", make_zip({**parts, "META-INF/encryption.xml": encryption}))
