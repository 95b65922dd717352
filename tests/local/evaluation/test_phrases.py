"""Phrases in texts: what counts as the same, and which numbers are whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.evaluation.phrases import says


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("at most 50 characters", "50 characters", True),
        ("150 characters", "50 characters", False),
        ("5,050 of them", "50", False),
        ("50.5 of them", "50", False),
        ("It is 50.", "50", True),
        ("50.000 Zeichen", "50.000", True),
        ("Use **gleaner keywords\nforget**.", "`gleaner keywords forget`", True),
        ("ＦＡＳＴ api", "fast API", True),
        ("最多 50 个字符", "50 个字符", True),
        ("a c++ library", "C++", True),
        ("what (not", "(", True),
        ("150 Euro", "`50`", False),
        ("150 Euro", "**50** Euro", False),
        ("It costs **50** Euro.", "`50` Euro", True),
        ("about 5 000 of them", "5", False),
        ("about 5\u202f000 of them", "5", False),
        ("about 5'000 of them", "5", False),
        ("about 5’000 of them", "000", False),
        ("about 5 000 000 of them", "5 000", False),
        ("about 5\u00a0000 of them", "5 000 of", True),
        ("in 2026 100 of them", "2026", True),
        ("3 of 5\n\n200 others", "5", True),
        ("10⁶ of them", "106", False),
        ("10⁶ of them", "10", False),
        ("10⁶ of them", "10⁶", True),
        ("10⁻⁶ of them", "10", False),
        ("5½ hours", "51", False),
        ("5½ hours", "5", False),
        ("½ hour", "1", False),
        ("an area of 50 m²", "50 m²", True),
        ("at -5 °C", "5 °C", False),
        ("at −5 °C", "5 °C", False),
        ("at −5 °C", "-5 °C", True),
        ("(-5)", "5", False),
        ("2–50 characters", "50 characters", True),
        ("2–50 characters", "2-50", True),
        ("2-50 characters", "-50", False),
        ("GPT-5", "5", True),
        ("1.2.3", "1.2", False),
        ("first 150, then 50", "50", True),
    ],
)
def test_a_phrase_is_found_whatever_its_form_but_numbers_are_whole(text: str, phrase: str, expected: bool) -> None:
    assert says(text, phrase) is expected


@given(st.integers(0, 10**9), st.sampled_from(["", " ", "'", ",", "\u202f"]))
def test_a_number_is_found_in_itself_and_its_first_and_last_digits_are_not(number: int, separator: str) -> None:
    shown = f"{number:,}".replace(",", separator)
    assert says(f"There are {shown} of them.", shown)
    if number > 9:
        assert not says(f"There are {shown} of them.", f"**{shown[0]}**")
        assert not says(f"There are {shown} of them.", f"`{shown[-1]}`")


@given(st.text(max_size=40))
def test_a_text_says_itself(text: str) -> None:
    assert says(text, text)
