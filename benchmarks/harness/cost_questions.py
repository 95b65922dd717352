"""Asks questions of three kinds and measures their use of the model, the store and the web.

The model is scripted: it searches with the question, and its answers quote the results at a realistic length. Passages
are real: the search finds them in docs/, and web pages are descriptions of installed Python packages, cut to the length
of pages in search results. A web question is followed by a related one, which is answered from the learned answer.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any

from gleaner.answering.exchange import QuestionRequest
from gleaner.answering.question import Services, answer_question
from gleaner.model import AnswerStatus, SourceType, new_id
from gleaner.runtime.deadline import Deadline
from gleaner_local.outside_world.descriptions import Section, installed_sections
from harness.capacity import Request, Requests
from harness.local_services import Running
from harness.prompt_tokens import Prompt, prompt, reply_tokens
from tests.doubles import scripted_model
from tests.doubles.scripted_model import calls, index, search
from tests.doubles.scripted_web import result

ANSWER_WORDS = (60, 30)  # quoted from the two best passages
WEB_ANSWER_WORDS = 60  # quoted from each page
PAGE_CHARACTERS = 800  # of a page in web search results
_FIRST_SEARCH = 1  # model calls before the first search


class Kind(StrEnum):
    """What a question is answered from."""

    KNOWLEDGE_BASE = "knowledge base"
    WEB = "web"
    LEARNED = "learned"


class Place(StrEnum):
    """What a store request is for, and so what waits for it."""

    ALONE = "alone"  # the history, the lease, the keywords and the turn, one after another
    LOOK_UP = "look-up"  # concurrent with the vector search
    BESIDE = "beside"  # records and counts, awaited at the end only


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A question of each kind. The web search finds the descriptions of `packages`."""

    handbook: str
    web: str
    learned: str
    packages: tuple[str, ...]
    keywords: tuple[str, ...]


