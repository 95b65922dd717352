"""Passages of a selected text, and their positions in the original text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gleaner import text
from gleaner.knowledge.selection import Selection

# Line ends of every kind, combining marks and invisible characters.
ODD = ["\r\n", "\r", "\u2028", "\t", "\ufeff", "\u200b", "\u200d", "\ufe0f", "\u0301", "\x00", "\U000e0041", "𝄞", ". "]
TEXTS = st.lists(st.sampled_from([*ODD, "lamp", "oil ", "e", "x" * 400]), max_size=60).map("".join)


def test_a_long_chinese_selection_gives_the_passage_that_the_question_is_about() -> None:
    doors = "".join(f"第{number}号仓库的门漆成灰色，里面放着绳子和木板。" for number in range(400))
    selection = Selection(doors + "灯塔的守卫每周三给灯加油。", None)
    best = selection.search("灯塔的守卫什么时候加油？", top_k=5)[0]
    assert best.content.endswith("灯塔的守卫每周三给灯加油。")
    assert all(passage.content.endswith("。") for passage in selection.search("门", top_k=100))


@given(TEXTS)
def test_a_passage_starts_at_its_position(original: str) -> None:
    passages = Selection(original, None).search("lamp", top_k=1_000)
    for passage in passages:
        assert passage.position is not None
        assert not text.find_visible_start(original[passage.position :])
        assert text.clean(original[passage.position :]).startswith(passage.content[:3])


# Without characters that join two others, because a passage may end between them.
TEXTS_WITHOUT_JOINERS = TEXTS.map(lambda original: original.translate(dict.fromkeys(map(ord, "\u200d\ufe0f\u0301"))))


@given(TEXTS_WITHOUT_JOINERS)
def test_all_visible_text_is_in_exactly_one_passage(original: str) -> None:
    passages = Selection(original, None).search("lamp", top_k=1_000)
    in_order = sorted(passages, key=lambda passage: passage.position or 0)
    content = "".join(passage.content for passage in in_order)
    assert "".join(content.split()) == "".join(text.clean(original).split())
    assert [passage.chunk_index for passage in in_order] == list(range(len(passages)))


@given(TEXTS)
def test_passages_contain_no_invisible_characters(original: str) -> None:
    for passage in Selection(original, None).search("lamp", top_k=1_000):
        assert passage.content == text.clean(passage.content).strip() != ""
