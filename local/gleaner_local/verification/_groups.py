"""Checks that nobody finds a document of another group, with two invented documents in a knowledge base of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import urljoin

import httpx

from gleaner.api.documents import DocumentDetails, DocumentList
from gleaner.api.uploads import UploadFormItem
from gleaner.model import DocumentState, new_id
from gleaner_local.clients.http_api import CallFailed
from gleaner_local.verification._probe import CheckFailed, Probe, expect

_KB_ID = "gleaner-verification"
_PATH = "/api/documents"
_QUESTION = "What is the code of the lamp room at Velmora Point?"
_LOADING_SECONDS = 90.0
_POLL_SECONDS = 0.5
_LASTING = (DocumentState.LOADED, DocumentState.SKIPPED, DocumentState.FAILED)
_NO_UPLOADS: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: "the service takes no uploads",
    HTTPStatus.METHOD_NOT_ALLOWED: "the service takes no uploads",
    HTTPStatus.FORBIDDEN: f"the caller may not upload documents into the knowledge base {_KB_ID}",
}


def check_groups(probe: Probe, other: Probe | None) -> str:
    """A document of a group that the caller is not in is not found; `other` does not see that it exists either."""
    mark = new_id()
    restricted, public = f"restricted-{mark}".lower(), f"public-{mark}".lower()
    codes = {restricted: f"7{mark[-6:]}", public: f"4{mark[-6:]}"}
    with (
        _uploaded(probe, restricted, codes[restricted], [f"nobody-{mark}"]) as hidden,
        _uploaded(probe, public, codes[public], None) as shown,
    ):
        answer = probe.ask(_QUESTION, kb_id=_KB_ID, grounding="strict")
        calls = probe.read_tool_calls(answer.query_id, answer.tool_call_count)
        found = " ".join([answer.model_dump_json(), *(call.model_dump_json() for call in calls)])
        expect(codes[restricted] not in found, "a question found the document of another group")
        expect(codes[public] in found, "a question did not find the document that is for all callers")
        if other is not None:
            _check_list(other, hidden=hidden, shown=shown)
    listed = "" if other is None else ", nor listed for another caller"
    return f"a document of another group was not found{listed}; one without groups was"


def _check_list(other: Probe, *, hidden: str, shown: str) -> None:
    page = other.call("GET", _PATH, DocumentList, params={"kb_id": _KB_ID, "limit": "100"})
    listed = [one.document_id for one in page.documents]
    expect(hidden not in listed, "the list of documents names one of another group")
    expect(shown in listed or page.next_cursor is not None, "the list of documents lacks one that is for all callers")
    path = f"{_PATH}/{hidden}"
    other.expect_refusal("GET", path, HTTPStatus.NOT_FOUND, "unknown-document", params={"kb_id": _KB_ID})


@contextmanager
def _uploaded(probe: Probe, name: str, code: str, groups: list[str] | None) -> Iterator[str]:
    """A document while it is loaded; yields its id. Raises Skipped if the service lets the caller upload none."""
    upload = {"name": f"{name}.md", "kb_id": _KB_ID, "groups": groups}
    form = probe.call("POST", _PATH, UploadFormItem, status=HTTPStatus.CREATED, skipping=_NO_UPLOADS, json=upload)
    path = f"{_PATH}/{form.document_id}"
    _send(urljoin(probe.url, form.url), form, f"# The lamp room\n\n{_QUESTION} The code is {code}.\n")
    try:
        _wait(probe, path)
        yield form.document_id
    finally:
        probe.delete(path, params={"kb_id": _KB_ID})


def _send(url: str, form: UploadFormItem, text: str) -> None:
    try:
        response = httpx.post(url, data=form.fields, files={"file": ("document.md", text.encode(), "text/markdown")})
    except httpx.HTTPError as error:
        raise CallFailed(f"the upload failed ({type(error).__name__})") from error
    expect(response.is_success, f"the upload has the status {response.status_code}")


def _wait(probe: Probe, path: str) -> None:
    """Return when the document is loaded. Raises CheckFailed if it is not, or takes too long."""
    give_up_at = time.monotonic() + _LOADING_SECONDS
    while time.monotonic() < give_up_at:
        document = probe.call("GET", path, DocumentDetails, params={"kb_id": _KB_ID}).document
        if document.state in _LASTING:
            expect(document.state is DocumentState.LOADED, f"the document was {document.state}: {document.reason}")
            return
        time.sleep(_POLL_SECONDS)
    raise CheckFailed(f"a document of one line was not loaded within {_LOADING_SECONDS:.0f} seconds")
