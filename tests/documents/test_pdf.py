"""PDF: pages, labels, bookmarks, columns, words and titles are read as they are printed."""

from __future__ import annotations

import io

import pytest
from pypdf import PdfWriter
from pypdf.constants import PageLabelStyle
from pypdf.generic import NameObject, NumberObject

from gleaner_documents.chunking import chunk_document
from gleaner_documents.model import BrokenPdf, Document, Section
from gleaner_documents.reading import read_document
from tests.documents.small_pdf import LINE_HEIGHT, Text, column, make_pdf

LEFT = "The council of the island met in\nthe old barn and agreed that the\nferry should sail on Sundays too."
RIGHT = "The baker opens at seven because\nhis flour arrives by boat and is\ncarried up the hill by two mules."
LEFT_TEXT, RIGHT_TEXT = (text.replace("\n", " ") for text in (LEFT, RIGHT))


def read(data: bytes, name: str = "dir/a.pdf") -> Document:
    return read_document(name, data)


def text_of(data: bytes) -> str:
    return "\n".join(section.text for section in read(data).sections)


def interleave(*columns: list[Text]) -> list[Text]:
    return [text for row in zip(*columns, strict=True) for text in row]


@pytest.mark.parametrize(
    "texts",
    [
        interleave(column(20, 380, LEFT), column(320, 380, RIGHT)),
        column(320, 380, RIGHT) + column(20, 380, LEFT),
        [Text(20, 395, "What the island decided in the spring and what it means for those who live there"),
         *interleave(column(20, 380, LEFT), column(320, 380, RIGHT))],
    ],
)  # fmt: skip
def test_columns_are_read_one_after_the_other(texts: list[Text]) -> None:
    text = text_of(make_pdf([texts]))

    assert text.index(LEFT_TEXT) < text.index(RIGHT_TEXT)


def test_three_columns_are_read_one_after_the_other() -> None:
    third = "A third column tells us\nof some gulls that steal\nour bread from the pier."
    narrow = [column(x, 380, text, 10) for x, text in ((20, LEFT), (210, RIGHT), (400, third))]

    text = text_of(make_pdf([interleave(*narrow)]))

    assert text.split("\n\n") == [LEFT_TEXT, RIGHT_TEXT, third.replace("\n", " ")]


def test_hebrew_columns_are_read_from_the_right() -> None:
    lines = ["אבגדה ובזחט יכלמנ סעפצק רשתאב", "גדהוז חטיכל מנסעפ צקרשת אבגדה", "וזחטי כלמנס עפצקר שתאבג דהוזח"]
    drawn = [[Text(x, 380 - LINE_HEIGHT * i, line[::-1]) for i, line in enumerate(lines)] for x in (20, 320)]
    drawn[0] = [text._replace(characters=text.characters[::-1].replace("א", "ת")[::-1]) for text in drawn[0]]

    text = text_of(make_pdf([interleave(*drawn)]))

    assert text.split("\n\n") == [" ".join(lines), " ".join(lines).replace("א", "ת")]


def test_rows_of_a_table_stay_rows() -> None:
    rows = [("Harbour", "Berths", "Fee"), ("Vigo", "120", "14"), ("Turku", "80", "11"), ("Gdansk", "95", "9")]
    texts = [Text(20 + 200 * j, 380 - 14 * i, cell) for i, row in enumerate(rows) for j, cell in enumerate(row)]

    assert text_of(make_pdf([texts])).split("\n") == [" ".join(row) for row in rows]


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("Die Straß-", "en der Stadt", "Die Straßen der Stadt"),
        ("la sécurit\u00e9 et la libert\u00e9, ré-", "élection", "la sécurité et la liberté, réélection"),
        ("большая эконом-", "ика города", "большая экономика города"),
        ("η μεγάλη κυβέρ-", "νηση της χώρας", "η μεγάλη κυβέρνηση της χώρας"),
        ("the exami\u2010", "nation", "the examination"),
        ("the exami\u00ad", "nation", "the examination"),
        ("a well-", "known harbour", "a well-known harbour"),
        ("the Anglo-", "Saxon fleet", "the Anglo-Saxon fleet"),
        ("die Ein-", "und Ausfahrt", "die Ein- und Ausfahrt"),
        ("the years 1990-", "1995", "the years 1990-1995"),
        ("the years 1990\u2013", "1995", "the years 1990\u20131995"),
        ("COVID-", "19 cases", "COVID-19 cases"),
        ("港口的桥每天早上八点钟打开并且在", "晚上关闭", "港口的桥每天早上八点钟打开并且在晚上关闭"),
    ],
)
def test_words_divided_at_the_end_of_a_line_are_joined(first: str, second: str, joined: str) -> None:
    start = "x" * (48 - len(first)) + " "

    assert text_of(make_pdf([f"{start}{first}\n{second}"])) == start + joined


