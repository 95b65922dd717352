"""Replies to greetings, thanks, questions about the assistant and the like: one sentence, without sources."""

from __future__ import annotations

from typing import Any

from gleaner.model import Answered
from gleaner.small_talk import SmallTalk

_PLACES = {True: "the selected text", False: "the knowledge base"}
_DOCUMENTS = {True: "the selected text", False: "the documents of the knowledge base"}
_REPLIES = {
    SmallTalk.GREETING: "Hello! Ask a question, and I look for the answer in {place}.",
    SmallTalk.THANKS: "You are welcome.",
    SmallTalk.FAREWELL: "Goodbye!",
    SmallTalk.REACTION: "Ask a question whenever you like, and I look for the answer in {place}.",
    SmallTalk.ASSISTANT: "I am Gleaner: I answer questions from {documents}, and show the sources of each answer.",
    SmallTalk.WORDLESS: "Ask a question in words, and I look for the answer in {place}.",
}


def reply_to(kind: SmallTalk, *, about_selection: bool) -> dict[str, Any]:
    """The arguments of `generate_response`."""
    answer = _REPLIES[kind].format(place=_PLACES[about_selection], documents=_DOCUMENTS[about_selection])
    return {
        "answer": answer,
        "sources": [],
        "answered": Answered.NOT_FOUND.value,
        "used_internal_kb": False,
        "used_external_kb": False,
    }
