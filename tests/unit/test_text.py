"""Keyword identity, terms and cleaning."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner import text

any_text = st.text(st.characters())  # lone surrogates included


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Straße", "STRASSE"),
        ("café", unicodedata.normalize("NFD", "CAFÉ")),
        ("ＡＰＩ", "api"),
        ("  machine \n\t learning ", "Machine Learning"),
        ("ﬁle", "FILE"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("a\u202eb", "ab"),
    ],
)
def test_spellings_of_one_keyword(one: str, other: str) -> None:
    assert text.fold(one) == text.fold(other)


@pytest.mark.parametrize(("one", "other"), [("ı", "i"), ("resume", "résumé"), ("c", "c++"), ("ab", "a b")])
def test_different_keywords(one: str, other: str) -> None:
    assert text.fold(one) != text.fold(other)


@given(any_text)
def test_folding_is_final_and_blind_to_case_and_form(value: str) -> None:
    folded = text.fold(value)
    assert text.fold(folded) == folded
    assert text.fold(unicodedata.normalize("NFD", value)) == folded
    assert text.fold(unicodedata.normalize("NFC", value)) == folded
    assert folded == folded.strip() and "  " not in folded


@given(any_text)
def test_cleaned_text_can_be_stored_anywhere(value: str) -> None:
    cleaned = text.clean(value)
    assert cleaned.encode("utf-8").decode() == cleaned
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n" for c in cleaned)
    assert text.clean(cleaned) == cleaned


def test_terms_leave_out_what_carries_no_topic() -> None:
    assert text.terms("How are the duplicate keywords merged in C++ and C#?") == [
        "duplicate",
        "keywords",
        "merged",
        "c++",
        "c#",
    ]


def test_inflections_share_a_stem() -> None:
    assert text.stems("merging merged merges") == ["merg"]
