"""Uploads documents as the page does."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlsplit

import httpx

PATIENCE_SECONDS = 180.0


def upload(url: str, name: str, content: bytes, **more: Any) -> str:
    """Send a file to the service at `url`, with more fields of the request for a form; returns its document's id."""
    offer = httpx.post(f"{url}/api/documents", json={"name": name, **more}, timeout=30)
    assert offer.status_code == 201, offer.text
    form = offer.json()
    assert urlsplit(form["url"]).netloc == urlsplit(url).netloc  # a tunnel passes on that port alone
    sent = httpx.post(form["url"], data=form["fields"], files={"file": (name, content)}, timeout=60)
    assert sent.status_code == 204, sent.text
    return str(form["document_id"])


def load(url: str, kb_id: str, name: str, text: str) -> None:
    """Upload a document and wait until it is loaded."""
    document_id = upload(url, name, text.encode(), kb_id=kb_id)
    ends_at = time.monotonic() + PATIENCE_SECONDS
    state = None
    while state != "loaded":
        assert time.monotonic() < ends_at, state
        time.sleep(0.2)
        found = httpx.get(f"{url}/api/documents/{document_id}", params={"kb_id": kb_id}, timeout=30)
        state = found.json().get("document", {}).get("state")
