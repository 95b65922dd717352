"""Chunking: nothing is lost, no chunk is too large, and text is cut where people would cut it."""

from __future__ import annotations

import re
import time

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gleaner_documents.chunking import (
    DEFAULT_CHUNK_SETTINGS,
    ChunkSettings,
    chunk_document,
    chunk_text,
    estimated_pieces,
    heading_of,
)
from gleaner_documents.model import Document, Section
from tests.examples import examples

MAX_PIECES = DEFAULT_CHUNK_SETTINGS.max_pieces
# A code block that is cut gets lines that close and reopen it.
_FENCES = 4 * estimated_pieces("```")

words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
breaks = st.sampled_from([" ", " ", " ", ". ", "\n", "\n\n", "! ", "   \n \n", "\t", "。", "\r\n"])
texts = st.lists(st.tuples(words, breaks), max_size=400).map(
    lambda pairs: "".join(word + space for word, space in pairs).replace("```", "")
)


@given(texts)
@example("word " * 1000)
@example("x" * 5000)
@example("e.g. " * 900)
@settings(max_examples=examples(20, 60))
def test_chunks_hold_every_word_in_order_and_are_not_too_large(text: str) -> None:
    chunks = chunk_text(text)

    assert "".join("".join(chunks).split()) == "".join(text.split())
    assert all(chunk.strip() for chunk in chunks)
    assert all(estimated_pieces(chunk) <= MAX_PIECES for chunk in chunks)


@given(st.lists(st.integers(min_value=1, max_value=40), min_size=1, max_size=60))
@settings(max_examples=examples(15, 40))
def test_words_and_sentences_that_fit_are_not_cut(lengths: list[int]) -> None:
    sentences = [f"{' '.join(['Word'] * length)}." for length in lengths]

    chunks = chunk_text(" ".join(sentences))

    assert " ".join(chunks).split() == " ".join(sentences).split()
    assert all(chunk.endswith(".") for chunk in chunks)


@given(st.integers(min_value=1, max_value=4000))
@settings(max_examples=examples(15, 40))
def test_chunks_of_a_long_paragraph_are_similar_in_size(count: int) -> None:
    sizes = [estimated_pieces(chunk) for chunk in chunk_text("one two three. " * count)]

    assert max(sizes) <= min(sizes) * 2 + 20


def test_a_paragraph_that_fits_is_not_cut_to_fill_a_chunk() -> None:
    paragraphs = [("alpha " * 120).strip(), ("beta " * 120).strip(), ("gamma " * 120).strip()]

    assert chunk_text("\n\n".join(paragraphs)) == paragraphs


def test_short_paragraphs_share_a_chunk() -> None:
    assert chunk_text("One.\n\nTwo.\n\n\n\nThree.") == ["One.\n\nTwo.\n\nThree."]


def test_code_that_fits_is_not_cut_at_blank_lines() -> None:
    code = "```\n" + "\n\n".join(f"step_{n}(value)" for n in range(15)) + "\n```"

    chunks = chunk_text("\n\n".join(["prose " * 150, code, "prose " * 150]))

    assert code in chunks


def test_code_that_is_cut_is_a_code_block_in_every_chunk() -> None:
    lines = [f"call_{n}(argument, other)" for n in range(300)]

    chunks = chunk_text("Before.\n\n```\n" + "\n".join(lines) + "\n```\n\nAfter.")

    assert len(chunks) > 3
    assert [line for chunk in chunks for line in chunk.split("\n") if line.startswith("call_")] == lines
    assert all(len(re.findall("^```", chunk, re.MULTILINE)) % 2 == 0 for chunk in chunks)
    assert all(estimated_pieces(chunk) <= MAX_PIECES + _FENCES for chunk in chunks)


def test_indentation_and_line_breaks_are_kept() -> None:
    assert chunk_text("\n\n    def f():\n        return 1\n\n") == ["    def f():\n        return 1"]


def test_white_space_gives_no_chunk() -> None:
    assert chunk_text("") == []
    assert chunk_text(" \n\n \t ") == []


def test_a_megabyte_without_breaks_is_cut_in_linear_time() -> None:
    start = time.process_time()

    chunks = chunk_text("x" * 1_000_000)

    assert "".join(chunks) == "x" * 1_000_000
    assert max(map(len, chunks)) < 2_000
    assert time.process_time() - start < 20  # quadratic work would take many minutes


