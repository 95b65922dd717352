"""The part of worker.py for asyncio frameworks: one event loop for all questions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from worker import serve


def serve_async(ask: Callable[[str], Awaitable[str]]) -> None:
    """Like `worker.serve`. The event loop is created once, so that questions do not pay for it."""
    with asyncio.Runner() as runner:
        serve(lambda question: runner.run(_awaited(ask, question)))


async def _awaited(ask: Callable[[str], Awaitable[str]], question: str) -> str:
    return await ask(question)
