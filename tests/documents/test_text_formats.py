"""CSV, notebooks, reStructuredText, e-mail and books: what people see in them becomes sections."""

from __future__ import annotations

import json

import pytest

from gleaner_documents.model import BrokenFile, Document, NothingToRead, NotText
from gleaner_documents.reading import read_document
from tests.documents.small_files import make_epub


def texts(document: Document) -> list[tuple[str | None, str]]:
    return [(section.chapter, section.text) for section in document.sections]


TABLE = "| name | town | price |\n| --- | --- | --- |\n| Müller | Köln | 1,5 |"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("name;town;price\nMüller;Köln;1,5\n".encode(), id="semicolons and decimal commas"),
        pytest.param('name,town,price\n"Müller",Köln,"1,5"\n'.encode("utf-16"), id="UTF-16"),
        pytest.param('name,town,price\r\n"Müller","Köln","1,5"\r\n'.encode("cp1252"), id="Windows-1252"),
        pytest.param("sep=|\nname|town|price\nMüller|Köln|1,5".encode("utf-8-sig"), id="a line for Excel"),
        pytest.param("name\ttown\tprice\nMüller\tKöln\t1,5\n".encode(), id="tabs"),
        pytest.param('name, town, price\nMüller, "Köln", "1,5"\n'.encode(), id="spaces after commas"),
    ],
)
def test_csv_is_a_table_whatever_divides_its_cells(data: bytes) -> None:
    assert texts(read_document("a.csv", data)) == [(None, TABLE)]


def test_csv_with_line_breaks_in_cells_captions_and_several_tables() -> None:
    data = b'Fees 2026\n\nBerth,Note\nA1,"First line\nsecond | line"\n\nBoat,Length\nKite,3\n'

    assert texts(read_document("a.csv", data)) == [
        ("Fees 2026", "| Berth | Note |\n| --- | --- |\n| A1 | First line second \\| line |"),
        ("Fees 2026", "| Boat | Length |\n| --- | --- |\n| Kite | 3 |"),
    ]


def test_csv_without_headers_stays_rows() -> None:
    assert read_document("a.csv", b"1,2\n3,4\n").sections[0].text == "| 1 | 2 |\n| 3 | 4 |"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("Имя;Город\nИван;Москва", "cp1251"), ("imię;miasto\nJan;Białystok", "cp1250"), ("名称,价格\n苹果,3", "gb18030")],
)
def test_csv_in_an_encoding_that_can_only_be_guessed_is_refused(text: str, encoding: str) -> None:
    with pytest.raises(NotText, match="save it as UTF-8"):
        read_document("a.csv", text.encode(encoding))
    marked = "\ufeff" + text
    if encoding == "gb18030":
        assert "| 苹果 | 3 |" in read_document("a.csv", marked.encode(encoding)).sections[0].text


def test_a_notebook_keeps_text_and_code_and_the_beginning_of_outputs() -> None:
    lines = [f"line {number}\n" for number in range(40)]
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "How high?\n", "```\n", "left open"]},
        {
            "cell_type": "code",
            "source": ["print(tide)"],
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31m10%\r100%\x1b[0m\n", *lines]},
                {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
            ],
        },
        {"cell_type": "code", "source": "1/0", "outputs": [{"output_type": "error", "ename": "E", "evalue": "zero"}]},
        {"cell_type": "markdown", "source": "## End\n\nDone."},
    ]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4}

    document = read_document("a.ipynb", json.dumps(notebook).encode())

    assert document.title == "Tides"
    assert [section.chapter for section in document.sections] == ["Tides", "Tides › End"]
    text = document.sections[0].text
    assert "print(tide)" in text
    assert "Output:\n\n```\n100%\nline 0\n" in text
    assert "line 13\n…" in text
    assert "E: zero" in text
    assert "line 14" not in text
    assert "Figure" not in text