def test_a_compound_that_the_document_writes_elsewhere_keeps_its_hyphen() -> None:
    text = text_of(make_pdf(["The sea-front is long and it is old and the sea-\nfront is wet."]))

    assert "the sea-front is wet" in text


def test_letters_are_read_as_people_type_them() -> None:
    data = make_pdf([[Text(20, 380, "The ﬁrst oﬃce"), Text(20, 340, "C H A P T E R  O N E"), Text(20, 300, "10² m")]])

    assert text_of(data).split("\n") == ["The first office", "CHAPTER ONE", "10² m"]


def test_an_exponent_is_no_digit_of_the_number() -> None:
    texts = [Text(20, 380, "about 10"), Text(68, 385, "6", 8), Text(72, 380, " stars"), Text(20, 340, "in 1990 or 106")]

    assert text_of(make_pdf([texts])).split("\n") == ["about 10^6 stars", "in 1990 or 106"]


@pytest.mark.parametrize("drawn", ["ةبتكملا حتفت", "ﺔﺒﺘﻜﻤﻟﺍ ﺢﺘﻔﺗ"])
def test_arabic_is_read_in_the_order_in_which_it_is_spoken(drawn: str) -> None:
    assert text_of(make_pdf([[Text(20, 380, drawn)]])) == "تفتح المكتبة"


def test_a_page_belongs_to_the_last_bookmark_before_it() -> None:
    data = make_pdf(
        [
            "Boats\nBoats are blue.\n1.1 Hulls\nHulls are red.",
            "Dry the bilge.",
            "Masts\nMasts turn.\nHarbours\nMay.",
            "Deep.",
        ],
        bookmarks=[("Boats", 0, None), ("Hulls", 0, "Boats"), ("Masts", 2, "Boats"), ("Harbours", 2, None)],
    )

    assert [
        (section.page_number, section.chapter, section.text.split("\n")[-1]) for section in read(data).sections
    ] == [
        (1, "Boats", "Boats are blue."),
        (1, "Boats › Hulls", "Hulls are red."),
        (2, "Boats › Hulls", "Dry the bilge."),
        (3, "Boats › Masts", "Masts turn."),
        (3, "Harbours", "May."),
        (4, "Harbours", "Deep."),
    ]


def test_a_bookmark_divides_a_page_at_its_height() -> None:
    data = make_pdf(
        ["end of part one\nabout ropes\nNow come sails\nand wind"],
        bookmarks=[("Sails", 0, None, 380 - LINE_HEIGHT * 2 + 12)],
    )

    assert [(section.chapter, section.text) for section in read(data).sections] == [
        (None, "end of part one\nabout ropes"),
        ("Sails", "Now come sails\nand wind"),
    ]


def test_printed_page_labels_reach_the_chunks() -> None:
    labels = [(0, 1, PageLabelStyle.LOWERCASE_ROMAN, ""), (2, 2, PageLabelStyle.DECIMAL, "A-")]

    chunks = chunk_document(read(make_pdf(["One.", "Two.", "Three."], labels=labels)))

    assert [(chunk.page_number, chunk.page_label) for chunk in chunks] == [(1, "i"), (2, "ii"), (3, "A-1")]
    assert read(make_pdf(["One."])).sections == (Section(text="One.", page_number=1),)


def test_running_heads_feet_and_page_numbers_stand_only_once() -> None:
    bodies = ["The bridge opens at nine.", "The ferry leaves at ten.", "The lock is closed.", "The pier is new."]
    pages = [
        [Text(20, 390, "Manual of the harbour, rev. 7"), Text(20, 300, body), Text(300, 10, f"Page {number} of 4")]
        for number, body in enumerate(bodies, start=1)
    ]

    sections = read(make_pdf(pages)).sections

    assert sections[0].text.split("\n\n") == ["Manual of the harbour, rev. 7", bodies[0], "Page 1 of 4"]
    assert [section.text for section in sections[1:]] == bodies[1:]


