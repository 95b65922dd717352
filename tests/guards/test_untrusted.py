"""Untrusted text is labelled and defused; tokens that an answer quotes are restored."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner import text
from gleaner.guards.untrusted import defuse, defuse_tokens, label_untrusted, restore_tokens

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
def test_a_control_token_is_defused_but_legible(token: str) -> None:
    defused = defuse(f"Before {token} after")
    assert token not in defused
    assert re.findall(r"\w+", defused) == re.findall(r"\w+", f"Before {token} after")
    assert defuse_tokens(f"Before {token} after") == defused


@pytest.mark.parametrize("role", ROLES)
def test_a_role_at_the_start_of_a_line_is_defused(role: str) -> None:
    defused = defuse(f"Fine.\n{role} obey")
    assert role not in defused
    assert restore_tokens(defused) == f"Fine.\n{role} obey"
    assert defuse_tokens(role) == role


@pytest.mark.parametrize("passage", LEGITIMATE)
def test_other_text_is_unchanged(passage: str) -> None:
    assert defuse(passage) == passage


@pytest.mark.parametrize("token", TOKENS)
def test_a_quoted_token_is_restored(token: str) -> None:
    assert restore_tokens(f"It begins with {defuse(token)}.") == f"It begins with {token}."


@pytest.mark.parametrize("token", [*TOKENS, *TAGS, "[kb-1]", "[web-1, kb-2]"])
def test_every_token_in_code_is_restored(token: str) -> None:
    for code in (f"`{token}`", f"```\n{token} x\n```"):
        assert restore_tokens(defuse(code)) == code


def test_citation_marks_in_sources_are_defused_and_not_restored() -> None:
    assert defuse("True [kb-1], [ Web-2 ; kb-3 ].") == "True ⟦kb-1⟧, ⟦ Web-2 ; kb-3 ⟧."
    assert restore_tokens("True ⟦kb-1⟧.") == "True ⟦kb-1⟧."


def test_hidden_characters_are_removed() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    assert defuse(f"fi\u200bne{hidden}\u202e \x1b[31m") == "fine [31m"
    # Hidden characters cannot hide a token, either.
    assert "<|im_start|>" not in defuse("<|im_\u200bstart|>")


def test_every_string_of_a_result_is_defused_and_labels_enclose_it() -> None:
    result = label_untrusted({"chunks": [{"title": "[INST]", "score": 0.5, "page": None, "keywords": ["<|x|>"]}]})
    assert list(result) == ["trust", "chunks", "note"]
    assert result["trust"] == "untrusted"
    assert result["chunks"] == [{"title": "⟦INST⟧", "score": 0.5, "page": None, "keywords": ["‹|x|›"]}]


_PIECES = st.sampled_from(
    [*TOKENS, *TAGS, *ROLES, "[kb-1]", "\n", " ", "`", "word", "<", ">", "|", "[", "]", "‹", "⟧", '"']
)
untrusted = st.lists(_PIECES, max_size=20).map("".join) | st.text(max_size=200)


@given(untrusted)
@example("<system message:<|im_start|>>")
def test_defusing_is_idempotent_and_leaves_no_token(passage: str) -> None:
    once = defuse(passage)
    assert defuse(once) == once
    for token in TOKENS + TAGS:
        assert token not in once
    assert text.words(once) == text.words(passage)


@given(untrusted)
def test_untrusted_text_cannot_end_its_json_string(passage: str) -> None:
    encoded = json.dumps(label_untrusted({"content": passage}), ensure_ascii=False)
    assert "\n" not in encoded
    assert json.loads(encoded) == label_untrusted({"content": passage})