TOPICS = (
    Topic(
        handbook="How are duplicate keywords merged?",
        web="Which Python libraries test an HTTP API from its schema?",
        learned="Is there a library that tests an API from its schema?",
        packages=("schemathesis", "httpx", "pytest", "hypothesis", "moto"),
        keywords=("API schema testing", "Schemathesis", "HTTP API tests", "Python test libraries"),
    ),
    Topic(
        handbook="Which limits apply to one question?",
        web="What is Starlette, and what is it used for?",
        learned="What can Starlette be used for in a web service?",
        packages=("starlette", "uvicorn", "httpx", "pydantic", "schemathesis"),
        keywords=("Starlette", "ASGI framework", "Starlette uses", "ASGI server", "async web services"),
    ),
    Topic(
        handbook="How do I give an environment on AWS its API keys?",
        web="How does Typer make a command line from type hints?",
        learned="Can Typer read a command line from the type hints of a function?",
        packages=("typer", "rich", "attrs", "pydantic", "pytest"),
        keywords=("Typer", "command line", "type hints", "CLI applications", "Typer commands"),
    ),
    Topic(
        handbook="When is a keyword pruned, and can it be brought back?",
        web="What does attrs do for Python classes?",
        learned="Which boilerplate of Python classes does attrs write?",
        packages=("attrs", "pydantic", "typer", "hypothesis", "rich"),
        keywords=("attrs", "Python classes", "class boilerplate", "attrs classes", "dunder methods"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one question used."""

    kind: Kind
    query: str
    prompts: tuple[Prompt, ...]  # of the model calls
    output_tokens: int
    requests: tuple[Request, ...]  # to the store

    def round_trips(self) -> int:
        """Store requests that the answer alone waits for, one after another."""
        return self.count(Place.ALONE)

    def count(self, place: Place) -> int:
        """The number of store requests of one place."""
        return sum(_place(request) is place for request in self.requests)


def _place(request: Request) -> Place:
    if request.thread.startswith(Place.BESIDE):
        return Place.BESIDE
    return Place.LOOK_UP if request.stage == _FIRST_SEARCH else Place.ALONE


class Questioner:
    """Asks questions to a set of running services."""

    def __init__(self, local: Running) -> None:
        self._local = local
        self._requests = Requests(local.client, stage=lambda: len(local.model.requests))

    def ask(self, topic: Topic, kind: Kind, session_id: str | None = None) -> tuple[Measurement, str | None]:
        """Ask a question of this kind and return its measurement and its session.

        Raises RuntimeError if the question is not answered as its kind demands.
        """
        query = {Kind.KNOWLEDGE_BASE: topic.handbook, Kind.WEB: topic.web, Kind.LEARNED: topic.learned}[kind]
        replies = self._play(topic, kind, query)
        self._requests.entries.clear()
        request = QuestionRequest(query=query, caller_id="key:benchmark", session_id=session_id)
        with _separate_background(self._local.services) as services:
            answer = answer_question(request, new_id(), services, Deadline.after(20))
        from_web = answer.used(SourceType.EXTERNAL)
        if answer.status is not AnswerStatus.SUCCESS or from_web is (kind is Kind.KNOWLEDGE_BASE):
            raise RuntimeError(f"{query!r} was not answered as a question of the kind {kind}.")
        measurement = Measurement(
            kind=kind,
            query=query,
            prompts=tuple(map(prompt, self._local.model.bodies)),
            output_tokens=sum(map(reply_tokens, replies)),
            requests=tuple(self._requests.entries),
        )
        return measurement, answer.session_id

    def _play(self, topic: Topic, kind: Kind, query: str) -> list[dict[str, Any]]:
        """Script the model and the web. The list collects the replies of the model."""
        replies: list[dict[str, Any]] = []

        def recording(turn: Callable[[Mapping[str, Any]], dict[str, Any]]) -> scripted_model.Reply:
            def reply(request: dict[str, Any]) -> dict[str, Any]:
                replies.append(turn(request))
                return replies[-1]

            return reply

        search_turn = recording(lambda _: calls(search(query, top_k=5)))
        if kind is Kind.WEB:
            self._local.web.finds(*_web_answer(topic.packages))
            web_turn = recording(lambda _: calls(("perplexity_search", {"query": query})))
            last = recording(lambda request: calls(index(*topic.keywords), _answer(request, kind)))
            self._local.model.plays(search_turn, web_turn, last)
        else:
            self._local.model.plays(search_turn, recording(lambda request: calls(_answer(request, kind))))
        return replies


@contextlib.contextmanager
def _separate_background(services: Services) -> Iterator[Services]:
    """Services with threads of their own for background work, so that its requests can be identified."""
    with ThreadPoolExecutor(8, thread_name_prefix=Place.BESIDE) as executor:
        yield replace(services, io_executor=executor)


def _answer(request: Mapping[str, Any], kind: Kind) -> tuple[str, Any]:
    results = json.loads(request["messages"][-1]["content"])
    passages = results["citations"] if kind is Kind.WEB else results["chunks"]
    external = kind is not Kind.KNOWLEDGE_BASE
    best = sorted(passages, key=lambda passage: passage["id"].startswith("web-") is not external)
    quotes = list(zip(best, ANSWER_WORDS, strict=False))
    text = " ".join(f"{_words(p.get('content') or p['snippet'], words)} [{p['id']}]." for p, words in quotes)
    sources = tuple(passage["id"] for passage, _ in quotes)
    return scripted_model.answer(text, sources, answered="found", confidence_score=0.9, used_external_kb=external)


def _words(text: str, count: int) -> str:
    return " ".join(text.lstrip("# ").split()[:count])


def _web_answer(packages: Sequence[str]) -> tuple[Any, ...]:
    """A web answer and the pages that it cites."""
    pages = {package: _description(package) for package in packages}
    text = " ".join(f"{_words(page, WEB_ANSWER_WORDS)} [{n}]." for n, page in enumerate(pages.values(), 1))
    return text, *(
        result(n, f"https://{package}.example/", package, page[:PAGE_CHARACTERS])
        for n, (package, page) in enumerate(pages.items(), 1)
    )


def _description(package: str) -> str:
    return " ".join(section.text for section in _sections() if section.project == package)


@cache
def _sections() -> Sequence[Section]:
    return installed_sections()
