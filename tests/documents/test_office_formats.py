"""Word documents, presentations and spreadsheets: what people see in them becomes sections."""

from __future__ import annotations

import datetime

import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE

from gleaner_documents.model import Document
from gleaner_documents.reading import read_document
from tests.documents.small_files import make_docx, make_xlsx, paragraph, relationship, save, word_part


def texts(document: Document) -> list[tuple[str | None, str]]:
    return [(section.chapter, section.text) for section in document.sections]


STYLES = word_part(
    "styles",
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Own"><w:name w:val="Own clause"/><w:basedOn w:val="Base"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Base"><w:name w:val="Base"/>'
    "<w:pPr><w:outlineLvl w:val='1'/></w:pPr></w:style>"
    '<w:style w:type="paragraph" w:styleId="Toc"><w:name w:val="toc 1"/></w:style>',
)
FOOTNOTES = word_part("footnotes", f'<w:footnote w:id="2">{paragraph("Except on Sundays.")}</w:footnote>')
BODY = (
    paragraph("Fees ... 3", "Toc")
    + paragraph("Mooring", "berschrift1")
    + "<w:p><w:r><w:t>The fee is </w:t></w:r><w:del><w:r><w:delText>10</w:delText></w:r></w:del>"
    "<w:ins><w:r><w:t>12 euros</w:t></w:r></w:ins>"
    '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    + paragraph("It is paid at the office.")
    + paragraph("Berths", "Own")
    + "<w:tbl>"
    + "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>"
        for row in (("Berth", "Fee"), ("A1", "12"), ("", ""))
    )
    + "</w:tbl>"
)


def test_a_word_document_reads_with_its_changes_accepted_and_notes_below_their_paragraphs() -> None:
    data = make_docx(
        BODY,
        parts={"word/styles.xml": STYLES, "word/footnotes.xml": FOOTNOTES},
        links=relationship("styles", "styles.xml") + relationship("footnotes", "footnotes.xml"),
    )

    document = read_document("a.docx", data)

    assert document.title == "Mooring"
    assert texts(document) == [
        ("Mooring", "The fee is 12 euros[1]\n\n[1] Except on Sundays.\n\nIt is paid at the office."),
        ("Mooring › Berths", "| Berth | Fee |\n| --- | --- |\n| A1 | 12 |"),
    ]


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("Harbour rules", "Harbour rules"),
        ("Microsoft Word - rules.doc", "a.docx"),
        ("Untitled", "a.docx"),
        (".", "a.docx"),
        ("", "a.docx"),
    ],
)
def test_a_title_that_the_program_wrote_is_no_title(stated: str, title: str) -> None:
    assert read_document("a.docx", make_docx(paragraph("Text."), title=stated)).title == title


def test_slides_are_chapters_with_lists_tables_charts_and_notes() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Mooring fees"
    body = slide.placeholders[1].text_frame
    body.text = "Pay at the "
    link = body.paragraphs[0].add_run()
    link.text = "portal"
    link.hyperlink.address = "https://moor.example/pay"
    body.add_paragraph().text = "Or in cash"
    body.paragraphs[1].level = 1
    table = slide.shapes.add_table(2, 2, 0, 0, 100, 100).table
    for (row, column), text in {(0, 0): "Berth", (0, 1): "Fee", (1, 0): "A1", (1, 1): "12"}.items():
        table.cell(row, column).text = text
    numbers = CategoryChartData()
    numbers.categories = ["Spring"]
    numbers.add_series("Boats", (4.5,))
    slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 100, 100, numbers)
    slide.notes_slide.notes_text_frame.text = "Thank the harbour master."
    hidden = presentation.slides.add_slide(presentation.slide_layouts[5])
    hidden.shapes.title.text = "Hidden"
    hidden.element.set("show", "0")
    presentation.slides.add_slide(presentation.slide_layouts[5]).shapes.title.text = "Questions"

    document = read_document("a.pptx", save(presentation))

    assert document.title == "Mooring fees"
    assert texts(document) == [
        (
            "Slide 1 › Mooring fees",
            "- Pay at the [portal](https://moor.example/pay)\n  - Or in cash\n\n"
            "| Berth | Fee |\n| --- | --- |\n| A1 | 12 |\n\n|  | Boats |\n| --- | --- |\n| Spring | 4.5 |\n\n"
            "Thank the harbour master.",
        ),
        ("Slide 3 › Questions", "Questions"),
    ]


