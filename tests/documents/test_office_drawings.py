"""Formulas, charts, diagrams and initials of Office files are read where they stand."""

from __future__ import annotations

import pytest
from pptx import Presentation
from pptx.oxml import parse_xml

from gleaner_documents.model import Document
from gleaner_documents.reading import read_document
from tests.documents.small_files import make_docx, paragraph, relationship, save


def texts(document: Document) -> list[tuple[str | None, str]]:
    return [(section.chapter, section.text) for section in document.sections]


MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
FORMULA = (
    f"<m:oMath {MATH}><m:r><m:t>x=</m:t></m:r><m:f><m:num><m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/>"
    "<m:e><m:sSup><m:e><m:r><m:t>b</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
    "<m:r><m:t>-c</m:t></m:r></m:e></m:rad></m:num><m:den><m:r><m:t>2</m:t></m:r><m:r><m:t>a+1</m:t></m:r></m:den>"
    "</m:f></m:oMath>"
)
FORMULA_TEXT = "x=√(b^2-c)/(2a+1)"
CHART = "http://schemas.openxmlformats.org/drawingml/2006/chart"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"


def test_formulas_and_large_initials_stand_in_their_sentences() -> None:
    initial = '<w:pPr><w:framePr w:dropCap="drop" w:lines="3"/></w:pPr><w:r><w:t>T</w:t></w:r>'
    sentence = f"<w:p><w:r><w:t>he fee is </w:t></w:r>{FORMULA}<w:r><w:t> euros.</w:t></w:r></w:p>"
    data = make_docx(f"<w:p>{initial}</w:p>{sentence}")

    assert texts(read_document("a.docx", data)) == [(None, f"The fee is {FORMULA_TEXT} euros.")]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<m:sSubSup><m:e>{x}</m:e><m:sub>{n}</m:sub><m:sup>{n}</m:sup></m:sSubSup>", "x_n^n"),
        (
            "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{n}{x}</m:sub><m:sup/><m:e>{x}</m:e></m:nary>",
            "∑_nx x",
        ),
        ("<m:rad><m:deg>{n}</m:deg><m:e>{x}</m:e></m:rad>", "√[n](x)"),
        ("<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=')'/></m:dPr><m:e>{x}</m:e><m:e>{n}</m:e></m:d>", "[x|n)"),
        ("<m:func><m:fName>{n}</m:fName><m:e><m:d><m:e>{x}</m:e></m:d></m:e></m:func>", "n(x)"),
        ("<m:limLow><m:e>{n}</m:e><m:lim>{x}</m:lim></m:limLow>", "n_x"),
        ("<m:m><m:mr><m:e>{x}</m:e><m:e>{n}</m:e></m:mr><m:mr><m:e>{n}</m:e><m:e>{x}</m:e></m:mr></m:m>", "[x n; n x]"),
        ("<m:bar><m:e>{x}</m:e></m:bar><m:acc><m:e>{n}</m:e></m:acc>", "x\u0305n\u0302"),
        ("<m:box><m:e>{x}</m:e></m:box>", "x"),
    ],
)
def test_formulas_keep_what_the_positions_of_their_parts_say(markup: str, text: str) -> None:
    x, n = ("<m:r><m:t>x</m:t></m:r>", "<m:r><m:t>n</m:t></m:r>")
    formula = f"<w:p><m:oMathPara {MATH}><m:oMath>{markup.format(x=x, n=n)}</m:oMath></m:oMathPara></w:p>"

    assert texts(read_document("a.docx", make_docx(formula))) == [(None, text)]


def test_charts_and_diagrams_of_a_word_document_stand_below_their_paragraphs() -> None:
    points = "<c:{0}><c:pt idx='0'><c:v>{1}</c:v></c:pt></c:{0}>"
    series = "".join(points.format(*point) for point in (("tx", "Boats"), ("cat", "Spring"), ("val", "4.50")))
    chart = f'<c:chartSpace xmlns:c="{CHART}"><c:chart><c:ser>{series}</c:ser></c:chart></c:chartSpace>'
    diagram = (
        f'<d xmlns:a="{DRAWING}"><a:p><a:r><a:t>Moor</a:t></a:r></a:p><a:p/><a:p><a:r><a:t>Pay</a:t></a:r></a:p></d>'
    )
    drawings = (
        f'<c:chart xmlns:c="{CHART}" xmlns:r="{OFFICE}" r:id="chart"/>',
        f'<dgm:relIds xmlns:dgm="{DIAGRAM}" xmlns:r="{OFFICE}" r:dm="diagramData"/>',
    )
    body = "".join(f"<w:p><w:r><w:drawing>{drawing}</w:drawing></w:r></w:p>" for drawing in drawings)
    data = make_docx(
        paragraph("Traffic:") + body + paragraph("End."),
        parts={"word/charts/chart1.xml": chart, "word/diagrams/data1.xml": diagram},
        links=relationship("chart", "charts/chart1.xml") + relationship("diagramData", "/word/diagrams/data1.xml"),
    )

    assert texts(read_document("a.docx", data)) == [
        (None, "Traffic:\n\n|  | Boats |\n| --- | --- |\n| Spring | 4.5 |\n\nMoor\n\nPay\n\nEnd.")
    ]


def test_a_text_box_with_a_formula_is_read_and_a_cell_keeps_its_address() -> None:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    box = slide.shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "The fee: "
    compatibility = "http://schemas.openxmlformats.org/markup-compatibility/2006"
    formula = f'<a14:m xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main">{FORMULA}</a14:m>'
    box.text_frame.paragraphs[0]._p.append(parse_xml(formula))
    # PowerPoint writes a box with a formula for programs that know formulas, and a picture of it for others.
    alternative = parse_xml(
        f'<mc:AlternateContent xmlns:mc="{compatibility}"><mc:Choice Requires="a14"/></mc:AlternateContent>'
    )
    box._element.addprevious(alternative)
    alternative[0].append(box._element)
    run = slide.shapes.add_table(1, 1, 0, 0, 100, 100).table.cell(0, 0).text_frame.paragraphs[0].add_run()
    run.text = "Pay"
    run.hyperlink.address = "https://moor.example/pay"

    assert texts(read_document("a.pptx", save(presentation))) == [
        ("Slide 1", f"The fee: {FORMULA_TEXT}\n\n| [Pay](https://moor.example/pay) |\n| --- |")
    ]
