"""Lists of sources in answers: every reader of Markdown shows their links, and nothing that a title smuggles in."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner.api.protocols.footnotes import Footnote, cut_footnotes, list_footnotes
from tests.guards.renderers import RENDERERS, find_active

SIGNS = st.sampled_from(
    [
        *(
            "[",
            "](",
            ")",
            "<",
            ">",
            "!",
            "\\",
            "`",
            "\n",
            "\n\n",
            "- ",
            "#",
            "*",
            "_",
            "|",
            "~~~",
            "&lt;",
            "$",
            "a b",
            "é",
        ),
        *("https://evil.example/x", "www.evil.example", "<img src=x>", "[kb-1]: https://evil.example", "javascript:x"),
    ]
)
TITLES = st.lists(SIGNS, max_size=8).map("".join)
URL = "https://example.org/a_(b)?c=d&e=%20"


@example([("`[kb-1]: https://evil.example`", None)])
@example([("~~~ https://evil.example", None), ("``https://evil.example", None), ("~~~", None)])
@given(st.lists(st.tuples(TITLES, st.sampled_from([URL, None])), min_size=1, max_size=3))
def test_a_list_links_to_the_sources_alone(sources: list[tuple[str, str | None]]) -> None:
    notes = [Footnote(f"web-{number}", title, url) for number, (title, url) in enumerate(sources, start=1)]
    text = "Merged. [web-1]" + list_footnotes(notes)
    assert find_active(text, {URL, URL.replace("&", "&amp;")}) == []
    for render in RENDERERS:
        page = _Page(render(text))
        assert len(page.links) == sum(url is not None for _, url in sources)
        assert page.item_count == len(sources)
    assert cut_footnotes(text) == "Merged. [web-1]"


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.item_count = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.item_count += tag == "li"
        self.links += [value or "" for name, value in attrs if (tag, name) == ("a", "href")]


@pytest.mark.parametrize("url", ["https://example.org/a b", "https://example.org/<x>", "https://example.org/\\", URL])
def test_any_address_stays_one_link(url: str) -> None:
    for render in RENDERERS:
        [link] = _Page(render(list_footnotes([Footnote("kb-1", "A title", url)]))).links
        assert link.startswith("https://example.org/")


def test_a_text_of_ones_own_is_no_list_of_sources() -> None:
    for text in ("A.\n\n---\n\n- [x] done", "A.\n\n---\n\n- [kb-1] source\n\nMore.", "- [kb-1] a", ""):
        assert cut_footnotes(text) == text


def test_an_answer_without_sources_has_no_list() -> None:
    assert list_footnotes([]) == ""