def test_an_unclosed_code_block_is_cut_in_linear_time() -> None:
    start = time.process_time()

    assert len(chunk_text("```\n\n" + "a\n\n" * 100_000)) > 400
    assert time.process_time() - start < 20


def test_chunks_are_numbered_through_the_document_and_do_not_cross_sections() -> None:
    document = Document(
        source_file_path="docs/a.md",
        title="A",
        sections=(
            Section(text="short", chapter="A"),
            Section(text="Long sentence here. " * 200, chapter="A > B", page_number=2),
            Section(text="end", chapter="A > C", page_number=3),
        ),
    )

    chunks = chunk_document(document)

    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert (chunks[0].text, chunks[0].chapter, chunks[0].page_number) == ("short", "A", None)
    assert {(chunk.chapter, chunk.page_number) for chunk in chunks[1:-1]} == {("A > B", 2)}
    assert (chunks[-1].text, chunks[-1].chapter, chunks[-1].page_number) == ("end", "A > C", 3)


def test_the_settings_bound_the_size_and_have_a_fingerprint_of_their_own() -> None:
    small = ChunkSettings(max_pieces=20)

    assert max(estimated_pieces(chunk) for chunk in chunk_text("one two three. " * 100, small)) <= 20
    assert small.fingerprint() == ChunkSettings(max_pieces=20).fingerprint()
    assert small.fingerprint() != DEFAULT_CHUNK_SETTINGS.fingerprint()


def test_chunks_have_about_as_many_words_in_other_alphabets() -> None:
    english = chunk_text("The lighthouse keeper wrote a letter every evening. " * 100)
    russian = chunk_text("Смотритель маяка каждый вечер писал кому-то письмо. " * 100)
    hindi = chunk_text("प्रकाशस्तंभ का रखवाला हर शाम एक लंबा पत्र लिखता था। " * 100)
    assert len(russian) <= 2 * len(english)
    assert len(hindi) <= 2 * len(english)


def test_code_lists_and_tables_stay_with_their_introduction() -> None:
    filler = "Some words that fill the chunk up to its end here. " * 4
    for introduction, block in (
        ("Install the tool like this.", "```\nsnap install orchard\n\nsnap list\n```"),
        ("The fees are:", "- boats 9 crowns\n- rafts 3 crowns"),
        ("The floors:", "| Floor | Use |\n| --- | --- |\n| 4 | maps |"),
    ):
        for words in range(1, 60, 3):
            text = f"{filler}{'word ' * words}\n\n{introduction}\n\n{block}\n\n{filler}"
            chunks = chunk_text(text, ChunkSettings(max_pieces=80))
            assert any(f"{introduction}\n\n{block}" in chunk for chunk in chunks)


def test_an_introduction_that_does_not_fit_with_its_code_is_cut_off() -> None:
    chunks = chunk_text("word " * 40 + "end:\n\n```\n" + "code " * 40 + "\n```", ChunkSettings(max_pieces=60))

    assert len(chunks) == 2


def test_an_introduction_stays_with_the_beginning_of_a_list_that_is_cut() -> None:
    filler = "Some words that fill the chunk up to its end here. " * 4
    items = "\n".join(f"- item number {number} of the list of fees." for number in range(30))
    for paragraphs in (f"{filler}\n\nThe fees are:\n\n{items}", f"{filler} The fees are: {filler * 2}"):
        chunks = chunk_text(f"{filler}\n\n{paragraphs}", ChunkSettings(max_pieces=80))
        assert not any(chunk.endswith("are:") for chunk in chunks)


def test_the_heading_of_a_chunk_has_title_chapter_and_description() -> None:
    sections = (
        Section(text="About tyres.", chapter="Rule"),
        Section(text="b", chapter="Tyres › When"),
        Section(text="c"),
    )
    document = Document(source_file_path="a.md", title="Tyres", description="About tyres.", sections=sections)

    headings = [heading_of(document, chunk) for chunk in chunk_document(document)]

    assert headings == ["Tyres › Rule", "Tyres › When\nAbout tyres.", "Tyres\nAbout tyres."]