RST = """\
.. _fees-label:

====
Fees
====

See :ref:`fees-label`, :ref:`the rules <x>`, :class:`~harbour.Berth`, :kbd:`F1` and `us <https://moor.example/>`_.

.. toctree::

   other

.. warning:: Deep water.

.. tab-set::

   .. tab-item:: Mac
      :sync: mac

      Use brew.

.. code-block:: python
   :linenos:

   def f():

       return 1

.. versionadded:: 3.2
   The option.

.. include:: /etc/hostname

.. csv-table::
   :file: /etc/hostname

.. raw:: html

   <b>raw</b>

.. unknown-thing:: Its title

   Its body.

.. function:: open(path)

   Opens it.

   :param path: the path

======  ===
Berth   Fee
======  ===
A1      12
======  ===
"""


def test_restructured_text_reads_as_sphinx_shows_it_and_follows_no_file() -> None:
    document = read_document("a.rst", RST.encode())

    assert document.title == "Fees"
    ((chapter, text),) = texts(document)
    assert chapter == "Fees"
    assert text == (
        "See Fees, the rules, `Berth`, `F1` and [us](https://moor.example/).\n\n"
        "Warning: Deep water.\n\nMac: Use brew.\n\n```\ndef f():\n\n    return 1\n```\n\n"
        "New in version 3.2: The option.\n\nIts title: Its body.\n\n`open(path)`\n\nOpens it.\n\n"
        "param path: the path\n\n| Berth | Fee |\n| --- | --- |\n| A1 | 12 |"
    )


EMAIL = """\
From: =?utf-8?q?J=C3=BCrgen?= <j@harbour.example>
To: ada@harbour.example
Date: Sat, 14 Mar 2026 08:05:00 +0100
Subject: =?iso-8859-1?q?Mooring_f=E9es?=
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

The f=E9e is 12 =80.

On Friday, Ada wrote:
> What is the fee?
--b
Content-Type: application/pdf; name="fees.pdf"
Content-Disposition: attachment; filename="fees.pdf"

x
--b--
"""


def test_what_restructured_text_says_to_sphinx_is_no_text() -> None:
    content = """:orphan:
:tocdepth: 2

Fees
====

See :ref:`quay-size` and :ref:`winter_fees-2026`, :pep:`the rules <503#names>`. :Status: open

.. _quay-size:

``quay.size``
-------------

+-------+---------+-----------+
|       | **Day** | **Night** |
+-------+---------+-----------+
| Berth | 4       | 9         |
+-------+---------+-----------+
"""

    document = read_document("a.rst", content.encode())

    assert texts(document) == [
        ("Fees", "See quay.size and winter fees 2026, the rules. :Status: open"),
        ("Fees › `quay.size`", "|  | Day | Night |\n| --- | --- | --- |\n| Berth | 4 | 9 |"),
    ]


def test_an_email_tells_who_wrote_what_and_when() -> None:
    document = read_document("a.eml", EMAIL.encode())

    assert document.title == "Mooring fées"
    assert texts(document) == [
        (
            "Mooring fées",
            "From: Jürgen <j@harbour.example>\nTo: ada@harbour.example\nDate: 2026-03-14 08:05 +0100\n"
            "Attachments: fees.pdf\n\nThe fée is 12 €.",
        ),
        ("Mooring fées › Quoted message", "On Friday, Ada wrote:\n\nWhat is the fee?"),
    ]


def test_a_book_is_read_in_its_order_under_the_titles_of_its_contents() -> None:
    pages = {
        "two.xhtml": "<html><body><h1>Chapter 2. Ships</h1><p>Two.</p></body></html>",
        "one.xhtml": "<html><body><p>One.</p></body></html>",
        "more.xhtml": "<html><body><p>More.</p></body></html>",
        "advert.xhtml": "<html><body><p>Advert.</p></body></html>",
    }
    nav = (
        '<li><a href="one.xhtml#top">1. Sea</a></li>'
        '<li><span>Part two</span><ol><li><a href="two.xhtml">2. Ships</a></li></ol></li>'
    )
    order = "".join(f'<itemref idref="{name}.xhtml"/>' for name in ("one", "more", "two"))
    spine = order + '<itemref idref="advert.xhtml" linear="no"/>'

    document = read_document("a.epub", make_epub(pages, title="The sea", nav=nav, spine=spine))

    assert document.title == "The sea"
    assert texts(document) == [("1. Sea", "One."), ("1. Sea", "More."), ("Part two › Chapter 2. Ships", "Two.")]


