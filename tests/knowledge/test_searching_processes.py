"""Processes that search the web for the same at once, with the clients that the service makes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from gleaner.clients import perplexity
from gleaner.knowledge.shared_web_search import SharedWebSearch, SharingLimits
from gleaner.model import utc_now
from gleaner.stores.dynamodb import Table, connect
from gleaner.stores.search_leases import SearchLeases
from gleaner_local.aws import ministack
from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.keyword_fixtures import Keywords
from tests.knowledge.searches import Function

pytestmark = pytest.mark.slow

_spawn = multiprocessing.get_context("spawn")
SEARCH_SECONDS = 2.0  # of the web


class Starter:
    """Lets processes begin when all of them are ready."""

    def __init__(self) -> None:
        self.asked_at = utc_now()  # of all: some may be late to search
        self._ready = _spawn.Semaphore(0)
        self._begin = _spawn.Event()

    def wait(self) -> None:
        """Wait in a process until it may begin."""
        self._ready.release()
        assert self._begin.wait(120)

    def start(self, count: int) -> None:
        """Let so many processes begin."""
        for _ in range(count):
            assert self._ready.acquire(timeout=120)
        self._begin.set()


def search(store_url: str, table_name: str, web_url: str, seconds: float, starter: Starter, results: Any) -> None:
    """What each process does: search when all are ready, and report whether it paid."""
    os.environ.update(ministack.CREDENTIALS)
    leases = SearchLeases(Table(connect(endpoint_url=store_url), table_name))
    web = perplexity.connect(base_url=web_url, api_key=lambda: "k", model="m", instructions="i")
    with ThreadPoolExecutor(2) as executor:
        asking = Function(SharedWebSearch(web, leases, SharingLimits(store=20.0)), executor)
        starter.wait()
        found = asking.ask("When was it released?", seconds=seconds, asked_at=starter.asked_at)
        results.put((found.answer, found.is_shared, dict(asking.faults)))


@pytest.fixture
def slow_web() -> Iterator[tuple[ScriptedWeb, str]]:
    web = ScriptedWeb()
    web.finds("In 2026 [1].", result(1, "https://a.example/p", "T"))
    app: ASGIApp = web.app

    async def delayed(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, _after(SEARCH_SECONDS, send))

    server = AsgiServer(delayed)
    server.start()
    yield web, server.url
    server.stop()


def _after(seconds: float, send: Send) -> Send:
    async def send_later(message: Any) -> None:
        if message["type"] == "http.response.start":
            await asyncio.sleep(seconds)
        await send(message)

    return send_later


def begin(count: int, where: Mapping[str, str], seconds: float, results: Any) -> list[BaseProcess]:
    """Start processes that search at once."""
    starter = Starter()
    arguments = (where["store"], where["table"], where["web"], seconds, starter, results)
    processes: list[BaseProcess] = [_spawn.Process(target=search, args=arguments, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    starter.start(count)
    return processes


def test_processes_that_ask_at_once_pay_for_one_search(
    keywords: Keywords, dynamodb_url: str, slow_web: tuple[ScriptedWeb, str]
) -> None:
    web, url = slow_web
    where = {"store": dynamodb_url, "table": keywords.table_name, "web": url}
    results = _spawn.Queue()
    begin(6, where, 20.0, results)
    reports = [results.get(timeout=60) for _ in range(6)]
    assert len(web.requests) == 1
    assert sorted(reports, key=lambda report: report[1]) == [
        ("In 2026 [1].", False, {}),
        *[("In 2026 [1].", True, {})] * 5,
    ]


def test_when_the_process_that_searches_is_killed_another_takes_over(
    keywords: Keywords, dynamodb_url: str, slow_web: tuple[ScriptedWeb, str]
) -> None:
    web, url = slow_web
    where = {"store": dynamodb_url, "table": keywords.table_name, "web": url}
    is_asked, may_answer = threading.Event(), threading.Event()

    def hold() -> None:
        is_asked.set()
        may_answer.wait(60)

    web.before_reply = hold
    results = _spawn.Queue()
    [holder] = begin(1, where, 6.0, results)
    assert is_asked.wait(60)
    os.kill(holder.pid or 0, signal.SIGKILL)
    holder.join(20)
    may_answer.set()
    begin(3, where, 20.0, results)
    reports = [results.get(timeout=60) for _ in range(3)]
    assert len(web.requests) == 2
    assert sorted(report[1] for report in reports) == [False, True, True]
