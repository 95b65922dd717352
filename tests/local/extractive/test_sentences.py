"""Splitting passages into sentences that can be quoted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner_local.extractive._sentences import Sentence, split_passage, without_source_marks


def texts(passage: str) -> list[str]:
    return [sentence.text for sentence in split_passage(passage)]


def test_prose_is_split_at_sentence_ends_and_wrapped_lines_are_joined() -> None:
    assert texts("One sentence that is\nwrapped. Another one, e.g. this. The U.S. Army came.") == [
        "One sentence that is wrapped.",
        "Another one, e.g. this.",
        "The U.S. Army came.",
    ]


def test_headings_are_not_sentences_but_are_attached_to_them() -> None:
    assert split_passage("# Limits\n\nA query is short.\n\n## Time\n\nIt takes 25 s.") == [
        Sentence("A query is short.", "Limits"),
        Sentence("It takes 25 s.", "Time"),
    ]


def test_list_items_are_separate_sentences() -> None:
    assert texts("It does:\n\n- the first thing,\n  on two lines\n- the second\n1. a numbered one") == [
        "It does:",
        "the first thing, on two lines",
        "the second",
        "a numbered one",
    ]


def test_table_rows_are_made_readable() -> None:
    table = "| Name | Limit |\n|---|---|\n| query | 50,000 |\n| depth | |"
    assert texts(table) == ["Name: query; Limit: 50,000", "Name: depth"]


def test_table_rows_without_a_header_are_kept() -> None:
    assert texts("| query | 50,000 |\n| depth | 3 |") == ["query; 50,000", "depth; 3"]


def test_images_are_left_out_and_links_stay() -> None:
    passage = 'See [the docs](https://x.example/a_(b) "t") ![logo](l.png).'
    assert texts(passage) == ['See [the docs](https://x.example/a_(b) "t") .']


def test_code_is_quoted_with_the_sentence_that_introduces_it() -> None:
    assert texts("First. Install it with:\n\n```\nsnap install x\n```\n\nEnd.") == [
        "First.",
        "Install it with: `snap install x`",
        "End.",
    ]
    assert texts("Set the port.\n\n```\na: 1\n\nport: 2\n```") == ["Set the port.\n\n```\na: 1\n\nport: 2\n```"]
    assert texts("```\nalone\n```") == ["`alone`"]


def test_long_code_is_cut_at_blank_lines_and_stands_alone_without_an_introduction() -> None:
    code = "\n\n".join("\n".join(f"key{part}{line}: {line}" for line in range(8)) for part in "abc")

    sentences = split_passage(f"## Ports\n\nSome text.\n\n```\n{code}\n```")

    assert len(sentences) == 4
    assert sentences[0] == Sentence("Some text.", "Ports")
    assert all(
        s.text.startswith("```\nkey") and s.text.count("\n") == 9 and s.heading == "Ports" for s in sentences[1:]
    )


def test_an_unclosed_code_block_extends_to_the_end() -> None:
    assert texts("Before.\n```\ncode. Code.\n\nmore") == ["Before.\n\n```\ncode. Code.\n\nmore\n```"]


def test_items_and_rows_stand_under_their_introduction_and_the_item_above() -> None:
    passage = (
        "## Fees\n\nThe boats pay:\n\n- In summer\n  - sails: 9\n- In winter\n\n| Boat | Fee |\n|---|---|\n| raft | 3 |"
    )

    assert split_passage(passage)[1:] == [
        Sentence("In summer", "Fees The boats pay:"),
        Sentence("sails: 9", "Fees The boats pay: In summer"),
        Sentence("In winter", "Fees The boats pay:"),
        Sentence("Boat: raft; Fee: 3", "Fees The boats pay: In winter"),
    ]


def test_inline_code_is_not_split() -> None:
    assert texts("Call `a.run. Then` first. Done.") == ["Call `a.run. Then` first.", "Done."]


@pytest.mark.parametrize(
    "sentence",
    [
        "It is at https://pay.example/a.b?c=1&d=2. ",
        "It is at www.example.org! ",
        "See <https://example.org/a?b>. ",
        "Take [the form. Or not](https://example.org/f.pdf) with you. ",
        "Ask ftp://192.0.2.7/a.zip or a.b@example.org? ",
    ],
)
def test_sentences_are_not_split_in_addresses(sentence: str) -> None:
    assert texts(sentence + "Next one.") == [sentence.strip(), "Next one."]


def test_source_marks_are_removed_and_other_brackets_stay() -> None:
    assert without_source_marks("Yes [kb-1]. See [web-12][kb-3] and x[0].") == "Yes. See and x[0]."


@given(st.text(max_size=300))
def test_no_sentence_of_any_text_is_empty(passage: str) -> None:
    for sentence in split_passage(passage):
        assert any(character.isalnum() or character == "_" for character in sentence.text)
        assert sentence.text == sentence.text.strip()


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,8}( [a-z]{2,8}){1,5} [a-z]{7,9}\.", fullmatch=True), max_size=6))
def test_plain_sentences_are_unchanged(sentences: list[str]) -> None:
    assert texts(" ".join(sentences)) == sentences


def test_a_cell_may_hold_a_bar() -> None:
    assert texts("| Flag | Means |\n| --- | --- |\n| a\\|b | either |") == ["Flag: a|b; Means: either"]