def test_a_sheet_is_read_as_it_is_shown() -> None:
    workbook = Workbook()
    sheet = workbook.active
    sheet.title = "Fees"
    rows = [
        ["Harbour fees"], [], ["Region", "2025", None, "Since"], [None, "Q1", "Q2", None],
        ["North", 1234.5, 0.125, datetime.date(2026, 3, 14)], [None, 3, -1234.567, datetime.date(2026, 3, 15)],
        [], ["Boat", "Length"], ["Kite", 0.1 + 0.2],
    ]  # fmt: skip
    for row in rows:
        sheet.append(row)
    for merged in ("A1:D1", "A3:A4", "B3:C3", "D3:D4", "A5:A6"):
        sheet.merge_cells(merged)
    sheet["C5"].number_format = "0.0%"
    sheet["C6"].number_format = '#,##0.00 "€"'
    sheet["D6"].number_format = "dd.mm.yyyy"
    workbook.create_sheet("Secret").append(["hidden"])
    workbook["Secret"].sheet_state = "hidden"

    assert texts(read_document("a.xlsx", save(workbook))) == [
        (
            "Fees › Harbour fees",
            "| Region | 2025 Q1 | 2025 Q2 | Since |\n| --- | --- | --- | --- |\n"
            "| North | 1234.5 | 12.5% | 2026-03-14 |\n| North | 3 | -1,234.57 € | 15.03.2026 |",
        ),
        ("Fees › Harbour fees", "| Boat | Length |\n| --- | --- |\n| Kite | 0.3 |"),
    ]


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (12345678901234, "General", "12345678901234"),
        (-5, "0.00;(0.00)", "(5.00)"),
        (0, '0;-0;"-"', "-"),
        (5, "0000", "0005"),
        (1500000, '0.0,,"M"', "1.5M"),
        (0.25, "# ?/?", "0.25"),
        (-3, '"$"#,##0', "-$3"),
        (99.995, "0.00", "100.00"),
        (True, "General", "TRUE"),
        (datetime.datetime(2026, 3, 4, 15, 5), '[$-409]mmmm d", "yyyy h:mm AM/PM;@', "March 4, 2026 3:05 PM"),
        (datetime.datetime(2026, 3, 4, 15, 5), "mm-dd-yy", "2026-03-04"),
        (datetime.timedelta(hours=26, minutes=5), "[h]:mm:ss", "26:05:00"),
    ],
)
def test_numbers_are_written_in_the_format_of_their_cells(value: object, number_format: str, shown: str) -> None:
    workbook = Workbook()
    workbook.active.append(["What", "Value"])
    workbook.active.append(["x", value])
    workbook.active["B2"].number_format = number_format

    assert read_document("a.xlsx", save(workbook)).sections[0].text.endswith(f"| x | {shown} |")


def test_every_part_of_a_long_table_has_the_headers_and_a_wide_row_names_each_cell() -> None:
    long = read_document("a.xlsx", make_xlsx([["Boat", "Berth"], *([f"Boat {i}", f"A{i}"] for i in range(300))]))
    wide = read_document("a.xlsx", make_xlsx([[f"Field {i}" for i in range(90)], [f"value {i}" for i in range(90)]]))

    assert len(long.sections) > 5
    assert all(section.text.startswith("| Boat | Berth |\n| --- | --- |\n") for section in long.sections)
    assert sum(section.text.count("\n") - 1 for section in long.sections) == 300
    assert len(wide.sections) > 1
    assert all(section.text.startswith("- Field 0: value 0\n") for section in wide.sections)
    assert "- Field 89: value 89" in wide.sections[-1].text


def test_a_cell_of_a_spreadsheet_keeps_its_address() -> None:
    workbook = Workbook()
    for row in (["Boat", "Portal"], ["Kite", "Book"], ["Wren", "Book"]):
        workbook.active.append(row)
    workbook.active["B2"].hyperlink = "https://portal.example/?a=1&b=2"
    workbook.active["B3"].hyperlink = "javascript:alert(1)"
    [section] = read_document("a.xlsx", save(workbook)).sections
    assert section.text.endswith("| Kite | [Book](https://portal.example/?a=1&b=2) |\n| Wren | Book |")
