"""No text from outside controls the terminal, whatever is in it, and nothing else is changed."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.commands.terminal import format_json, show_block, show_fields, show_line

ATTACKS = {
    "clear screen": "\x1b[2J",
    "title": "\x1b]0;x\x07",
    "link": "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "C1": "\x9b31mred\x9d0;x\x9c",
    "overwrite": "safe\rrm -rf",
    "backspace": "safe\x08\x08\x08\x08evil",
    "delete": "a\x7fb",
    "bidi": "user\u202e\u2066// admin\u2069 \u2066",
    "marks": "a\u200e\u200f\u061cb",
    "hidden": "a\u200b\u2060\ufeff\U000e0041b",
    "separators": "a\u2028b\u2029c",
    "surrogate": "a\ud800b",
    "form feed": "a\x0b\x0cb",
    "null": "a\x00b",
}
KEPT = (r"C:\new\!gate\#1", "__init__.py", "Zürich 北京 🏳️‍🌈 नमस्ते می‌خواهم", "a [kb-1] `x` <b>", "co\u00adop")


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs") or (
        unicodedata.bidirectional(character)
        in (*("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI", "BN"),)
        and character not in "\u200c\u200d\u00ad"
    )


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_controls_become_visible(attack: str) -> None:
    for shown in (show_line(attack), show_block(attack), format_json({"a": attack, attack: [attack]})):
        assert not any(is_control(character) and character != "\n" for character in shown)
        assert "\\" in shown
    assert json.loads(format_json({"a": attack}))["a"] == attack


@pytest.mark.parametrize("text", KEPT)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert show_line(text) == show_block(text) == text
    assert show_block(f"{text}\n\t{text}") == f"{text}\n\t{text}"


def test_a_line_break_in_a_title_forges_no_line() -> None:
    fields = show_fields({"sources": [{"title": "a\n  [2] forged", "page": 3}], "none": None})
    assert fields == {"sources": [{"title": "a\\n  [2] forged", "page": 3}], "none": None}


@given(st.text(st.characters()))
def test_shown_text_never_holds_a_control(text: str) -> None:
    assert not any(is_control(character) for character in show_line(text))
    assert json.loads(format_json([text])) == [text]
