"""Serves a peer's answers over HTTP: the common part of the programs that peers.py compares.

It needs only Starlette and uvicorn, because each program runs in the environment of its framework. A program is given
the file of materials, the addresses of the model and of the embeddings, and the directory of its index.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

MATERIALS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
MODEL_URL, EMBEDDINGS_URL = sys.argv[2:4]
INDEX = Path(sys.argv[4])
SYSTEM: str = MATERIALS["system"]
DESCRIPTIONS: dict[str, str] = MATERIALS["descriptions"]  # by tool name
PARAMETERS: dict[str, Any] = MATERIALS["parameters"]  # by tool name, as JSON schemas
PASSAGES: list[dict[str, Any]] = MATERIALS["passages"]  # of the documents; `searched` is what is embedded
MODEL, EMBEDDING_MODEL = "scripted", "all-MiniLM-L6-v2"
MAX_TOKENS = 4096  # of a model call
TOP_K = 5
_SHOWN = ("title", "chapter", "source_file_path")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer, the ids that it cites, and the passages that were found, best first."""

    text: str
    cited: Sequence[str]
    found: Sequence[dict[str, Any]]


def number_passages(passages: Sequence[dict[str, Any]], scores: Sequence[float]) -> str:
    """The result of a search for the model, with an id for each passage."""
    chunks = [
        {"id": f"kb-{number}", "content": passage["content"], "score": round(score, 4)}
        | {name: passage[name] for name in _SHOWN}
        for number, (passage, score) in enumerate(zip(passages, scores, strict=True), 1)
    ]
    return json.dumps({"chunks": chunks, "total_chunks_found": len(chunks)}, ensure_ascii=False)


def serve(ask: Callable[[str], Awaitable[Answer]]) -> None:
    """Answer questions until the process is terminated; print the address once they are accepted."""

    async def query(request: Request) -> Response:
        answer = await ask((await request.json())["query"])
        passages = {f"kb-{number}": passage for number, passage in enumerate(answer.found, 1)}
        sources = [
            {"id": cited} | {name: passages[cited][name] for name in _SHOWN}
            for cited in answer.cited
            if cited in passages
        ]
        return JSONResponse({"answer": answer.text, "sources": sources})

    app = Starlette(routes=[Route("/api/chat/query", query, methods=["POST"])])
    # asyncio disables Nagle's algorithm only if the protocol is given.
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    held.bind(("127.0.0.1", 0))
    held.listen(2048)
    print(json.dumps({"url": f"http://127.0.0.1:{held.getsockname()[1]}"}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[held])
