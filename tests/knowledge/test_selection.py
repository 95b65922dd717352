"""Passages of a selected text: where each stands in the text as it was sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gleaner import text
from gleaner.knowledge.selection import Selection

# Line ends of every kind, marks that combine, and characters that nobody sees.
ODD = ["\r\n", "\r", "\u2028", "\t", "\ufeff", "\u200b", "\u200d", "\ufe0f", "\u0301", "\x00", "\U000e0041", "𝄞", ". "]
TEXTS = st.lists(st.sampled_from([*ODD, "lamp", "oil ", "e", "x" * 400]), max_size=60).map("".join)


@given(TEXTS)
def test_a_passage_begins_where_its_position_says(sent: str) -> None:
    found = Selection(sent, None).search("lamp", top_k=1_000)
    for passage in found:
        assert passage.position is not None
        assert not text.find_visible_start(sent[passage.position :])
        assert text.clean(sent[passage.position :]).startswith(passage.content[:3])


# Without what joins two characters, between which a passage may end.
LOOSE = TEXTS.map(lambda sent: sent.translate(dict.fromkeys(map(ord, "\u200d\ufe0f\u0301"))))


@given(LOOSE)
def test_all_that_can_be_seen_is_in_a_passage_once(sent: str) -> None:
    found = Selection(sent, None).search("lamp", top_k=1_000)
    in_order = sorted(found, key=lambda passage: passage.position or 0)
    together = "".join(passage.content for passage in in_order)
    assert "".join(together.split()) == "".join(text.clean(sent).split())
    assert [passage.chunk_index for passage in in_order] == list(range(len(found)))


@given(TEXTS)
def test_what_nobody_sees_reaches_no_model(sent: str) -> None:
    for passage in Selection(sent, None).search("lamp", top_k=1_000):
        assert passage.content == text.clean(passage.content).strip() != ""
