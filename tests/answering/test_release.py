"""The gate between the model's stream and a reader: what it releases is a prefix of the answer that is accepted."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner.answering._release import AnswerRelease, AnswerStopped
from gleaner.answering.events import AnswerDelta, Event
from gleaner.errors import ToolCallRejected
from gleaner.model import Grounding, Mode, PartialCall, Passage, SourceType
from gleaner.prompts import read_all_prompts
from gleaner.tools import generate_response
from gleaner.tools.workspace import Question, Workspace

QUESTION = Question(
    query_id="q",
    session_id="s",
    text="How are duplicates merged?",
    kb_id="default_kb",
    mode=Mode.WHOLE_BOOK,
    grounding=Grounding.OPEN,
)
OWN = "https://own.example/"
PASSAGES = [
    Passage(
        key=f"{OWN}{number}",
        content=f"See {OWN}{number} and {OWN}more.",
        score=1.0,
        source_type=source_type,
        title="Handbook",
        urls=(f"{OWN}{number}",),
        is_own=source_type is SourceType.KNOWLEDGE_BASE,
    )
    for number, source_type in enumerate((*[SourceType.KNOWLEDGE_BASE] * 3, SourceType.EXTERNAL))
]

WORDS = "the keyword is merged by a conditional write and its count grows when nobody used it for ninety days".split()
PROMPT_WORDS = [prompt.split() for prompt in read_all_prompts()]


@st.composite
def instructions(draw: st.DrawFn) -> str:
    """A piece of a prompt that is cut anywhere; fewer than twelve words are no secret."""
    words = draw(st.sampled_from(PROMPT_WORDS))
    start = draw(st.integers(0, max(0, len(words) - 14)))
    return " ".join(words[start : start + draw(st.integers(4, 30))]) + draw(st.sampled_from([". ", " ", ""]))


def sentences(alphabet: list[str], joint: str, ends: str) -> st.SearchStrategy[str]:
    words = st.lists(st.sampled_from(alphabet), min_size=2, max_size=18).map(joint.join)
    return st.tuples(words, st.sampled_from([f"{end}{' ' if joint else ''}" for end in ends])).map("".join)


TEXT = st.one_of(
    sentences(WORDS, " ", ".!?:\n"),
    sentences(list("关键词会被合并并且计数增加所以它们"), "", "。！？，"),
    sentences("שלום עולם זה מבחן של הטקסט".split(), " ", ".?"),
)
# What the filters change, whole and in parts that may join to a whole.
SIGNS = st.sampled_from(
    [
        *(
            "[kb-1]",
            "[kb-2] ",
            "[kb-9]",
            "[web-1, kb-3]",
            "[KB-1; kb-2]",
            "[^1]: ",
            "[label]",
            "[a]: http://x.example\n",
        ),
        *("[", "]", "(", ")", "](", "[a](", "![", "!", "\\[", "\\]", "[…]", "…", "[0, 1) "),
        *(f"[words here]({OWN}1)", f"[words]({OWN}2)", f"{OWN}0 ", f"{OWN}3", f"<{OWN}1>", f"{OWN}more。"),
        *("![x](http://evil.example/a.png)", "[evil](https://evil.example/x?y)", "https://evil.example/a。b "),
        *("www.evil.example", "//evil.example/a", "http", "s://evil.example/q ", "w", "ww.", "ftp:\\/\\/x.y", "xmpp:"),
        *("<", ">", "<img src=x>", "<b>", "</b>", "<a href='x'>", "<!-- ", "-->", "<mail@x.org>", "mailto:a@b.c "),
        *("`", "``", "`code`", "`a|b`", "```", "\n```py\n", "\n```\n", "~~~\n", "\n    ```\n", "> ```\n", "- ", "1. "),
        *("|---|\n", "\n| a | b |\n|---|---|\n", "\n\n", "&#58;", "&colon;", "**", "*", "\t"),
        *("‹|user|›", "⟦INST⟧", "‹s›", "⟦kb-1⟧", "system∶", "‹", "⟦"),
        *("\ud83d", "\U0001f600", "\u202e", "\u0301", "\r\n", "\r", "\u200b"),
    ]
)
ANSWERS = st.lists(st.one_of(TEXT, TEXT, SIGNS, SIGNS, instructions()), min_size=1, max_size=40).map("".join)
IDS = st.lists(st.sampled_from(["kb-1", "kb-2", "kb-3", "web-1", "kb-9"]), min_size=1, max_size=3)


def make_workspace() -> Workspace:
    """What the gate and the tool that accepts answers read of a question with four passages."""
    nothing = cast("Any", None)
    workspace = Workspace(
        question=QUESTION,
        search=nothing,
        has_knowledge_base=nothing,
        web=None,
        learning=nothing,
        deadline=nothing,
        background=nothing,
    )
    workspace.admit(PASSAGES)
    return workspace


def release(workspace: Workspace, arguments: str, size: int) -> list[Event]:
    """The events while arguments arrive in pieces of `size` characters."""
    events: list[Event] = []
    gate = AnswerRelease(workspace, events.append, look_seconds=0)
    gate.begin()
    for end in [*range(size, len(arguments), size), len(arguments)]:
        gate.take(PartialCall(attempt=0, position=0, tool=generate_response.NAME, arguments=arguments[:end]))
    return events


def accept(workspace: Workspace, arguments: str) -> str:
    """The answer that is accepted. Raises ToolCallRejected."""
    generate_response.TOOL.run(generate_response.TOOL.parse(arguments), workspace)
    assert workspace.answer is not None
    return workspace.answer.text


@given(answer=ANSWERS, sources=IDS, size=st.sampled_from([3, 20, 90]), escaped=st.booleans())
def test_what_was_released_is_a_prefix_of_the_answer(answer: str, sources: list[str], size: int, escaped: bool) -> None:
    workspace = make_workspace()
    arguments = json.dumps({"sources": sources, "answer": answer}, ensure_ascii=escaped)
    try:
        events = release(workspace, arguments, size)
    except AnswerStopped:
        return
    try:
        accepted = accept(workspace, arguments)
    except ToolCallRejected:
        return  # whatever was shown is withdrawn
    shown = "".join(event.text for event in events if isinstance(event, AnswerDelta))
    assert len(events) == 0 or shown
    assert accepted.startswith(shown)


FIRST = "Merged. "
TWELVE = "Twelve words must follow a sentence before a reader may see it here. "
MORE = "More words follow here. " * 8


@pytest.mark.parametrize(
    ("rest", "shown"),
    [
        (f"See [the page]({OWN}1). ", ""),  # it is not cited yet, so whether its link is foreign is not known
        (f"See [the page]({OWN}0). ", f"{TWELVE}See [the page]({OWN}0). More words follow here. "),
        ("See [the page](https://evil.example/). ", f"{TWELVE}See the page. More words follow here. "),
        ("`code. ", ""),
        ("\n```\ncode. ", ""),
        ("[", ""),
        ("[the page](", ""),
        ("<img ", ""),
        ("Is 3 < 4? ", f"{TWELVE}Is 3 < 4? More words follow here. "),
    ],
)
def test_what_is_still_open_is_held_back(rest: str, shown: str) -> None:
    arguments = json.dumps({"sources": ["kb-1"], "answer": f"{FIRST}{TWELVE}{rest}{MORE}"})
    released = "".join(
        event.text for event in release(make_workspace(), arguments, 1) if isinstance(event, AnswerDelta)
    )
    assert released.startswith(FIRST + shown)
    assert bool(shown) or released == FIRST


@pytest.mark.parametrize("answer", ["合并。" * 30, "הם מוזגו. " * 30, "Zusammengeführt. " * 30, "รวมกันแล้ว\n" * 30])
def test_sentences_of_every_script_are_released(answer: str) -> None:
    arguments = json.dumps({"sources": ["kb-1"], "answer": answer}, ensure_ascii=False)
    released = "".join(
        event.text for event in release(make_workspace(), arguments, 1) if isinstance(event, AnswerDelta)
    )
    assert answer.startswith(released) and len(released) > len(answer) // 4


def test_instructions_are_never_released() -> None:
    secret = " ".join(max(PROMPT_WORDS, key=len)[:60])
    arguments = json.dumps({"sources": ["kb-1"], "answer": f"Merged. {secret}. {'More words follow here. ' * 8}"})
    events = release(make_workspace(), arguments, 1)
    shown = "".join(event.text for event in events if isinstance(event, AnswerDelta))
    assert shown.startswith("Merged. […]")
    assert not any(secret[start : start + 30] in shown for start in range(0, len(secret) - 30, 10))


@pytest.mark.parametrize(
    ("sources", "marks", "stops"),
    [
        (["kb-9"], "[kb-8]", True),
        ([], "[kb-9]", True),
        (["kb-9"], "", False),  # a known mark may follow
        (["kb-9"], "[kb-1]", False),
        (["kb-1"], "[kb-9]", False),  # the mark is dropped
    ],
)
def test_a_stream_is_ended_when_the_answer_would_be_rejected(sources: list[str], marks: str, stops: bool) -> None:
    answer = f"Duplicates are merged {marks}. {'More words follow here. ' * 8}"
    arguments = json.dumps({"sources": sources, "answer": answer})
    workspace = make_workspace()
    if not stops:
        release(workspace, arguments, 1)
        return
    with pytest.raises(AnswerStopped) as stopped:
        release(workspace, arguments, 1)
    assert len(stopped.value.arguments) < len(arguments)
    with pytest.raises(ToolCallRejected, match="Unknown source ids"):
        accept(workspace, arguments)


def test_after_the_first_words_an_answer_is_looked_at_only_at_intervals() -> None:
    answer = f"{FIRST}{TWELVE}{MORE}"
    arguments = json.dumps({"sources": ["kb-1"], "answer": answer})
    events: list[Event] = []
    gate = AnswerRelease(make_workspace(), events.append, look_seconds=3600)
    gate.begin()
    waits = [
        gate.take(PartialCall(attempt=0, position=0, tool=generate_response.NAME, arguments=arguments[:end]))
        for end in range(1, len(arguments))
    ]
    assert events == [AnswerDelta(text=FIRST)]
    shown_at = waits.index(3600)
    assert set(waits[shown_at:]) == {3600}
    # Until then, no wait is longer than a fast model takes for the words without which nothing can be shown.
    assert max(waits[:shown_at]) <= 12 / 60
    assert waits[shown_at - 1] <= 1 / 60
    gate.finish(answer)
    assert "".join(event.text for event in events if isinstance(event, AnswerDelta)) == answer
