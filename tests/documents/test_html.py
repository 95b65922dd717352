"""HTML as it is on the web: what its author means stays, and what serves to find or open it goes."""

from __future__ import annotations

import re

import pytest

from gleaner_documents.model import Document
from gleaner_documents.reading import read_document


def read(page: str) -> Document:
    return read_document("page.html", page.encode())


def text(page: str) -> str:
    return "\n\n".join(section.text for section in read(page).sections)


def sections(page: str) -> list[tuple[str | None, str]]:
    return [(section.chapter, section.text) for section in read(page).sections]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("3.2 &times; 10<sup>6</sup> litres", "3.2 × 10^6 litres"),
        ("10<sup>-3</sup> or 10<sup>&minus;3</sup>", "10^-3 or 10^-3"),
        ("2<sup>n+1</sup> and x<sup>2</sup> and e<sup>x</sup>", "2^(n+1) and x^2 and e^x"),
        ("85 m<sup>2</sup>.<sup>4</sup> Next.", "85 m^2 [4]. Next."),
        ("mol<sup>-1</sup>, (a+b)<sup>2</sup>", "mol^-1, (a+b)^2"),
        ("It costs 40<sup><a href='#fn1'>1</a></sup> crowns.", "It costs 40 [1] crowns."),
        ("A ferry<sup class='reference'><a href='#n'>[1]</a></sup> sails.", "A ferry [1] sails."),
        ("A ferry<a href='#n' role='doc-noteref'>1</a> sails.", "A ferry [1] sails."),
        ("said so.<sup>1</sup><sup>2</sup>", "said so [1] [2]."),
        ("harbour<sup>1,2</sup>", "harbour [1,2]"),
        ("the 5<sup>th</sup>, 1<sup>er</sup> mai, XIX<sup>e</sup>", "the 5th, 1er mai, XIXe"),
        ("Gleaner<sup>TM</sup>, <sup>14</sup>C", "Gleaner™, 14C"),
        ("H<sub>2</sub>O, C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>", "H2O, C6H12O6"),
        ("SO<sub>4</sub><sup>2-</sup>, log<sub>10</sub>5", "SO4^2-, log10 5"),
        ("1010<sub>2</sub>, x<sub>n+1</sub>", "1010_2, x_(n+1)"),
        ("<del>900</del> <ins>750</ins> <s>1</s> crowns", "750 crowns"),
        ("super<wbr>cali&shy;fragi&#8203;listic", "supercalifragilistic"),
        ("<ruby>東<rp>(</rp><rt>とう</rt><rp>)</rp>京<rt>きょう</rt></ruby>です", "東京(とうきょう)です"),
        ("one<br>two", "one\ntwo"),
        ("<q>Ahoy</q>, <cite>Ann</cite>, <time datetime='2026-05-01'>1 May</time>", "“Ahoy”, Ann, 1 May"),
    ],
)
def test_words_keep_what_their_position_says(markup: str, expected: str) -> None:
    assert text(f"<p>{markup}</p>") == expected


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            "<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></mfrac>",
            "x^2+(ab)/2",
        ),
        ("<mi>E</mi><annotation encoding='application/x-tex'>{\\displaystyle E=mc^{2}}</annotation>", "E=mc^{2}"),
        ("<mn>2</mn><mo>&#x2062;<!--INVISIBLE TIMES--></mo><mi>&#x3C0;<!-- \u03c0 --></mi>", "2\u03c0"),
        (
            "<munderover><mo>&#x2211;<!-- sum --></mo><mrow><mi>n</mi><mo>=</mo><mn>1</mn></mrow><mi>k</mi>"
            "</munderover><msubsup><mi>x</mi><mi>n</mi><mn>2</mn></msubsup>",
            "\u2211_(n=1)^kx_n^2",
        ),
    ],
)
def test_formulas_are_read_once(markup: str, expected: str) -> None:
    page = f"<p>So <span><math>{markup}</math></span><span class='katex-html' aria-hidden='true'>E=mc2</span>.</p>"

    assert text(page) == f"So {expected}."


