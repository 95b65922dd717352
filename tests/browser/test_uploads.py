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
    open_page: Callable[..., Page], empty_service: str, tmp_path: Path
) -> None:
    page = open_page(empty_service)
    welcome = page.locator(".welcome")
    expect(welcome).to_contain_text("This knowledge base is empty.")
    names = {"zebras.md": ZEBRAS, "picture.png": "no text", "broken.pdf": "not a PDF"}
    for name, text in names.items():
        (tmp_path / name).write_text(text)
    page.get_by_label("Choose files").set_input_files([tmp_path / name for name in names])
    progress = welcome.locator(".uploads")
    expect(progress).to_contain_text("3 files are done.")
    expect(progress.locator("li.loaded")).to_have_text("zebras.md loaded 1 passage")
    expect(progress.locator("li.skipped")).to_have_count(2)
    expect(progress.locator("li.skipped").first).to_contain_text("picture.png skipped: has no known file type")
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
    expect(page.locator("#panel .uploads")).to_contain_text("okapis.md loaded 1 passage")
    expect(page.locator(".documents")).to_contain_text("Okapis")
    ask_and_wait(page, "Where do okapis live?")
    expect(page.locator(".turn .content")).to_contain_text("in the forest")


@pytest.mark.parametrize(("locale", "label"), [("en-GB", "Remove"), ("de-DE", "entfernen")])
def test_an_uploaded_document_is_removed_by_keyboard_once_that_is_confirmed(
    open_page: Callable[..., Page], empty_service: str, tmp_path: Path, locale: str, label: str
) -> None:
    page = open_page(empty_service, locale=locale)
    (tmp_path / "quaggas.md").write_text("# Quaggas\n\nQuaggas lived in the south.\n")
    page.locator(".tools button").first.click()
    panel = page.locator("#panel")
    panel.locator("input[type=file]").set_input_files(tmp_path / "quaggas.md")
    quaggas = panel.locator(".documents > li", has_text="Quaggas")
    opener = quaggas.get_by_role("button", name=label)
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    quaggas.locator("summary").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(opener).to_be_focused()
    assert "Quaggas" in asked[0]
    page.once("dialog", accept)
    with page.expect_response(lambda response: response.request.method == "DELETE") as deleted:
        page.keyboard.press("Enter")
    assert deleted.value.status == 204
    expect(quaggas).to_have_count(0)
    expect(panel.locator("h2")).to_be_focused()


def test_only_uploaded_documents_can_be_removed_and_what_fails_is_told(
    open_page: Callable[..., Page], empty_service: str, failed_requests_are_expected: None
) -> None:
    page = open_page(empty_service)
    facts = {"chunk_count": 1, "loaded_at": None}
    paths = ("docs/a.md", "uploads/b.md", "uploads/old/c.md")
    documents = [{"document_id": path, "title": path, "source_file_path": path, **facts} for path in paths]
    page.route("**/api/documents*", lambda route: route.fulfill(json={"documents": documents, "next_cursor": None}))
    page.get_by_role("button", name="Documents").click()
    removers = page.locator(".documents > li > button")
    expect(removers).to_have_count(1)
    page.once("dialog", accept)
    removers.click()
    expect(page.locator(".documents .problem")).to_contain_text("holds no document uploads/b.md")
    expect(removers).to_be_focused()
