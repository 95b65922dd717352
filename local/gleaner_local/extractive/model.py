"""The extractive model: chooses the next tool calls from the messages and the offered tools."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner.client_tasks import read_task
from gleaner.small_talk import recognize
from gleaner_local.extractive._answering import answer_from_passages, answer_from_selection, answer_from_web
from gleaner_local.extractive._conversation import (
    Conversation,
    Message,
    WebAnswer,
    read_conversation,
    text_of,
)
from gleaner_local.extractive._follow_up import Reading, reword, understand
from gleaner_local.extractive._selection import ABOUT_THE_WHOLE, asks_for_whole, has_beginning, quote_beginning
from gleaner_local.extractive._small_talk import reply_to
from gleaner_local.extractive._writing import write_for
from gleaner_local.extractive.judging import Judge, Judgement
from gleaner_local.extractive.keywords import extract_keywords
from gleaner_local.extractive.question import Question, read_question

MODEL = "gleaner-extractive"

SEARCH, WEB, INDEX, ANSWER = "knowledge_base_search", "perplexity_search", "index_keywords", "generate_response"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call; `arguments` is a JSON object as text."""

    name: str
    arguments: str


class ExtractiveModel:
    """A stateless model: the same messages always lead to the same calls."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    def next_calls(self, messages: Sequence[Message], offered: Collection[str], *, parallel: bool = True) -> list[Call]:
        """The calls to the tools that may be called by name; none when it knows none of them.

        Without `parallel` there is at most one call.
        """
        state = read_conversation(messages)
        if not state.question:
            return []
        small_talk = recognize(state.question)
        reading = understand(state.question, state.earlier)
        query = reading.query if small_talk is None else state.question
        if SEARCH in offered and not state.searched:
            return [_call(SEARCH, {"query": query})]
        if ANSWER in offered and small_talk is not None:
            return [_call(ANSWER, reply_to(small_talk, about_selection=state.about_selection))]
        judgement = self._judge.judge(query, list(state.passages.values()), _question_of(reading))
        if ANSWER in offered and state.about_selection:
            return [_answer_about_selection(state, judgement, offered)]
        return _answer_or_search_further(state, judgement, query, offered, parallel=parallel)

    def write(self, messages: Sequence[Message]) -> str | None:
        """The text that a task of a chat client wants, which offers no tools; None if the messages are no such task."""
        task = read_task([(message["role"], text_of(message)) for message in messages])
        return None if task is None else write_for(task)


def _answer_or_search_further(
    state: Conversation, judgement: Judgement, query: str, offered: Collection[str], *, parallel: bool
) -> list[Call]:
    """Index what the web taught, search the web if the passages do not suffice, or answer."""
    wording = reword(query) if state.refused else query
    if INDEX in offered and state.web is not None and not state.indexed:
        calls = [_call(INDEX, _keyword_arguments(query, state.web))]
        if ANSWER in offered and parallel:
            calls.append(_call(ANSWER, _answer(state, judgement)))
        return calls
    if WEB in offered and not state.web_tried and not judgement.enough:
        return [_call(WEB, {"query": wording})]
    if ANSWER in offered:
        return [_call(ANSWER, _answer(state, judgement))]
    return _search_again(offered, wording)


def _answer_about_selection(state: Conversation, judgement: Judgement, offered: Collection[str]) -> Call:
    """Answer from the selection; first search for its beginning if the whole is asked for."""
    if asks_for_whole(state.question) or not judgement.question.has_topic:
        if SEARCH in offered and not has_beginning(state) and state.searches == 1:
            return _call(SEARCH, {"query": ABOUT_THE_WHOLE})
        return _call(ANSWER, quote_beginning(state))
    return _call(ANSWER, answer_from_selection(state, judgement))


def _question_of(reading: Reading) -> Question | None:
    """The question by which sentences are scored; None if it stands alone."""
    if not reading.terms and not reading.required:
        return None
    terms, required, said = reading.terms, reading.required, reading.said
    return read_question(reading.text, asked=reading.asked, terms=terms, required=required, said=said)


def _search_again(offered: Collection[str], query: str) -> list[Call]:
    """Repeat a search when only searches are offered."""
    searches = [name for name in (SEARCH, WEB) if name in offered]
    return [_call(searches[0], {"query": query})] if searches else []


def _answer(state: Conversation, judgement: Judgement) -> dict[str, Any]:
    if state.web is not None:
        return answer_from_web(state, state.web, judgement)
    return answer_from_passages(state, judgement)


def _keyword_arguments(query: str, web: WebAnswer) -> dict[str, Any]:
    keywords = extract_keywords(query, [page.title for page in web.pages], web.text)
    return {"keywords": keywords, "perplexity_result_id": web.result_id}


def _call(name: str, arguments: dict[str, Any]) -> Call:
    return Call(name, json.dumps(arguments, ensure_ascii=False))