@pytest.mark.parametrize(
    ("reference", "note"),
    [
        (  # Pandoc
            '<a href="#n1" class="footnote-ref" id="r1" role="doc-noteref"><sup>1</sup></a>',
            '<ol><li id="n1"><p>In cash.<a href="#r1" class="footnote-back" role="doc-backlink">↩</a></p></li></ol>',
        ),
        (  # docutils and Sphinx
            '<a class="brackets" href="#n1" id="r1" role="doc-noteref"><span>[</span>1<span>]</span></a>',
            '<aside id="n1" role="doc-footnote"><span class="label">[<a role="doc-backlink" href="#r1">1</a>]</span>\n'
            "<p>In cash.</p></aside>",
        ),
        (  # GitHub
            '<sup><a href="#n1" id="r1" data-footnote-ref>1</a></sup>',
            '<ol><li id="n1"><p>In cash. <a href="#r1" data-footnote-backref>↩</a></p></li></ol>',
        ),
        ('<a epub:type="noteref" href="#n1">1</a>', '<aside epub:type="footnote" id="n1">In cash.</aside>'),
    ],
)
def test_a_footnote_stands_below_the_paragraph_that_refers_to_it(reference: str, note: str) -> None:
    page = f"<p>The fee is 12 euros {reference}.</p><p>Berths are free.</p><section>{note}</section>"

    assert text(page) == "The fee is 12 euros [1].\n\n[1] In cash.\n\nBerths are free."


def test_a_table_with_headings_of_the_page_lays_it_out() -> None:
    page = (
        "<table><tr><td><ul><li>Menu</li></ul></td><td><table><tr><td><h1>Fees</h1><p>Twelve euros.</p>"
        "<h2>Berths</h2><table><tr><th>Berth</th><td><h3>A1</h3></td></tr><tr><th>Fee</th><td>12</td></tr></table>"
        "</td></tr></table></td></tr></table>"
    )

    document = read_document("a.html", page.encode())

    assert [(section.chapter, section.text) for section in document.sections] == [
        (None, "- Menu"),
        ("Fees", "Twelve euros."),
        ("Fees › Berths", "Berth: A1\nFee: 12"),
    ]


def test_notes_that_refer_to_each_other_are_kept() -> None:
    notes = "".join(
        f'<li id="n{own}">Note {own} <a href="#n{other}" role="doc-noteref">{other}</a>.</li>'
        for own, other in ((1, 2), (2, 1), (3, 3))
    )

    assert {"Note 1", "Note 2", "Note 3"} <= {part[:6] for part in re.findall("Note .", text(f"<ol>{notes}</ol>"))}


def test_controls_in_a_sentence_are_words() -> None:
    page = """<p>Press <button>Start</button> and hold <kbd>F9</kbd> until lamp <span aria-hidden="true">A</span> glows.
      Choose <select><option>Slow</option><option>Fast</option></select>.</p>
      <div><button>Subscribe</button> <button class="copy">Copy</button></div>
      <ul><li><input type="checkbox" checked> oiled</li><li><input type="checkbox"> painted</li></ul>"""

    assert text(page) == (
        "Press Start and hold F9 until lamp A glows. Choose Slow, Fast.\n\n- [x] oiled\n- [ ] painted"
    )


PANELS = """<div role="tablist"><button role="tab">Adults</button><button role="tab">Children</button></div>
<div><div role="tabpanel"><p>14 crowns</p></div><div role="tabpanel" hidden=""><p>5 crowns</p></div></div>"""
BOOTSTRAP = """<ul class="nav nav-tabs" role="tablist"><li role="presentation"><button id="a" data-bs-target="#p"
 data-bs-toggle="tab">Adults</button></li><li><a data-bs-toggle="tab" id="b" href="#q">Children</a></li></ul>
<div><div class="tab-pane" id="q" aria-labelledby="b">5 crowns</div>
<div class="tab-pane" id="p">14 crowns</div></div>"""
MATERIAL = """<div class="tabbed-set tabbed-alternate"><input id="t1" type="radio"><input id="t2" type="radio">
<div class="tabbed-labels"><label for="t1">Adults</label><label for="t2">Children</label></div><div
 class="tabbed-content"><div class="tabbed-block"><p>14 crowns</p></div><div class="tabbed-block"><p>5 crowns</p></div>
</div></div>"""
SPHINX_DESIGN = """<div class="sd-tab-set"><input type="radio"><label class="sd-tab-label">Adults</label><div
 class="sd-tab-content"><p>14 crowns</p></div><input type="radio"><label class="sd-tab-label">Children</label><div
 class="sd-tab-content"><p>5 crowns</p></div></div>"""


