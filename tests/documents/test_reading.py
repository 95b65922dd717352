"""The readers: every format becomes titled sections, and what cannot be read raises a clear error."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfWriter

from gleaner_documents.model import (
    BrokenPdf,
    Document,
    NoTextFound,
    NotText,
    ReaderFailed,
    UnknownFileType,
    UnreadableDocument,
)
from gleaner_documents.reading import format_names, is_known_type, known_extensions, read_document
from tests.documents.small_files import make_docx, make_epub, make_pptx, make_xlsx, paragraph
from tests.documents.small_pdf import make_pdf
from tests.examples import examples


def read(name: str, content: str | bytes) -> Document:
    return read_document(name, content.encode() if isinstance(content, str) else content)


def texts(document: Document) -> list[tuple[str | None, str]]:
    return [(section.chapter, section.text) for section in document.sections]


def test_every_known_extension_has_a_reader_and_a_format() -> None:
    data = {
        ".pdf": make_pdf(["Some text."]),
        ".docx": make_docx(paragraph("Some text.")),
        ".pptx": make_pptx("Some text."),
        ".xlsx": make_xlsx([["Some text."]]),
        ".epub": make_epub({"one.xhtml": "<p>Some text.</p>"}),
        ".ipynb": b'{"cells": [{"cell_type": "markdown", "source": "Some text."}]}',
        ".eml": b"Subject: Fees\n\nSome text.",
    }

    for extension in known_extensions():
        name = f"docs/FILE{extension.upper()}"
        assert is_known_type(name)
        assert "Some text." in read(name, data.get(extension, b"Some text.")).sections[0].text
    assert format_names() == [
        "Markdown", "text", "HTML", "PDF", "Word", "PowerPoint", "Excel", "CSV", "EPUB", "Jupyter notebook",
        "reStructuredText", "e-mail",
    ]  # fmt: skip


MARKDOWN = """\
---
title: Front
---
# Keywords

