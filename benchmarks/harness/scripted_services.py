"""Serves a model and a web search that answer at once and always alike, in a process of their own.

`start()` runs this file. The model decides by the question and by the number of turns so far:

- a question with the word `web` takes 3 calls: a search, a web search, then keywords and the answer in one turn;
- any other question takes 2 calls: a search, then the answer.

The model stores only the number of its calls, so that it can run for hours. A question may contain a unique word, which
the model repeats in the keywords, so that no question is answered by what another one taught.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.responses_wire import as_chat_request, as_response
from tests.doubles.scripted_model import answer, calls, index, search
from tests.doubles.scripted_web import result

QUESTION = "How are duplicate keywords merged in {word}?"
WEB_QUESTION = "What does the web say about {word}?"
ANSWER = "Duplicate keywords are merged by a conditional write [kb-1]. The usage count is raised."
WEB_ANSWER = "It was first described in 2026 [1], and is in wide use since [2]."
WEB_RESULTS = (
    result(1, "https://one.example/history", "A history", "It was first described in 2026."),
    result(2, "https://two.example/use", "Its use", "It is in wide use."),
)
_WORD = re.compile(r"\bword\d+\b")


def word(number: int) -> str:
    """A word that is unique to a question."""
    return f"word{number}"


class Model:
    """Answers both kinds of questions, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: Request) -> Response:
        """The next turn of a conversation, by chat completions."""
        return JSONResponse(self._next_turn(await request.json()))

    async def respond(self, request: Request) -> Response:
        """The same by the Responses API."""
        return JSONResponse(as_response(self._next_turn(as_chat_request(await request.json()))))

    def _next_turn(self, body: dict[str, Any]) -> dict[str, Any]:
        messages = body["messages"]
        self.calls += 1
        question = next(str(message["content"]) for message in reversed(messages) if message["role"] == "user")
        return _turn(question, sum(message["role"] == "assistant" for message in messages))

    async def count(self, _request: Request) -> Response:
        """The number of calls."""
        return PlainTextResponse(str(self.calls))


def _turn(question: str, turn: int) -> dict[str, Any]:
    if turn == 0:
        return calls(search(question))
    if not re.search(r"\bweb\b", question):
        return calls(answer(ANSWER), ids=["call_answer"])
    if turn == 1:
        return calls(("perplexity_search", {"query": question}), ids=["call_web"])
    topic = match[0] if (match := _WORD.search(question)) else "topic"
    keywords = index(f"{topic} history", f"{topic} usage", f"{topic} origin")
    return calls(keywords, answer("It is from 2026 [web-1].", ("web-1",)), ids=["call_keywords", "call_answer"])


async def _search_web(request: Request) -> Response:
    await request.json()
    text = {"type": "output_text", "text": WEB_ANSWER}
    return JSONResponse(
        {
            "id": "resp_1",
            "status": "completed",
            "model": "perplexity/sonar",
            "output": [
                {"type": "search_results", "queries": ["q"], "results": list(WEB_RESULTS)},
                {"type": "message", "role": "assistant", "content": [text]},
            ],
            "usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30},
        }
    )


class Services:
    """The running services, as their clients see them."""

    def __init__(self, url: str) -> None:
        self.web_url = url
        self.model_url = f"{url}/v1"
        self._http = httpx.Client(base_url=url)

    def model_calls(self) -> int:
        """The number of calls that the model has answered."""
        return int(self._http.get("/count").text)


@contextmanager
def start() -> Iterator[Services]:
    """Run both services on a loopback port until the end of the block."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Services(json.loads(process.stdout.readline())["url"])
    finally:
        process.communicate()  # closes the input, which ends the process
        process.wait()


def main() -> None:
    """Serve until the standard input ends."""
    model = Model()
    routes = [
        Route("/v1/chat/completions", model.complete, methods=["POST"]),
        Route("/v1/responses", model.respond, methods=["POST"]),
        Route("/v1/agent", _search_web, methods=["POST"]),
        Route("/count", model.count),
    ]
    server = AsgiServer(Starlette(routes=routes))
    server.start()
    print(json.dumps({"url": server.url}), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