@pytest.mark.parametrize(
    "page", [PANELS, BOOTSTRAP, MATERIAL, SPHINX_DESIGN], ids=["aria", "bootstrap", "mkdocs", "sphinx"]
)
def test_each_panel_stands_under_the_title_of_its_tab(page: str) -> None:
    assert sorted(text(page).replace("\n\n", "\n").split("\n")) == ["Adults: 14 crowns", "Children: 5 crowns"]


def test_hidden_content_is_kept_and_hidden_navigation_is_not() -> None:
    links = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "Docs", "Blog"))
    page = f"""<p hidden>Winter fares.</p><div hidden="until-found">Dogs.</div><div aria-hidden="true">Bicycles.</div>
      <ul hidden>{links}</ul><div aria-hidden="true" class="mobile-menu"><p>Menu</p></div><div class="toc">{links}</div>
      <div role="navigation">Up</div><i aria-hidden="true">menu</i><span aria-hidden="true">×</span>
      <template>Later.</template><noscript>Please enable JavaScript.</noscript><noscript>Berth four.</noscript>"""

    assert text(page).split() == "Winter fares. Dogs. Bicycles. Berth four.".split()


@pytest.mark.parametrize(
    "title",
    [
        "<h2><button aria-expanded='false'>May I fish?</button></h2>",
        "<h2 class='accordion-header'><button class='accordion-button collapsed'>May I fish?</button></h2>",
        "<button class='accordion'><h2>May I fish?</h2></button>",
        "<h2>May I fish?<a class='hash-link' href='#x'>\u200b</a> <a href='#x'>¶</a></h2>",
        "<div role='heading' aria-level='2'>May I fish?</div>",
    ],
)
def test_headings_of_accordions_open_sections(title: str) -> None:
    assert sections(f"<h1>Ferry</h1>{title}<div><p>No, never.</p></div>") == [("Ferry › May I fish?", "No, never.")]


def test_details_are_sections_under_their_summary() -> None:
    page = """<h1>Ferry</h1><h2>Rules</h2><p>Ask.</p><details><summary>May I fish?</summary>No, never.</details>
      <details><summary><h3>Dogs?</h3></summary><p>Yes.</p><h4>Muzzles</h4><p>Needed.</p></details><p>End.</p>
      <ul><li><details><summary>Bikes</summary>Six crowns.</details></li></ul>"""

    assert sections(page) == [
        ("Ferry › Rules", "Ask."),
        ("Ferry › Rules › May I fish?", "No, never."),
        ("Ferry › Rules › Dogs?", "Yes."),
        ("Ferry › Rules › Dogs? › Muzzles", "Needed."),
        ("Ferry › Rules", "End.\n\n- Bikes\nSix crowns."),
    ]


def test_a_heading_without_a_body_is_a_section() -> None:
    page = "<h1>Shop</h1><h2>Closed on Sundays</h2><h2>Open</h2><p>From 9.</p><h3>Last</h3>"

    assert sections(page) == [
        ("Shop › Closed on Sundays", "Closed on Sundays"),
        ("Shop › Open", "From 9."),
        ("Shop › Open › Last", "Last"),
    ]


def test_headings_in_any_order_name_their_sections() -> None:
    assert sections("<h4>A</h4>a<h2>B</h2>b<h1>C</h1>c<h3>D</h3>d") == [
        ("A", "a"),
        ("B", "b"),
        ("C", "c"),
        ("C › D", "d"),
    ]


TWO_HEADER_ROWS = """<table><caption>Fares</caption>
<thead><tr><th rowspan=2>Route</th><th colspan=2>Summer</th></tr><tr><th>Adult</th><th>Child</th></tr></thead>
<tbody><tr><td rowspan=2>North</td><td>14</td><td>5</td></tr><tr><td colspan=2>closed</td></tr>
<tr><th colspan=3>Islands</th></tr><tr><td>East</td><td>9<br>10</td><td><ul><li>a|b</li><li>c</li></ul></td></tr>
</tbody></table>"""