Intro with `code`, a [link](https://example.org) and List<String>, AT&amp;T.
Second line.

## Merging duplicates

| Field | Meaning |
|---|---|
| `id` | the *key* |

1. first
2. second
   - nested

### Empty heading

## Code

```sh
make   run

make test
```

> ## A quoted heading
> quoted
"""


def test_markdown_becomes_sections_under_heading_paths() -> None:
    document = read("docs/keywords.md", MARKDOWN)

    assert document.title == "Front"
    assert document.source_file_path == "docs/keywords.md"
    assert texts(document) == [
        ("Keywords", "Intro with `code`, a [link](https://example.org) and List<String>, AT&T. Second line."),
        (
            "Keywords › Merging duplicates",
            "| Field | Meaning |\n| --- | --- |\n| `id` | the key |\n\n1. first\n2. second\n  - nested",
        ),
        ("Keywords › Merging duplicates › Empty heading", "Empty heading"),
        ("Keywords › Code", "```\nmake   run\n\nmake test\n```\n\nA quoted heading\n\nquoted"),
    ]


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("---\ntitle: 'From front matter'\n---\n## Two\n\ntext", "From front matter"),
        ("## Two\n\ntext", "name.md"),
        ("text\n\n# Late title\n\nmore", "Late title"),
        ("# First\n\na\n\n# Second\n\nb", "First"),
    ],
)
def test_title_is_the_front_matters_else_the_first_h1_else_the_file_name(content: str, title: str) -> None:
    assert read("dir/name.md", content).title == title


def test_a_rule_at_the_top_is_not_front_matter() -> None:
    assert texts(read("a.md", "---\n\nSome text, not metadata.\n\n---\n\nmore")) == [
        (None, "Some text, not metadata.\n\nmore")
    ]


def test_headings_may_skip_levels_and_go_back() -> None:
    chapters = [section.chapter for section in read("a.md", "# A\na\n### B\nb\n## C\nc\n# D\nd").sections]

    assert chapters == ["A", "A › B", "A › C", "D"]


def test_an_unclosed_html_tag_in_markdown_hides_nothing() -> None:
    text = read("a.md", "a\n\n<nav>\n\nb\n\n<script>\n\nhidden\n").sections[0].text

    assert text == "a\n\nb"
    assert "the <script> tag" in read("a.md", "Use the <script> tag.\n\nMore.").sections[0].text


def test_details_in_markdown_are_read() -> None:
    section = read("a.md", "<details><summary>More</summary>\n\ninner *text*\n\n</details>").sections[0]

    assert (section.chapter, section.text) == ("More", "inner text")


def test_a_very_long_heading_is_shortened_but_its_words_are_kept() -> None:
    heading = " ".join(f"word{number}" for number in range(100))

    section = read("a.md", f"# {heading}\n\ntext").sections[0]

    assert section.chapter is not None
    assert len(section.chapter) <= 200
    assert section.text == heading


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
@settings(max_examples=examples(25, 80))
def test_any_markdown_is_read_or_rejected_with_its_name(content: str) -> None:
    try:
        document = read("any.md", content)
    except UnreadableDocument as problem:
        assert str(problem).startswith("any.md: ")
    else:
        assert all(section.text.strip() for section in document.sections)


HTML = """<!DOCTYPE html><html><head><title>Site - Page</title><style>p {}</style></head><body>
<nav>Menu</nav><main><h1>Robots<a class="headerlink" href="#">¶</a></h1>
<p>A robot <b>moves</b>,<br>and
  turns.</p><script>x()</script>
<ul><li><p>one</p></li><li>two</li></ul>
<h2>Parts</h2><table><tr><th>Name</th><th>Use</th></tr><tr><td><p>arm</p></td><td>lifts</td></tr></table>
<pre><code>for i in range(3):
    step()
</code></pre><p>a <code>b</code> c &lt;d&gt; <img alt="a gear" src="x"></p></main>
<footer>Legal</footer></body></html>"""


def test_html_keeps_its_main_text_readable() -> None:
    document = read("site/page.html", HTML)

    assert document.title == "Robots"
    assert texts(document) == [
        ("Robots", "A robot moves,\nand turns.\n\n- one\n- two"),
        (
            "Robots › Parts",
            "| Name | Use |\n| --- | --- |\n| arm | lifts |\n\n"
            "```\nfor i in range(3):\n    step()\n```\n\na `b` c <d> a gear",
        ),
    ]


def test_html_without_h1_is_titled_by_its_title_tag() -> None:
    assert read("a.html", "<title> My \n page </title><p>text").title == "My page"
    assert read("dir/a.html", "<p>text").title == "a.html"


def test_html_in_a_declared_encoding_is_read() -> None:
    page = '<html><head><meta charset="windows-1252"></head><body><p>Größe</p></body></html>'

    assert read("a.html", page.encode("windows-1252")).sections[0].text == "Größe"


def test_deeply_nested_html_is_read() -> None:
    assert read("a.html", "<div>" * 3000 + "deep" + "</div>" * 3000).sections[0].text == "deep"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_unicode_text_is_read_with_and_without_a_byte_order_mark(name: str, encoding: str) -> None:
    assert read(name, "Größe: 5 µm\r\n".encode(encoding)).sections[0].text == "Größe: 5 µm"


def test_plain_text_is_one_section_titled_by_the_file_name() -> None:
    document = read("notes/plan.txt", "First paragraph.\n\nSecond.\n")

    assert document.title == "plan.txt"
    assert texts(document) == [(None, "First paragraph.\n\nSecond.")]


def test_wrapped_lines_are_joined_but_lists_are_not() -> None:
    content = (
        "This paragraph was wrapped at a fixed width by its author, so that every exam-\n"
        "ple of a sentence runs over the end of the line.\nShort line.\n\n"
        "- an item that is as long as the lines above it are, to see that it stays apart\n"
        "- another item\n\n    indented code of a length that would be joined if it was not for the space\n"
        "    x = 1\n"
    )

    assert read("a.txt", content).sections[0].text.split("\n") == [
        "This paragraph was wrapped at a fixed width by its author, so that every example"
        " of a sentence runs over the end of the line.",
        "Short line.",
        "",
        "- an item that is as long as the lines above it are, to see that it stays apart",
        "- another item",
        "",
        "    indented code of a length that would be joined if it was not for the space",
        "    x = 1",
    ]


def test_pdf_pages_keep_numbers_title_and_bookmarks() -> None:
    data = make_pdf(
        ["Intro text.", "", "Arms lift.", "Legs walk."],
        title="Robot book",
        bookmarks=[("Start", 0, None), ("Body", 2, None), ("Arms", 2, "Body"), ("Legs", 3, "Body")],
    )

    document = read("books/robots.pdf", data)

    assert document.title == "Robot book"
    assert [(section.page_number, section.chapter, section.text) for section in document.sections] == [
        (1, "Start", "Intro text."),
        (3, "Body", "Arms lift."),
        (4, "Body › Legs", "Legs walk."),
    ]


def test_pdf_without_title_is_titled_by_its_file_name() -> None:
    document = read("books/robots.pdf", make_pdf(["text"]))

    assert document.title == "robots.pdf"
    assert document.sections[0].chapter is None


def encrypted_pdf() -> bytes:
    writer = PdfWriter(io.BytesIO(make_pdf(["secret"])))
    writer.encrypt("password", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "kind", "reason"),
    [
        ("a.md", b"", NoTextFound, "empty"),
        ("a.txt", b" \n", NoTextFound, "empty"),
        ("a.md", b"# Only a heading\n", NoTextFound, "no text"),
        ("a.html", b"<p></p><script>x</script>", NoTextFound, "no text"),
        ("a.txt", "Größe".encode("latin-1"), NotText, "not UTF-8"),
        ("a.html", '<meta charset="no-such"><p>Größe'.encode("latin-1"), NotText, "not UTF-8"),
        ("a.md", b"MZ\x00\x01\x02", NotText, "binary"),
        ("a.pdf", b"not a pdf", BrokenPdf, "not a readable PDF"),
        ("a.pdf", make_pdf(["text"])[:200], BrokenPdf, "not a readable PDF"),
        ("a.pdf", encrypted_pdf(), BrokenPdf, "password"),
        ("a.pdf", make_pdf(["", ""]), NoTextFound, "OCR"),
        ("a.odt", b"x", UnknownFileType, ".md"),
        ("Makefile", b"x", UnknownFileType, ".pdf"),
    ],
)
def test_an_unreadable_file_is_reported_by_name_with_the_reason(
    name: str, data: bytes, kind: type[UnreadableDocument], reason: str
) -> None:
    with pytest.raises(kind) as caught:
        read_document(f"docs/{name}", data)

    assert str(caught.value).startswith(f"docs/{name}: ")
    assert reason in caught.value.reason


def test_damaged_pdfs_give_a_document_or_an_unreadable_document_error() -> None:
    intact = make_pdf(["Some text.", "More."], title="T", bookmarks=[("A", 0, None), ("B", 1, "A")])
    chance = random.Random(7)
    for _ in range(300):
        damaged = bytearray(intact)
        for _ in range(chance.randint(1, 12)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if chance.random() < 0.3:
            del damaged[chance.randrange(len(damaged)) :]
        try:
            read_document("a.pdf", bytes(damaged))
        except UnreadableDocument:
            continue


@pytest.mark.parametrize(
    "markup", ["<p>a</p><![ CDATA", "<![ CDATA [x]]>", "<p>a<![\n>", "<![foo", "a<![1]>"], ids=lambda text: text.strip()
)
@pytest.mark.parametrize("name", ["page.html", "page.md"])
def test_a_file_that_a_parser_gives_up_on_is_read_or_named(name: str, markup: str) -> None:
    try:
        document = read_document(name, f"# T\n\ntext\n\n{markup}\n".encode())
    except ReaderFailed as error:
        assert str(error).startswith(f"{name}: ") and "\n" not in str(error)
    else:
        assert document.sections


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("**Risks**\n\n- Fog\n- Ice", "Risks:\n- Fog\n- Ice"),
        ("__May I moor?__\n\nYes, you may.", "May I moor? Yes, you may."),
        ("**Never moor here.**\n\nIt is shallow.", "Never moor here.\n\nIt is shallow."),
        ("**Ann**\n\n**Bo**\n\n## Next\n\na", "Ann\n\nBo"),
        ("**Fees** are due.\n\n- Now", "Fees are due.\n\n- Now"),
    ],
)
def test_a_bold_line_names_what_stands_below_it(content: str, text: str) -> None:
    assert read("a.md", content).sections[0].text == text
