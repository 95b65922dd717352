"""On one's own machine, the page takes documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import accept, ask_and_wait
from tests.e2e.commands import serving

pytestmark = pytest.mark.slow

ZEBRAS = "# Zebras\n\n## Why do zebras have stripes?\n\nZebras have stripes because flies avoid them.\n"


@pytest.fixture(scope="module")
def empty_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service without documents and with the model of this machine."""
    with serving(tmp_path_factory.mktemp("empty") / "data") as address:
        yield address


def test_documents_are_loaded_from_an_empty_page_on_and_answer_questions(
    open_page: Callable[..., Page],
    empty_service: str,
    tmp_path: Path,
    take_picture: Callable[[Page, str], None],
    failed_requests_are_expected: None,
) -> None:
    page = open_page(empty_service)
    welcome = page.locator(".welcome")
    expect(welcome).to_contain_text("This knowledge base is empty.")
    names = {"zebras.md": ZEBRAS, "picture.png": "no text", "broken.pdf": "not a PDF", "empty.md": ""}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    page.get_by_label("Choose files").set_input_files([tmp_path / name for name in names])
    progress = welcome.locator(".uploads")
    expect(progress).to_contain_text("4 files are done.", timeout=180_000)  # the first file starts the function
    take_picture(page, "uploads")
    expect(progress.locator("li.loaded")).to_have_text("zebras.md loaded 1 passage")
    skipped = progress.locator("li.skipped")
    expect(skipped).to_have_count(3)
    expect(skipped.nth(0)).to_contain_text("picture.png skipped: The file has no known file type; known are .csv")
    expect(skipped.nth(1)).to_contain_text("broken.pdf skipped: ")
    expect(skipped.nth(2)).to_have_text("empty.md skipped: The file is empty.")
    suggestion = page.locator(".suggestion").first
    expect(suggestion).to_have_text("Why do zebras have stripes?")
    suggestion.click()
    expect(page.locator(".turn .content")).to_contain_text("because flies avoid them")
    expect(page.locator(".sources .verdict")).to_have_text("supports it")


def test_files_are_dropped_and_a_file_that_misses_does_not_replace_the_page(
    open_page: Callable[..., Page], empty_service: str
) -> None:
    page = open_page(empty_service)
    page.get_by_role("button", name="Documents").click()
    files = page.evaluate_handle(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["# Okapis\\n\\nOkapis live in the forest.\\n"], "okapis.md"));
          return data;
        }"""
    )
    page.locator("main").dispatch_event("drop", {"dataTransfer": files})
    expect(page.locator("#question")).to_be_visible()
    page.locator("#panel .drop").dispatch_event("drop", {"dataTransfer": files})
    expect(page.locator("#panel .uploads")).to_contain_text("okapis.md loaded 1 passage", timeout=120_000)
    expect(page.locator(".documents")).to_contain_text("Okapis")
    ask_and_wait(page, "Where do okapis live?")
    expect(page.locator(".turn .content")).to_contain_text("in the forest")


@pytest.mark.parametrize(("locale", "label"), [("en-GB", "Remove"), ("de-DE", "entfernen")])
def test_an_uploaded_document_is_removed_by_keyboard_once_that_is_confirmed(
    open_page: Callable[..., Page],
    empty_service: str,
    tmp_path: Path,
    locale: str,
    label: str,
    failed_requests_are_expected: None,  # the page asks for the document until it is gone
) -> None:
    page = open_page(empty_service, locale=locale)
    (tmp_path / "quaggas.md").write_text("# Quaggas\n\nQuaggas lived in the south.\n")
    page.locator(".tools button").first.click()
    panel = page.locator("#panel")
    panel.locator("input[type=file]").set_input_files(tmp_path / "quaggas.md")
    quaggas = panel.locator(".documents > li.loaded", has_text="Quaggas")
    expect(quaggas).to_have_count(1, timeout=120_000)
    opener = quaggas.get_by_role("button", name=label)
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    quaggas.locator("summary").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(opener).to_be_focused()
    assert "Quaggas" in asked[0] and asked[0].endswith("\nuploads/quaggas.md")
    page.once("dialog", accept)
    with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        page.keyboard.press("Enter")
    assert deleted.value.status == 202
    expect(quaggas).to_have_count(0, timeout=120_000)
    expect(panel.locator("h2")).to_be_focused()


def fulfill_list(page: Page, *, may_edit: bool) -> None:
    """Answer the list of documents with one for each state."""
    states = {
        "queued": None,
        "loading": None,
        "loaded": None,
        "skipped": "is broken <b>",
        "failed": "The index is full.",
    }
    documents = [
        {
            **{"document_id": state, "title": f"{state}.md", "source_file_path": f"uploads/{state}.md"},
            **{"state": state, "reason": reason, "chunk_count": 1, "loaded_at": None},
        }
        for state, reason in states.items()
    ]
    body = {"documents": documents, "next_cursor": None, "may_edit": may_edit}
    page.route("**/api/documents?*", lambda route: route.fulfill(json=body))
    page.route("**/api/documents", lambda route: route.fulfill(json=body))


def test_the_list_shows_states_and_what_fails_is_told(
    open_page: Callable[..., Page], empty_service: str, failed_requests_are_expected: None
) -> None:
    page = open_page(empty_service)
    fulfill_list(page, may_edit=True)
    page.get_by_role("button", name="Documents").click()
    listed = page.locator(".documents > li")
    expect(listed).to_have_count(5)
    places = listed.locator("summary .where")
    expect(places.nth(2)).to_have_text("uploads/loaded.md")
    expect(places.nth(3)).to_have_text("skipped: is broken <b> · uploads/skipped.md")
    removers = page.locator(".documents > li > button")
    expect(removers).to_have_count(5)
    page.once("dialog", accept)
    removers.first.click()
    expect(page.locator(".documents .problem").last).to_contain_text("holds no such document")
    expect(removers.first).to_be_focused()


def test_who_may_not_upload_sees_no_place_for_files(open_page: Callable[..., Page], empty_service: str) -> None:
    page = open_page(empty_service)
    fulfill_list(page, may_edit=False)
    page.get_by_role("button", name="Documents").click()
    expect(page.locator(".documents > li")).to_have_count(5)
    expect(page.locator("#panel .load")).to_contain_text("gleaner ingest")
    expect(page.locator("#panel .drop")).to_have_count(0)
    expect(page.locator(".documents > li > button")).to_have_count(0)


@pytest.mark.parametrize(
    ("code", "said"),
    [("AccessDenied", "The storage does not take it."), ("EntityTooLarge", "The file is larger than 50 MB.")],
)
def test_what_the_storage_refuses_is_told(
    open_page: Callable[..., Page], empty_service: str, code: str, said: str, failed_requests_are_expected: None
) -> None:
    page = open_page(empty_service)
    page.route(
        "**/gleaner-documents",
        lambda route: route.fulfill(status=403, body=f"<Error><Code>{code}</Code></Error>", content_type="text/xml"),
    )
    page.get_by_role("button", name="Documents").click()
    late = {"name": "late.md", "mimeType": "text/markdown", "buffer": b"# Late"}
    page.locator("#panel input[type=file]").set_input_files([late])
    expect(page.locator("#panel .uploads li")).to_contain_text(f": {said}")
