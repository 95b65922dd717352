"""Documents come into the local service as into the deployed one: by the bucket, the queue and the ingest function."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.service_process import Service, service
from tests.e2e.uploading import PATIENCE_SECONDS, upload

pytestmark = pytest.mark.slow

LAMPS = b"# Lamps\n\nThe lamp keeper trims the wick every morning at five.\n"


def wait_until(condition: Callable[[], object], running: Service) -> None:
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, running.log.read_text()
        time.sleep(0.2)


def document(running: Service, document_id: str) -> dict[str, Any]:
    response = httpx.get(f"{running.url}/api/documents/{document_id}", timeout=30)
    assert response.status_code in (200, 404), response.text
    found: dict[str, Any] = response.json().get("document", {})
    return found


def states(running: Service) -> dict[str, str | None]:
    """The state of each document, by its name."""
    page = httpx.get(f"{running.url}/api/documents", params={"limit": 100}, timeout=30).json()
    return {one["source_file_path"]: one["state"] for one in page["documents"]}


def test_an_upload_is_searchable_and_a_removed_document_is_not(tmp_path: Path) -> None:
    with service(tmp_path / "data") as running:
        lamps = upload(running.url, "lamps.md", LAMPS)
        broken = upload(running.url, "broken.pdf", b"no PDF")
        wait_until(lambda: document(running, lamps).get("state") == "loaded", running)
        wait_until(lambda: document(running, broken).get("state") == "skipped", running)
        assert document(running, broken)["reason"]
        assert "lamps.md" in running.ask("When does the lamp keeper trim the wick?").text
        removed = httpx.delete(f"{running.url}/api/documents/{lamps}", timeout=30)
        assert removed.status_code in (200, 202), removed.text
        wait_until(lambda: "uploads/lamps.md" not in states(running), running)
        assert "lamps.md" not in running.ask("When does the lamp keeper trim the wick?").text


def test_the_gateway_hands_nothing_but_forms_to_the_bucket(tmp_path: Path) -> None:
    with service(tmp_path / "data") as running:
        offer = httpx.post(f"{running.url}/api/documents", json={"name": "lamps.md"}, timeout=30).json()
        assert httpx.get(offer["url"], timeout=30).status_code == 405
        assert httpx.put(f"{offer['url']}/default_kb/x.md", content=b"x", timeout=30).status_code == 405
        forged = httpx.post(offer["url"], data={"key": "default_kb/x.md"}, files={"file": ("x.md", LAMPS)}, timeout=30)
        assert (forged.status_code, "AccessDenied" in forged.text) == (403, True)
        foreign = httpx.post(
            offer["url"], data=offer["fields"], files={"file": LAMPS}, headers={"origin": "https://evil.example"}
        )
        assert foreign.status_code == 403


def test_a_watched_directory_is_followed_across_a_kill(tmp_path: Path) -> None:
    guide = tmp_path / "guide"
    guide.mkdir()
    for number in range(12):
        text = f"The keeper of lamp {number} is called K{number}. " * 40
        (guide / f"{number}.md").write_text(f"# Part {number}\n\n{text}")
    (guide / "broken.pdf").write_text("no PDF")
    options = ("--watch", str(guide))
    with service(tmp_path / "data", *options) as running:
        wait_until(lambda: "loaded" in states(running).values(), running)
        running.kill_everything()
    (guide / "0.md").unlink()
    (guide / "1.md").write_text("# Part 1\n\nThe keeper of lamp 1 is called Hannah now.\n")
    with service(tmp_path / "data", *options) as running:
        expected = {f"guide/{number}.md": "loaded" for number in range(1, 12)} | {"guide/broken.pdf": "skipped"}
        wait_until(lambda: states(running) == expected, running)
        assert "Hannah" in running.ask("Who is the keeper of lamp 1?").text
        [ingest] = running.children("spawn_main")[-1:]
        os.kill(ingest, signal.SIGKILL)  # perhaps of the ingest function, perhaps of the query function
        (guide / "2.md").unlink()
        del expected["guide/2.md"]
        wait_until(lambda: states(running) == expected, running)
        said = running.log.read_text()
    assert "guide/broken.pdf: skipped" in said and "guide/2.md: removed" in said


def test_two_services_may_watch_one_directory(tmp_path: Path) -> None:
    guide = tmp_path / "guide"
    guide.mkdir()
    (guide / "lamps.md").write_bytes(LAMPS)
    options = ("--watch", str(guide))
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with service(tmp_path / "one" / "data", *options) as one, service(tmp_path / "two" / "data", *options) as two:
        expected = {"guide/lamps.md": "loaded"}
        wait_until(lambda: states(one) == states(two) == expected, two)
