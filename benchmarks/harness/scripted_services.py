"""A model and a web search that answer at once and always the same way, in a process of their own.

`start()` runs this file. The model goes by what it was asked and how many turns it has had:

- a question with the word `web`: search, then the web, then keywords and the answer in one turn: 3 calls;
- any other question: search, then the answer: 2 calls.

It keeps nothing but a count of its calls, so that it can be asked for hours. Every question may have a word of
its own, which comes back in the keywords, so that what one question teaches does not serve the next.
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
    """A word that no other question has."""
    return f"word{number}"


class Model:
    """Plays both questions for whoever asks, and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: Request) -> Response:
        """The next turn of a conversation."""
        messages = (await request.json())["messages"]
        self.calls += 1
        question = next(str(message["content"]) for message in reversed(messages) if message["role"] == "user")
        turn = sum(message["role"] == "assistant" for message in messages)
        return JSONResponse(_turn(question, turn))

    async def count(self, _request: Request) -> Response:
        """How many calls there were."""
        return PlainTextResponse(str(self.calls))


def _turn(question: str, turn: int) -> dict[str, Any]:
    if turn == 0:
        return calls(search(question))
    if not re.search(r"\bweb\b", question):
        return calls(answer(ANSWER), ids=["call_answer"])
    if turn == 1:
        return calls(("perplexity_search", {"query": question}), ids=["call_web"])
    topic = found[0] if (found := _WORD.search(question)) else "topic"
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
    """The running services, seen from outside."""

    def __init__(self, url: str) -> None:
        self.web_url = url
        self.model_url = f"{url}/v1"
        self._http = httpx.Client(base_url=url)

    def model_calls(self) -> int:
        """How many calls the model has answered."""
        return int(self._http.get("/count").text)


@contextmanager
def start() -> Iterator[Services]:
    """Both services on a loopback port, until the end of the block."""
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield Services(json.loads(process.stdout.readline())["url"])
    finally:
        process.communicate()  # the end of its input is the end of its work
        process.wait()


def main() -> None:
    """Serve until the standard input ends."""
    model = Model()
    routes = [
        Route("/v1/chat/completions", model.complete, methods=["POST"]),
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
