"""worker.py's part for frameworks that are at home in asyncio: one event loop for all questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from worker import serve


def serve_async(ask: Callable[[str], Awaitable[str]]) -> None:
    """As `worker.serve`; the loop is made once, so that it is not among the costs of a question."""
    with asyncio.Runner() as runner:
        serve(lambda question: runner.run(_awaited(ask, question)))


async def _awaited(ask: Callable[[str], Awaitable[str]], question: str) -> str:
    return await ask(question)
