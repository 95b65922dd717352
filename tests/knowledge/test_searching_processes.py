"""Processes that search the web for the same at once, with the clients that the service makes."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from gleaner.clients import perplexity
from gleaner.knowledge.shared_web_search import SharedWebSearch, SharingLimits
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


def search(store_url: str, table_name: str, web_url: str, seconds: float, start: Any, results: Any) -> None:
    """What each process does: search when all are ready, and report whether it paid."""
    os.environ.update(ministack.CREDENTIALS)
    leases = SearchLeases(Table(connect(endpoint_url=store_url), table_name))
    web = perplexity.connect(base_url=web_url, api_key=lambda: "k", model="m", instructions="i")
    with ThreadPoolExecutor(2) as executor:
        asking = Function(SharedWebSearch(web, leases, SharingLimits(store=20.0)), executor)
        start.wait(60)
        found = asking.ask("When was it released?", seconds=seconds)
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


def begin(count: int, where: Mapping[str, str], seconds: float, start: Any, results: Any) -> list[BaseProcess]:
    arguments = (where["store"], where["table"], where["web"], seconds, start, results)
    processes: list[BaseProcess] = [_spawn.Process(target=search, args=arguments, daemon=True) for _ in range(count)]
    for process in processes:
        process.start()
    return processes


def test_processes_that_ask_at_once_pay_for_one_search(
    keywords: Keywords, dynamodb_url: str, slow_web: tuple[ScriptedWeb, str]
) -> None:
    web, url = slow_web
    where = {"store": dynamodb_url, "table": keywords.table_name, "web": url}
    start, results = _spawn.Event(), _spawn.Queue()
    begin(6, where, 20.0, start, results)
    time.sleep(5)
    start.set()
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
    started, results = _spawn.Event(), _spawn.Queue()
    started.set()
    [holder] = begin(1, where, 4.0, started, results)
    deadline = time.monotonic() + 60
    while not web.requests and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(holder.pid or 0, signal.SIGKILL)
    holder.join(20)
    begin(3, where, 20.0, started, results)
    reports = [results.get(timeout=60) for _ in range(3)]
    assert len(web.requests) == 2
    assert sorted(report[1] for report in reports) == [False, True, True]
