"""Speaks Perplexity's Agent API over the outside world, locally: it quotes, and says so when it finds nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette

from gleaner_local.extractive.question import read_question
from gleaner_local.extractive.scoring import Text, distinct, score_texts
from gleaner_local.outside_world.descriptions import installed_sections
from gleaner_local.outside_world.library import FoundSection, Library
from gleaner_local.servers._json_api import json_app
from gleaner_local.servers._perplexity_requests import AgentRequest, read_request

MODEL = "gleaner-outside-world"  # whatever was asked for: this is what answers
MAX_RESULTS = 5
MAX_SENTENCES = 4
MAX_SENTENCES_PER_RESULT = 2
# A sentence is quoted when it comes this near to the best one.
NEAR_BEST = 0.7
SNIPPET_CHARS = 500
CHARS_PER_TOKEN = 4
CREATED = 0  # there is no clock here

NOTHING_FOUND = "Nothing was found that answers this question in the descriptions of the installed packages."
NOT_ASKED_TO_SEARCH = "Without a web search nothing can be said here. Offer the tool web_search."


def create_app() -> Starlette:
    """The application: `POST /v1/agent`. Any bearer will do, but there must be one."""
    library = Library(installed_sections)
    return json_app({("POST", "/v1/agent"): lambda body: _answer(library, body)})


def _answer(library: Library, body: bytes) -> dict[str, Any]:
    request = read_request(body)
    digest = hashlib.sha256(body).hexdigest()[:24]
    output: list[dict[str, Any]] = []
    text = NOT_ASKED_TO_SEARCH
    if request.searches():
        found = library.search(request.question(), limit=MAX_RESULTS)
        output.append(_search_results(request, found))
        text = _quotes(request.question(), found) or NOTHING_FOUND
    output.append(_message(digest, text))
    return {
        "id": f"resp_{digest}",
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": MODEL,
        "output": output,
        "usage": _usage(body, text),
    }


def _search_results(request: AgentRequest, found: Sequence[FoundSection]) -> dict[str, Any]:
    results = [
        {
            "id": number,
            "url": item.section.url,
            "title": item.section.title,
            "snippet": " ".join(item.section.text.split())[:SNIPPET_CHARS],
            "date": None,  # a description does not say when it was written
            "last_updated": None,
            "source": "web",
        }
        for number, item in enumerate(found, 1)
    ]
    return {"type": "search_results", "queries": [request.question()], "results": results}


def _message(digest: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": f"msg_{digest}",
        "status": "completed",
        "role": "assistant",
        "content": [part],
    }


def _quotes(question: str, found: Sequence[FoundSection]) -> str:
    """The best sentences of the sections, each with the mark of its result; empty when there is none."""
    texts = [
        Text(str(number), item.section.text, item.coverage, item.section.title) for number, item in enumerate(found, 1)
    ]
    best = [
        sentence
        for scored in score_texts(read_question(question), texts)
        for sentence in distinct(sorted(scored.sentences, key=lambda s: -s.score))[:MAX_SENTENCES_PER_RESULT]
    ]
    best.sort(key=lambda sentence: -sentence.score)
    kept = distinct([sentence for sentence in best if sentence.score >= NEAR_BEST * best[0].score])[:MAX_SENTENCES]
    kept.sort(key=lambda sentence: (int(sentence.text_id), sentence.position))
    return " ".join(f"{_ended(sentence.text)} [{sentence.text_id}]" for sentence in kept)


def _ended(text: str) -> str:
    """A list item gets a full stop, so that it is told from the sentence after it."""
    return text if text.endswith((".", "!", "?", ":", ";")) else f"{text}."


def _usage(body: bytes, text: str) -> dict[str, Any]:
    """Token counts estimated by length; a local search costs nothing."""
    asked, answered = -(-len(body) // CHARS_PER_TOKEN), -(-len(text) // CHARS_PER_TOKEN)
    cost = {"currency": "USD", "input_cost": 0.0, "output_cost": 0.0, "tool_calls_cost": 0.0, "total_cost": 0.0}
    return {
        "input_tokens": asked,
        "output_tokens": answered,
        "total_tokens": asked + answered,
        "cost": cost,
    }