def test_each_cell_stands_under_all_of_its_headers() -> None:
    assert text(TWO_HEADER_ROWS) == (
        "Fares\n| Route | Summer, Adult | Summer, Child |\n| --- | --- | --- |\n| North | 14 | 5 |\n"
        "| North | closed | closed |\n\nIslands\n\n"
        "| Route | Summer, Adult | Summer, Child |\n| --- | --- | --- |\n| Islands, East | 9 10 | a\\|b; c |"
    )


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<table><tr><th>Deck<td>3<tr><th>Crew<td>14</table>", "Deck: 3\nCrew: 14"),
        ("<table><tr><td>a<td>b<tr><td>c<td>d</table>", "| a | b |\n| c | d |"),
        (
            "<table><tr><td><b>A</b><td><p><strong>B</strong></p><tr><td>1<td>2</table>",
            "| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        (
            "<table><tr><td></td><th>A</th></tr><tr><th rowspan=0>x</th><td>1</td></tr><tr><td>2</td></tr></table>",
            "|  | A |\n| --- | --- |\n| x | 1 |\n| x | 2 |",
        ),
        (
            "<table><tr><th>A<th>B<tr><td><table><tr><td>1<td>2</table><td>3</table>",
            "| A | B |\n| --- | --- |\n| 1, 2 | 3 |",
        ),
        ("<table role=presentation><tr><td><p>One.</p><td><p>Two.</p></table>", "One.\n\nTwo."),
        ("<table><tr><td><p>One.</p><p>More.</p><td><p>Two.</p></table>", "One.\n\nMore.\n\nTwo."),
    ],
)
def test_tables_of_every_kind_are_rows(page: str, expected: str) -> None:
    assert text(page) == expected


def test_a_long_table_repeats_its_header() -> None:
    rows = "".join(f"<tr><td>Berth {number}</td><td>{number * 10} crowns</td></tr>" for number in range(60))
    blocks = text(f"<table><tr><th>Berth</th><th>Price</th></tr>{rows}</table>").split("\n\n")

    assert len(blocks) > 2
    assert all(block.startswith("| Berth | Price |\n| --- | --- |\n| Berth ") for block in blocks)


@pytest.mark.parametrize("cell", ["<td rowspan=65534 colspan=1000>x", "<td rowspan=0 colspan=1000>x" + "y" * 500])
def test_hostile_spans_are_bounded(cell: str) -> None:
    assert len(text(f"<table>{f'<tr>{cell}' * 200}</table>")) < 1_000_000


def test_terms_stand_before_their_definitions() -> None:
    page = """<dl><dt>Lost property</dt><dd>Kept for 90 days.</dd><dt>Port<dt>Larboard<dd>The left side.<dd>A wine.
      <dt>May I fish?</dt><dd><p>No.</p></dd><dt>Tools</dt><dd><ul><li>rope</li></ul></dd></dl>"""

    assert text(page) == (
        "Lost property: Kept for 90 days.\nPort, Larboard: The left side.\nPort, Larboard: A wine.\n"
        "May I fish? No.\n\nTools:\n- rope"
    )


def test_figures_and_pictures_are_read_once() -> None:
    page = """<figure><img alt="A winch" src="w.png"><figcaption>A winch</figcaption></figure>
      <figure><img alt="../_images/x.png" src="x.png"><figcaption>The deck.</figcaption></figure>
      <p>Status: <img alt="open" src="o.svg"> <svg role="img" aria-label="tick"></svg></p>"""

    assert text(page) == "A winch\n\nThe deck.\n\nStatus: open tick"


