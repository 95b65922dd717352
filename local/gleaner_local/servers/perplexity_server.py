"""Serves Perplexity's Agent API locally over the outside world: it quotes, or says that it found nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from starlette.applications import Starlette

from gleaner_local.extractive.question import read_question
from gleaner_local.extractive.scoring import Text, distinct, score_texts
from gleaner_local.outside_world.descriptions import Section, installed_sections
from gleaner_local.outside_world.library import FoundSection, Library
from gleaner_local.servers._json_api import create_json_app
from gleaner_local.servers._perplexity_requests import AgentRequest, read_request

MODEL = "gleaner-outside-world"  # answers whichever model is requested
MAX_RESULTS = 5
MAX_SENTENCES = 4
MAX_SENTENCES_PER_RESULT = 2
# A sentence is quoted if its score is at least this share of the best one.
MIN_SHARE_OF_BEST = 0.7
MAX_SNIPPET_CHARS = 500
CHARS_PER_TOKEN = 4
CREATED = 0  # a constant, so that the same request gives the same response

NOTHING_FOUND = "No answer to this question was found in the descriptions of the installed packages."
NOT_ASKED_TO_SEARCH = "This model answers only from a web search. Offer the tool web_search."


def create_app(pages: Sequence[Section] = ()) -> Starlette:
    """Create the application: `POST /v1/agent`. Any bearer token is accepted. `pages` are found, too."""
    library = Library(lambda: [*installed_sections(), *pages])
    return create_json_app({("POST", "/v1/agent"): lambda body: _answer(library, body)})


def _answer(library: Library, body: bytes) -> dict[str, Any]:
    request = read_request(body)
    digest = hashlib.sha256(body).hexdigest()[:24]
    output: list[dict[str, Any]] = []
    text = NOT_ASKED_TO_SEARCH
    if request.wants_search():
        sections = library.search(request.question(), limit=MAX_RESULTS)
        output.append(_search_results(request, sections))
        text = _quote(request.question(), sections) or NOTHING_FOUND
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


def _search_results(request: AgentRequest, sections: Sequence[FoundSection]) -> dict[str, Any]:
    results = [
        {
            "id": number,
            "url": item.section.url,
            "title": item.section.title,
            "snippet": " ".join(item.section.text.split())[:MAX_SNIPPET_CHARS],
            "date": None,  # descriptions have no date
            "last_updated": None,
            "source": "web",
        }
        for number, item in enumerate(sections, 1)
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


def _quote(question: str, sections: Sequence[FoundSection]) -> str:
    """Quote the best sentences of the sections, each with the mark of its result; empty if there is none."""
    texts = [
        Text(str(number), item.section.text, item.coverage, item.section.title)
        for number, item in enumerate(sections, 1)
    ]
    best = [
        sentence
        for scored in score_texts(read_question(question), texts)
        for sentence in distinct(sorted(scored.sentences, key=lambda s: -s.score))[:MAX_SENTENCES_PER_RESULT]
    ]
    best.sort(key=lambda sentence: -sentence.score)
    quotes = distinct([sentence for sentence in best if sentence.score >= MIN_SHARE_OF_BEST * best[0].score])[
        :MAX_SENTENCES
    ]
    quotes.sort(key=lambda sentence: (int(sentence.text_id), sentence.position))
    return " ".join(f"{_end_sentence(sentence.text)} [{sentence.text_id}]" for sentence in quotes)


def _end_sentence(text: str) -> str:
    """Add a full stop to a list item, so that it does not run into the next sentence."""
    return text if text.endswith((".", "!", "?", ":", ";")) else f"{text}."


def _usage(body: bytes, text: str) -> dict[str, Any]:
    """Token counts, estimated from the length; a local search costs nothing."""
    input_tokens, output_tokens = -(-len(body) // CHARS_PER_TOKEN), -(-len(text) // CHARS_PER_TOKEN)
    cost = {"currency": "USD", "input_cost": 0.0, "output_cost": 0.0, "tool_calls_cost": 0.0, "total_cost": 0.0}
    return {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "total_tokens": input_tokens + output_tokens,
        "cost": cost,
    }
