"""Runs `gleaner serve` as a process that a test may look into and kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.e2e.commands import ENVIRONMENT, GLEANER

_START_SECONDS = 240  # for a machine that does much else


class Service:
    """A `gleaner serve` process that a test may kill."""

    def __init__(self, data_dir: Path, *options: str, files: int | None = None, **variables: str) -> None:
        self.data_dir = data_dir
        self.log = data_dir.parent / "serve.log"
        command = [str(GLEANER), "serve", "--port", "0", "--data-dir", str(data_dir), *options]
        if files is not None:
            command = ["prlimit", f"--nofile={files}:{files}", *command]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=ENVIRONMENT | variables)
        self.url = self._wait_for_url()

    def ask(self, query: str = "What is Starlette?", **body: str) -> httpx.Response:
        return httpx.post(f"{self.url}/api/chat/query", json={"query": query, **body}, timeout=180)

    def health(self) -> tuple[int, Any]:
        response = httpx.get(f"{self.url}/api/health", timeout=30)
        return response.status_code, response.json()

    def children(self, part_of_command: str) -> list[int]:
        """The ids of processes that this one started and whose command holds a text."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(pid) for task in tasks for pid in task.read_text().split()]
        return [pid for pid in pids if part_of_command in Path(f"/proc/{pid}/cmdline").read_text()]

    def kill_everything(self) -> None:
        for pid in (self.process.pid, *self.children("")):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def _wait_for_url(self) -> str:
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                state = json.loads((self.data_dir / "running.json").read_text())
                httpx.get(f"{state['url']}/api/health", timeout=30)
            except (OSError, ValueError, httpx.HTTPError):
                time.sleep(0.05)
            else:
                return str(state["url"])
        raise AssertionError(self.log.read_text())


@contextmanager
def service(data_dir: Path, *options: str, **variables: Any) -> Iterator[Service]:
    running = Service(data_dir, *options, **variables)
    try:
        yield running
    finally:
        running.stop()