BERTHS = '<li><a href="one.xhtml#b">Berths</a></li>'


@pytest.mark.parametrize(
    ("page", "nav", "chapters"),
    [
        (  # paragraphs that look like headings, as converters write them
            '<p><a id="a"></a>Fees</p><p>12.</p><div id="b"><p>Forty.</p></div>',
            '<li><a href="one.xhtml#a">1. Fees</a></li>' + BERTHS,
            [("Fees", "12."), ("Berths", "Forty.")],
        ),
        (  # headings of the page tell more than the contents
            '<section id="a"><h1>The fees</h1><p>12.</p></section><h1><a name="b"></a>All berths</h1><p>Forty.</p>',
            '<li><a href="one.xhtml#a">Fees</a></li>' + BERTHS,
            [("The fees", "12."), ("All berths", "Forty.")],
        ),
        (  # a chapter with the parts of it that the contents name
            '<p>Welcome.</p><p id="b"><b>Berths</b></p><p>Forty.</p>',
            f'<li><a href="one.xhtml">Harbour</a><ol>{BERTHS}</ol></li>',
            [("Harbour", "Welcome."), ("Harbour › Berths", "Forty.")],
        ),
    ],
)
def test_entries_of_the_contents_divide_a_page(page: str, nav: str, chapters: list[tuple[str, str]]) -> None:
    pages = {"one.xhtml": f"<html><body>{page}</body></html>", "two.xhtml": "<html><body><p>More.</p></body></html>"}

    *sections, (following, _) = texts(read_document("a.epub", make_epub(pages, nav=nav)))

    assert sections == chapters
    assert following is not None and following.endswith("Berths")  # a page without an entry belongs to the last one


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub", "a.ipynb", "a.eml"])
def test_a_file_of_another_format_than_its_name_says_is_named(name: str) -> None:
    with pytest.raises(BrokenFile, match=f"^{name}: "):
        read_document(name, b"Just some text.")


GLOSSARY = """
.. glossary::
   :sorted:

   .. no term

   Bond
   Surety
      Money that is held.

      It is paid back.

   Berth : b

       A place for a :term:`boat <Kite>`.
"""


def test_the_terms_of_a_glossary_stand_before_their_definitions() -> None:
    document = read_document("a.rst", GLOSSARY.encode())
    assert texts(document) == [
        (None, "Bond, Surety: Money that is held.\n\nIt is paid back.\n\nBerth: A place for a boat.")
    ]


def test_what_sphinx_shows_of_options_is_text() -> None:
    rst = (
        ".. confval:: html_theme\n   :type: str\n   :default: ``'red'``\n   :no-index:\n\n   The look.\n\n"
        ".. code-block:: python\n   :caption: boat.py\n\n   x = 1\n"
    )
    [(_, text)] = texts(read_document("a.rst", rst.encode()))
    assert text == "`html_theme`\n\nType: str\n\nDefault: `'red'`\n\nThe look.\n\nboat.py\n\n```\nx = 1\n```"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.rst", "Guide\n=====\n\n.. toctree::\n   :hidden:\n\n   start\n"),
        ("a.md", "# Guide\n\n```{include} ../README.md\n```\n"),
    ],
)
def test_a_page_that_only_names_others_is_no_failure(name: str, content: str) -> None:
    with pytest.raises(NothingToRead, match="names other pages alone"):
        read_document(name, content.encode())