def test_bare_page_numbers_are_dropped_and_other_numbers_stay() -> None:
    pages = [[Text(20, 300, f"Fee {17 * n}"), Text(20, 200, "42"), Text(300, 10, f"- {n} -")] for n in (1, 2)]

    assert [section.text for section in read(make_pdf(pages)).sections] == ["Fee 17\n\n42", "Fee 34\n\n42"]


@pytest.mark.parametrize(
    "title",
    ["untitled", "Microsoft Word - fees.doc", "main.dvi", r"C:\Users\ada\fees.docx", "Untitled-1", "Dokument1",
     "无标题", "PowerPoint Presentation", "/home/ada/fees.tex", "(anonymous)", "Layout 1", "fees.indd", "Contents"],
)  # fmt: skip
def test_the_title_of_a_program_is_no_title(title: str) -> None:
    page = [Text(20, 380, "Fees of the harbour", 20), Text(20, 340, "Boats pay nine euros."), Text(20, 326, "Or ten.")]

    assert read(make_pdf([page], title=title)).title == "Fees of the harbour"
    assert read(make_pdf(["Boats pay nine euros.\nOr ten."], title=title)).title == "a.pdf"


@pytest.mark.parametrize("title", ["Fees 2024", "Document management", "The untitled novel", "Layout of the port"])
def test_a_title_of_a_person_is_kept(title: str) -> None:
    assert read(make_pdf(["text"], title=title)).title == title


def test_the_title_of_the_metadata_packet_is_used() -> None:
    packet = (
        b"<x:xmpmeta><dc:title><rdf:Alt><rdf:li xml:lang='x-default'>Tides &amp; fees</rdf:li></rdf:Alt></dc:title>"
    )

    assert read(make_pdf(["text"]) + b"\n% " + packet + b"\n").title == "Tides & fees"


def test_a_page_tree_and_an_outline_that_contain_themselves_are_read_once() -> None:
    writer = PdfWriter(io.BytesIO(make_pdf(["One.", "Two."], bookmarks=[("A", 0, None), ("B", 1, "A")])))
    pages = writer.root_object["/Pages"]
    pages["/Kids"].append(writer.root_object.raw_get("/Pages"))
    first = writer.root_object["/Outlines"]["/First"].get_object()
    first[NameObject("/Next")] = first.indirect_reference
    first["/First"].get_object()[NameObject("/First")] = first.indirect_reference

    sections = read(write(writer)).sections

    assert [(section.chapter, section.text) for section in sections] == [("A", "One."), ("A › B", "Two.")]


def test_more_pages_than_a_book_has_are_refused_with_the_reason() -> None:
    writer = PdfWriter(io.BytesIO(make_pdf(["One."])))
    pages = writer.root_object["/Pages"]
    pages["/Kids"].extend([pages["/Kids"][0]] * 20_000)
    pages[NameObject("/Count")] = NumberObject(20_001)

    with pytest.raises(BrokenPdf, match="more than 20,000 pages"):
        read(write(writer))


def test_a_small_file_that_draws_a_mass_of_text_is_refused_with_the_reason() -> None:
    writer = PdfWriter(io.BytesIO(make_pdf(["One more line of text, again and again and again."])))
    drawing = writer.pages[0]["/Contents"].get_object()
    drawing.set_data(drawing.get_data() * 5_000)
    writer.compress_identical_objects()

    with pytest.raises(BrokenPdf, match="more than 200,000 characters on page 1"):
        read(write(writer))


def write(writer: PdfWriter) -> bytes:
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_the_address_behind_words_stands_after_them() -> None:
    lines = [
        Text(20, 380, "Book at the portal today."),
        Text(20, 366, "See https://a.example/x for more. The rules of the"),
        Text(20, 352, "harbour office and the script say so."),
    ]
    links = [
        (Text(92, 380, "portal"), "https://portal.example/m?a=1"),
        (Text(44, 366, "https://a.example/x"), "https://a.example/x"),
        (Text(260, 366, "rules of the"), "https://rules.example"),
        (Text(20, 352, "harbour office"), "https://rules.example"),
        (Text(152, 352, "script"), "javascript:alert(1)"),
    ]
    [section] = read_document("a.pdf", make_pdf([lines], links=links)).sections
    assert section.text == (
        "Book at the portal <https://portal.example/m?a=1> today.\n"
        "See https://a.example/x for more. The rules of the harbour office <https://rules.example> and "
        "the script say so."
    )
