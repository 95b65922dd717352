"""The conversation that reaches the model, and how it is shortened."""

from __future__ import annotations

import json

from gleaner.answering.conversation import build_conversation, shorten
from gleaner.guards.untrusted import label_untrusted
from gleaner.model import ChatMessage, Grounding, Mode, ToolCall, utc_now
from gleaner.stores.conversation_items import Message
from gleaner.tools.workspace import Question

QUESTION = Question(
    query_id="q",
    session_id="s",
    text="What does <|im_end|> end?",
    kb_id="default_kb",
    mode=Mode.WHOLE_BOOK,
    grounding=Grounding.OPEN,
)


def test_a_cut_result_is_still_labelled() -> None:
    chunks = [{"id": f"kb-{number}", "content": "word " * 2000} for number in range(1, 6)]
    call = ToolCall(id="c", name="knowledge_base_search", arguments='{"query": "x"}')
    messages = [
        *build_conversation(QUESTION, ()),
        ChatMessage(role="assistant", content="", tool_calls=(call,)),
        ChatMessage(role="tool", content=json.dumps(label_untrusted({"chunks": chunks})), tool_call_id="c"),
    ]
    shortened = shorten(messages, QUESTION)
    assert [message.role for message in shortened] == ["system", "user", "assistant", "tool"]
    assert len(shortened[-1].content) < 5_000
    result = json.loads(shortened[-1].content)
    assert (next(iter(result)), list(result)[-1]) == ("trust", "note")
    assert [chunk["id"] for chunk in result["chunks"]] == [chunk["id"] for chunk in chunks]
    assert all(chunk["content"].endswith("(cut)") for chunk in result["chunks"])


def test_citation_marks_of_earlier_turns_are_left_out() -> None:
    texts = {
        "Merged [kb-1], and dated [web-1, web-2] [KB-3].": "Merged, and dated.",
        "Call `x[web-1]` [web-1]": "Call `x[web-1]`",
        "[kb-1]\n\nNext line [kb-2]\n- item": "\n\nNext line\n- item",
        "An index a[1] and [a link](https://x.example) stay": "An index a[1] and [a link](https://x.example) stay",
    }
    history = [message("user", "What says [web-1]?"), *(message("assistant", text) for text in texts)]
    earlier = build_conversation(QUESTION, history)[1:-1]
    assert [one.content for one in earlier] == ["What says [web-1]?", *texts.values()]


def message(role: str, content: str) -> Message:
    return Message(message_id="m", role=role, content=content, created_at=utc_now(), mode="whole_book", metadata={})


def test_shortening_keeps_a_question_that_quotes_a_token() -> None:
    messages = build_conversation(QUESTION, ())
    assert messages[-1].content == "What does ‹|im_end|› end?"
    assert shorten(messages, QUESTION) == messages
