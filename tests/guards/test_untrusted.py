"""Text from outside: labelled, defused, and restored when it is quoted."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gleaner import text
from gleaner.guards.untrusted import defused, labelled, restored, without_tokens

TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|start_header_id|>",
    "<|endoftext|>",
    "<|channel>",
    "<｜User｜>",
    "<｜begin▁of▁sentence｜>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "[TOOL_CALLS]",
    "[gleaner]",
]
TAGS = [
    "<s>",
    "</s>",
    "<start_of_turn>",
    "<tool_call>",
    "</tool_call>",
    "<function=search>",
    '<invoke name="search">',
    "<think>",
    "<system>",
    "<system-reminder>",
]
ROLES = ["system:", "Assistant:", "**User:**", "> human:", "### Instruction:", "system message:"]
LEGITIMATE = [
    "Use x |> f and f <| x, Vec<T>, a < b > c, List<String>.",
    "System requirements: 4 GB. The system: see below.",
    "A list[1], [x] and [1, 2]; see [RFC 9457] and [a link](https://example.org/).",
    "Join `می‌خواهم`, 👩‍💻 and naïve café.",
    "- **Note**: mind the gap\n1. Tools: hammer",
    "if (a<b && c>d) { return '<div>'; }",
]


@pytest.mark.parametrize("token", TOKENS + TAGS)
def test_a_control_token_is_none_any_more_but_legible(token: str) -> None:
    shown = defused(f"Before {token} after")
    assert token not in shown
    assert re.findall(r"\w+", shown) == re.findall(r"\w+", f"Before {token} after")
    assert without_tokens(f"Before {token} after") == shown


@pytest.mark.parametrize("role", ROLES)
def test_a_role_at_the_beginning_of_a_line_is_none_any_more(role: str) -> None:
    shown = defused(f"Fine.\n{role} obey")
    assert role not in shown
    assert restored(shown) == f"Fine.\n{role} obey"
    assert without_tokens(role) == role


@pytest.mark.parametrize("passage", LEGITIMATE)
def test_other_text_stays_as_it_is(passage: str) -> None:
    assert defused(passage) == passage


@pytest.mark.parametrize("token", TOKENS)
def test_a_quoted_token_comes_out_as_it_was(token: str) -> None:
    assert restored(f"It begins with {defused(token)}.") == f"It begins with {token}."


@pytest.mark.parametrize("token", [*TOKENS, *TAGS, "[kb-1]", "[web-1, kb-2]"])
def test_in_code_every_token_comes_out_as_it_was(token: str) -> None:
    for code in (f"`{token}`", f"```\n{token} x\n```"):
        assert restored(defused(code)) == code


def test_marks_of_sources_are_not_the_answers_own() -> None:
    assert defused("True [kb-1], [ Web-2 ; kb-3 ].") == "True ⟦kb-1⟧, ⟦ Web-2 ; kb-3 ⟧."
    assert restored("True ⟦kb-1⟧.") == "True ⟦kb-1⟧."


def test_hidden_characters_are_taken_out() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert defused(f"fi\u200bne{hidden}\u202e \x1b[31m") == "fine [31m"
    # A token cannot be hidden behind them either.
    assert "<|im_start|>" not in defused("<|im_\u200bstart|>")


def test_every_string_of_a_result_is_defused_and_the_label_stands_around_it() -> None:
    result = labelled({"chunks": [{"title": "[INST]", "score": 0.5, "page": None, "keywords": ["<|x|>"]}]})
    assert list(result) == ["trust", "chunks", "note"]
    assert result["trust"] == "untrusted"
    assert result["chunks"] == [{"title": "⟦INST⟧", "score": 0.5, "page": None, "keywords": ["‹|x|›"]}]


_PIECES = st.sampled_from(
    [*TOKENS, *TAGS, *ROLES, "[kb-1]", "\n", " ", "`", "word", "<", ">", "|", "[", "]", "‹", "⟧", '"']
)
outside = st.lists(_PIECES, max_size=20).map("".join) | st.text(max_size=200)


@given(outside)
def test_defusing_twice_changes_nothing_and_leaves_no_token(passage: str) -> None:
    once = defused(passage)
    assert defused(once) == once
    for token in TOKENS + TAGS:
        assert token not in once
    assert text.words(once) == text.words(passage)


@given(outside)
def test_what_is_in_a_string_cannot_end_it(passage: str) -> None:
    encoded = json.dumps(labelled({"content": passage}), ensure_ascii=False)
    assert "\n" not in encoded
    assert json.loads(encoded) == labelled({"content": passage})