@pytest.mark.parametrize(
    "markup",
    [
        "<pre><code>x = 1\ny = 2\n</code></pre>",
        "<pre>\nx = 1\ny = 2<button class='copybtn'>Copy</button></pre>",
        "<pre><div>x = 1</div><div>y = 2</div></pre>",
        "<pre><span class='token-line'>x = 1<br></span><span class='token-line'>y = 2<br></span></pre>",
        "<table class='highlighttable'><tr><td class='linenos'><pre>1\n2</pre></td><td><pre>x = 1\ny = 2</pre></table>",
        "<table class='lntable'><tr><td><pre><span class='lnt'>1\n</span></pre><td><pre>x = 1\ny = 2</pre></table>",
        "<pre><span class='linenos'>1</span>x = 1\n<span class='linenos'>2</span>y = 2</pre>",
    ],
)
def test_code_is_read_without_line_numbers_and_buttons(markup: str) -> None:
    assert text(f"<p>So:</p>{markup}") == "So:\n\n```\nx = 1\ny = 2\n```"


def test_deep_and_numbered_lists_keep_all_items() -> None:
    deep = "".join(f"<ul><li>level {level}" for level in range(14))
    lines = text(f"{deep}{'</ul>' * 14}<ol start=3><li>c<li value=7>g<li></li><li>h</ol>").splitlines()

    assert [line.strip(" -") for line in lines[:14]] == [f"level {level}" for level in range(14)]
    assert lines[-3:] == ["3. c", "7. g", "9. h"]


def test_the_text_of_all_mains_and_articles_is_read() -> None:
    article = "<article><h2>{}</h2><p>A watch lasts four hours.</p></article>"
    teaser = "<body><article>Teaser.</article><section><p>The wages are paid on the 12th of each month.</p></section>"

    assert text(f"<main></main>{article.format('A')}{article.format('B')}<section>Pay.</section>").endswith("Pay.")
    assert text("<main>One.</main><p>x</p><div role=main>Two.</div>") == "One.\n\nTwo."
    assert text(f"<div class='x'>Side</div>{article.format('A')}") == "A watch lasts four hours."
    assert "12th" in text(teaser)


def test_the_head_names_title_address_and_description() -> None:
    page = """<head><title>Fares</title><base href="https://f.example/docs/"><link rel="canonical" href="fares">
      <meta name="description" content="What \n it costs."></head>
      <p><a href="pier">Pier</a> <a href="#x">here</a></p>"""
    document = read(page)

    assert (document.title, document.source_url) == ("Fares", "https://f.example/docs/fares")
    assert document.description == "What it costs."
    assert document.sections[0].text == "[Pier](https://f.example/docs/pier) here"
    assert read("<link rel=canonical href='javascript:x'><p>a").source_url is None
    assert read("<link rel=canonical href='http://[x'><p>a").source_url is None


def test_addresses_stay_with_what_links_to_them() -> None:
    page = """<h2>Portal of <a href="https://x.example/p">moorings</a></h2><p>It takes cards.</p>
      <a href="https://y.example"><div>Card</div><div>Text</div></a>"""

    assert sections(page) == [
        (
            "Portal of moorings",
            "Portal of [moorings](https://x.example/p)\n\nIt takes cards.\n\nCard\nText <https://y.example>",
        )
    ]


ARIA_TABLE = (
    "<div role=table><div role=rowgroup><div role=row><span role=columnheader>Berth</span>"
    "<span role=columnheader>Fee</span></div></div>"
    "<div role=row><span role=cell>A1</span><span role=cell>30</span></div></div>"
)


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (ARIA_TABLE, "| Berth | Fee |\n| --- | --- |\n| A1 | 30 |"),
        ("<div role=list><div role=listitem>Red</div><div role=listitem>Blue</div></div>", "- Red\n- Blue"),
        (
            "<table><tr><th>Plan<th>Sail<tr><td>A<td><i class=check title=yes></i></table>",
            "| Plan | Sail |\n| --- | --- |\n| A | yes |",
        ),
        ("<p>Mind <span role=img aria-label=fire></span> and <i class=icon title=x></i> it.</p>", "Mind fire and it."),
        ("<sl-tab>Oar</sl-tab><sl-tab-panel>Row it.</sl-tab-panel>", "Oar\nRow it."),
        ("<p>The <boat-name>Kite</boat-name>s sail.</p>", "The Kites sail."),
        ("<dl><dt>length<span class=classifier>int</span></dt><dd>In metres.</dd></dl>", "length : int: In metres."),
    ],
)
def test_elements_are_what_their_roles_names_and_labels_say(page: str, expected: str) -> None:
    assert text(page) == expected
