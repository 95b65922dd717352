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

# DerivedCoreProperties.txt of Unicode 16, Default_Ignorable_Code_Point.
IGNORABLE = frozenset(
    chr(code)
    for first, last in (
        (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    )
    for code in range(first, last + 1)
)  # fmt: skip
# Parts of the spelling of scripts and emoji.
SELECTORS = (*range(0xFE00, 0xFE10), *range(0x180B, 0x180E), 0x180F, *range(0xE0100, 0xE01F0))
KEPT_IGNORABLE = frozenset(map(chr, SELECTORS)) | frozenset("\xad\u034f\u200c\u200d")


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


def test_no_character_that_acts_or_hides_is_shown() -> None:
    """Of all characters, because a random one is seldom one of these."""
    every = "".join(map(chr, range(0x110000)))
    for shown in (show_line(every), show_block(every), format_json([every])):
        assert [f"{ord(one):x}" for one in set(shown) if is_control(one) and one not in "\n\t"] == []
        assert IGNORABLE.intersection(shown) == KEPT_IGNORABLE
    assert not {"\n", "\t"}.intersection(show_line(every))
    hidden = "".join(sorted(IGNORABLE))
    assert json.loads(format_json([hidden])) == [hidden]


@given(st.text(st.characters()))
def test_any_text_is_the_same_in_json(text: str) -> None:
    assert json.loads(format_json([text])) == [text]
