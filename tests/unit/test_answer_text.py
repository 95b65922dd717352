"""Marks and links in the text of an answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.answer_text import marked_ids, with_plain_marks, without_foreign_links

ALLOWED = "https://starlette.dev/release"


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
    assert with_plain_marks(answer) == plain
    assert marked_ids(plain) == ids


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (f"See [the notes]({ALLOWED}).", f"See [the notes]({ALLOWED})."),
        (f"See {ALLOWED}.", f"See {ALLOWED}."),
        ("![i](http://evil/x.png?d=1) text", "i text"),
        ("[l](http://evil.example/a) text", "l text"),
        ("<img src=http://evil/x> text <script>", " text "),
        ("Go to http://evil.example/?q=secret, now.", "Go to , now."),
        ("<https://evil.example/>", ""),
        ("[x](javascript:alert(1))", "x)"),
        ("`http://evil.example/` stays", "`http://evil.example/` stays"),
        ("A [kb-1] mark", "A [kb-1] mark"),
    ],
)
def test_links(answer: str, kept: str) -> None:
    assert without_foreign_links(answer, {ALLOWED}) == kept


@given(st.text(alphabet="ab[]()!<>`\n./:?htps", max_size=200))
def test_no_foreign_address_is_left_outside_of_code(answer: str) -> None:
    once = without_foreign_links(answer, ())
    assert "](http" not in without_foreign_links(once, ()) or "`" in once
