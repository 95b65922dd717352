"""Keyword identity, terms and cleaning."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner import text

any_text = st.text(st.characters())  # lone surrogates included
# Characters that cleaning and folding treat depending on their neighbours.
tangled_text = st.text(
    st.sampled_from(
        "ak1\u212a=\u0338❤👨🏽漢کक\u094dက\ufe0f\u200d\u200c\u200b\U000e0101\U000e0061\u0301\ud83d\r\n\u180b"
    )
)


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
def test_spellings_of_the_same_keyword_have_equal_folds(one: str, other: str) -> None:
    assert text.fold(one) == text.fold(other)


@pytest.mark.parametrize(("one", "other"), [("ı", "i"), ("resume", "résumé"), ("c", "c++"), ("ab", "a b")])
def test_different_keywords_have_different_folds(one: str, other: str) -> None:
    assert text.fold(one) != text.fold(other)


@given(any_text | tangled_text)
def test_folding_is_idempotent_and_ignores_normal_forms(value: str) -> None:
    folded = text.fold(value)
    assert text.fold(folded) == folded
    assert text.fold(unicodedata.normalize("NFD", value)) == folded
    assert text.fold(unicodedata.normalize("NFC", value)) == folded
    assert folded == folded.strip() and "  " not in folded


@example("\U0001f000\u200c\u094d\x1b\u0334")  # a control between marks that change their order without it
@given(any_text | tangled_text)
def test_cleaned_text_can_be_encoded(value: str) -> None:
    cleaned = text.clean(value)
    assert cleaned.encode("utf-8").decode() == cleaned
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n" for c in cleaned)
    assert text.clean(cleaned) == cleaned


@pytest.mark.parametrize(
    "value",
    [
        "👨‍👩‍👧 and ❤️‍🔥 and 1️⃣ and 👍🏽",
        "می‌خواهم",  # Persian: the non-joiner is part of the spelling
        "क्‍ष ක්‍ර",  # conjuncts with a joiner
        "葛\U000e0100城市",  # selects the shape of an ideograph
        "العربية: ١٢٣؟",
        "naïve façade – “quoted” … 10 µm\ttab\nline",
    ],
)
def test_cleaning_keeps_characters_that_are_part_of_the_spelling(value: str) -> None:
    assert text.clean(value) == value


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("ig\u200dno\u200bre\u00ad", "ignore"),
        ("a\U000e0068\U000e0069b", "ab"),  # tags
        ("a\ufe01\ufe02\ufe0fb", "ab"),  # bytes as variation selectors
        ("❤\ufe0f\ufe0e\ufe0f", "❤\ufe0f"),
        ("\u202eabc\u2066d\u2069", "abcd"),
        ("a\u3164b\u115f", "ab"),
        ("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne"),
        ("\x00\x07\x1b[31mred\x9b", "[31mred"),
        ("a\ud800b", "ab"),
        ("e\u200b\u0301", "é"),
    ],
)
def test_cleaning_removes_hidden_characters(value: str, cleaned: str) -> None:
    assert text.clean(value) == cleaned


def test_terms_exclude_words_without_a_topic() -> None:
    assert text.terms("How are the duplicate keywords merged in C++ and C#?") == [
        "duplicate",
        "keywords",
        "merged",
        "c++",
        "c#",
    ]


@pytest.mark.parametrize(
    ("value", "stems"),
    [
        ("हिन्दी पुस्तकालय", ["हिंद", "पुस्तकालय"]),
        ("রেলওয়ে স্টেশন", ["রেলওযে", "স্টেশন"]),
        ("图书馆周一几点开门？", ["图书", "书馆", "馆周", "一", "开门"]),
        ("借七本书", ["借", "七", "本书"]),
        ("灯台の番人は誰ですか", ["灯台", "番人"]),
        ("バイオリン", ["ばいお", "いおり", "おりん"]),
        ("도서관은 언제 여나요?", ["도서", "서관", "여"]),
        ("ไม้ซีดาร์", ["ไม้ซี", "ซีดา", "ดาร์"]),
        ("ព្រះរាជា", ["ព្រះរា", "រាជា"]),
        ("Wann war die Eröffnung?", ["eroffnung"]),
        ("I fear that bees die in a war", ["fear", "bee", "die", "war"]),
        ("l'amende d'aujourd'hui", ["amend", "aujourd"]),
        ("c++ and c#", ["c++", "c#"]),
    ],
)
def test_words_are_split_in_every_script(value: str, stems: list[str]) -> None:
    assert text.stems(value) == stems


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("مَكْتَبَةٌ", "المكتبة"),
        ("مكـــتبة", "مكتبة"),
        ("إدارة", "ادارة"),
        ("הַסִּפְרִיָּה", "ספרייה"),
        ("צה״ל", 'צה"ל'),
        ("לוחות", "לוח"),
        ("ज़रूरत", "जरूरत"),
        ("İstanbul", "ISTANBUL"),
        ("ışık", "IŞIK"),
        ("библиотека", "библиотеке"),
        ("ещё́нок", "ещенок"),
        ("リンゴ酒", "りんご酒"),
        ("ﾊﾟﾝ屋", "パン屋"),
        ("Ａ棟", "a棟"),
        ("комп'ютер", "комп’ютер"),
        ("cœur", "coeur"),
    ],
)
def test_variants_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert set(text.stems(one)) & set(text.stems(other))


@given(any_text | tangled_text)
def test_splitting_keeps_every_letter_that_carries_meaning(value: str) -> None:
    assert all(text.stem(word) for word in text.words(value))
    assert text.words(text.fold(value)) == text.words(value)


def test_inflections_share_a_stem() -> None:
    assert text.stems("merging merged merges") == ["merg"]


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0344", "\u0f81", "\u0316" * 20 + "\u200b" + "\u0301" * 20])
def test_long_runs_of_marks_are_cut(marks: str) -> None:
    cleaned = text.clean("a" + marks * 200)
    assert sum(map(bool, map(unicodedata.combining, unicodedata.normalize("NFD", cleaned)))) <= 33
    assert text.clean(cleaned) == cleaned
    assert text.fold(text.fold("a" + marks * 200)) == text.fold("a" + marks * 200)
    assert text.clean("a" + "\u0316" * 30) == "a" + "\u0316" * 30
