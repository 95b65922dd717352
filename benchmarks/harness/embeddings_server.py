"""Serves the embedder of Gleaner's local index by OpenAI's protocol, in a process of its own.

The form is that of https://platform.openai.com/docs/api-reference/embeddings; the openai SDK asks for base64. `start`
runs this file.
"""

from __future__ import annotations

import base64
import socket
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gleaner_local.index.embedder import Embedder, Vectors, unit_mean
from gleaner_local.ports import hold_port
from gleaner_local.servers.asgi import AsgiServer


async def embed(request: Request) -> Response:
    """The unit vector of each text; of a long text, the mean of its windows, as the index takes it."""
    body = await request.json()
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    if not all(isinstance(text, str) for text in texts):
        message = "Only texts are embedded, no tokens."
        return JSONResponse({"error": {"message": message, "type": "invalid_request_error"}}, status_code=400)
    windows = await run_in_threadpool(Embedder.installed().embed, texts)
    is_base64 = body.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": place, "embedding": _encode(unit_mean(own), is_base64=is_base64)}
        for place, own in enumerate(windows)
    ]
    tokens = sum(map(len, texts)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return JSONResponse({"object": "list", "data": data, "model": body["model"], "usage": usage})


def _encode(vector: Vectors, *, is_base64: bool) -> str | list[float]:
    if is_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return [float(value) for value in vector]


def start() -> tuple[subprocess.Popen[bytes], str]:
    """Start the server; its process, and its address, which takes connections at once and answers when it is up."""
    with hold_port(0) as held:
        held.listen()
        command = [sys.executable, __file__, str(held.fileno())]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[held.fileno()])
        return process, f"http://127.0.0.1:{held.getsockname()[1]}/v1"


def main() -> None:
    """Serve until the standard input ends."""
    server = AsgiServer(
        Starlette(routes=[Route("/v1/embeddings", embed, methods=["POST"])]),
        held=socket.socket(fileno=int(sys.argv[1])),
    )
    server.start()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
