"""Writes what chat clients ask for beside questions, from the words of the conversation: titles, tags and the like."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from gleaner.client_tasks import ClientTask, TaskRequest
from gleaner.small_talk import recognize, without_small_talk
from gleaner.text import find_words, fold, stem, words
from gleaner_local.extractive._answering import NO_ANSWER, SEARCH_FAILED, WEB_FAILED
from gleaner_local.extractive._follow_up import standalone_query
from gleaner_local.extractive._languages import find_language
from gleaner_local.extractive._sentences import without_source_marks
from gleaner_local.extractive._topics import topic_words
from gleaner_local.extractive.keywords import extract_keywords

MAX_TITLE_WORDS = 4
MAX_TITLE_CHARS = 60
MAX_TAGS = 3
MAX_FOLLOW_UPS = 3
MIN_TAGGED_MESSAGES = 3  # the template of Open WebUI asks for NO_TAG below that
NO_TAG = "General"

# "USER: " and "ASSISTANT: " of Open WebUI, "User: " and "AI: " of LibreChat, "||>User:" and "||>Response:" before 2025.
_ROLE = re.compile(r"^(?:\|\|>)?(USER|User|ASSISTANT|AI|Response): ?", re.MULTILINE)
_OF_USER = ("USER", "User")
_QUESTIONS = {
    "English": "What is said about {}?",
    "German": "Was steht dort über {}?",
    "French": "Que dit-on de {} ?",
    "Spanish": "¿Qué se dice sobre {}?",
    "Portuguese": "O que se diz sobre {}?",
    "Italian": "Che cosa si dice di {}?",
    "Dutch": "Wat staat er over {}?",
}

Turns = Sequence[tuple[str, str]]


def write_for(request: TaskRequest) -> str:
    """The text that a task wants, in its form: a JSON object, or a title alone."""
    turns = _read_turns(request.conversation)
    match request.task:
        case ClientTask.TITLE:
            value: Any = _title(turns)
        case ClientTask.TAGS:
            value = _tags(turns)
        case ClientTask.FOLLOW_UPS:
            value = _follow_ups(turns)
        case ClientTask.QUERIES:
            value = _queries(turns)
        case ClientTask.CONTINUATION:
            value = ""  # what a user means to type is in no words of the conversation
    return value if request.field is None else json.dumps({request.field: value}, ensure_ascii=False)


def _read_turns(conversation: str) -> list[tuple[str, str]]:
    """(role, text) of the messages; what stands before the first name of a role is the user's."""
    first, *rest = _ROLE.split(conversation)
    pairs = [("USER", first), *zip(rest[::2], rest[1::2], strict=True)]
    turns = [("user" if name in _OF_USER else "assistant", text.strip().strip('"')) for name, text in pairs]
    return [(role, without_source_marks(text)) for role, text in turns if text.strip()]


def _title(turns: Turns) -> str:
    """The topic of the first question that is no small talk; without a topic, its first words."""
    asked = _questions(turns)
    text = next((without_small_talk(question) for question in asked if recognize(question) is None), "")
    text = text or next(iter(asked), "")
    parts: dict[str, str] = {}
    for word in topic_words(text) or find_words(text):
        parts.setdefault(fold(word), word)
    separator = " " if find_language(text).is_spaced else ""
    return separator.join(map(_capitalize, list(parts.values())[:MAX_TITLE_WORDS]))[:MAX_TITLE_CHARS] or NO_TAG


def _tags(turns: Turns) -> list[str]:
    if len(turns) < MIN_TAGGED_MESSAGES:
        return [NO_TAG]
    keywords = extract_keywords(" ".join(_questions(turns)), [], _answers(turns))
    return [_capitalize(keyword) for keyword in keywords[:MAX_TAGS]] or [NO_TAG]


def _follow_ups(turns: Turns) -> list[str]:
    """Questions about what the answers name and nobody asked about; if there is nothing, about the topic."""
    asked = " ".join(_questions(turns))
    known = {stem(word) for word in words(asked)}
    named = extract_keywords("", [], _answers(turns))
    new = [keyword for keyword in named if not known & {stem(word) for word in words(keyword)}]
    question = _QUESTIONS.get(find_language(asked).name, _QUESTIONS["English"])
    about = (new or extract_keywords(asked, [], ""))[:MAX_FOLLOW_UPS]
    return [question.format(keyword) for keyword in about]


def _queries(turns: Turns) -> list[str]:
    """The last question, made to stand alone."""
    asked = [position for position, (role, _) in enumerate(turns) if role == "user"]
    if not asked or recognize(turns[asked[-1]][1]) is not None:
        return []
    return [standalone_query(turns[asked[-1]][1], turns[: asked[-1]])]


def _questions(turns: Turns) -> list[str]:
    return [text for role, text in turns if role == "user"]


def _answers(turns: Turns) -> str:
    text = "\n".join(text for role, text in turns if role == "assistant")
    for reply in (NO_ANSWER, SEARCH_FAILED, WEB_FAILED):
        text = text.replace(reply, "")
    return text


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]
