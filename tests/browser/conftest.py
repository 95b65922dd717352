"""A real browser on the page of a running local service, whose model and web are scripted."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, expect, sync_playwright

from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.e2e.commands import serving_scripted

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PICTURES = Path(__file__).parents[2] / "build" / "pictures"
MERGING = "Duplicate keywords are merged by a conditional write. The second one raises the usage count."
PRUNING = "Keywords are pruned when nobody used them for ninety days."
DOCUMENT = f"""# Keywords

## How are duplicate keywords merged?

{MERGING}

## When are keywords pruned?

{PRUNING}

## Rules of storing

Every keyword is stored with its usage count and the time of its last use.
"""
QUESTION = "How are duplicate keywords merged?"
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", ({ violatedDirective, sample }) => {
  console.error(`CSP: ${violatedDirective} ${sample}`);
});
"""
NO_BROWSER = "No Chromium is installed, so the page was NOT tested in a browser. On Debian: apt-get install chromium"

expect.set_options(timeout=30_000)  # milliseconds; a loaded machine is no failure


def find_browser() -> str | None:
    """The path of a Chromium that is installed here, or None."""
    named = os.environ.get("CHROMIUM", "")
    return next((path for name in (named, *BROWSERS) if name and (path := shutil.which(name))), None)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium without a window. Where there is none, the tests are skipped, and the summary says so."""
    path = find_browser()
    if path is None:
        warnings.warn(NO_BROWSER, stacklevel=1)
        pytest.skip(NO_BROWSER)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="package")
def page_service(
    tmp_path_factory: pytest.TempPathFactory,
    scripted_model_server: tuple[ScriptedModel, str],
    scripted_web_server: tuple[ScriptedWeb, str],
) -> Iterator[str]:
    """The address of a local service with one document."""
    directory = tmp_path_factory.mktemp("page")
    with serving_scripted(directory, DOCUMENT, scripted_model_server[1], scripted_web_server[1]) as address:
        yield address


@pytest.fixture
def failed_requests_are_expected() -> None:
    """For a test whose requests fail: the browser itself writes each of them to the console."""


@pytest.fixture
def errors() -> list[str]:
    """What the console and the page complained about."""
    return []


@pytest.fixture
def open_page(
    browser: Browser, page_service: str, errors: list[str], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Opens fresh pages, each with a browser profile of its own; options are those of a browser context."""
    is_failing = failed_requests_are_expected.__name__ in request.fixturenames
    contexts = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and not (is_failing and "Failed to load resource" in message.text):
            errors.append(message.text)

    def open_one(address: str = page_service, **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **options})
        contexts.append(context)
        context.add_init_script(REPORT_VIOLATIONS)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", listen)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.locator("#question").wait_for()
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert errors == []


@pytest.fixture
def browser_page(open_page: Callable[..., Page]) -> Page:
    """A fresh page. At its end, the test fails if the console has an error, or the policy of the page was violated."""
    return open_page()


@pytest.fixture
def take_picture() -> Callable[[Page, str], None]:
    """Writes a picture of a page to build/pictures, for people to look at."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.screenshot(path=PICTURES / f"{name}.png")

    return take


def ask(page: Page, question: str = QUESTION) -> None:
    """Ask, as a person at a keyboard does."""
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")


def ask_and_wait(page: Page, question: str = QUESTION) -> None:
    """Ask, and wait for the end of the answer."""
    turns = page.locator(".turn")
    count = turns.count()
    ask(page, question)
    turns.nth(count).get_by_role("button", name="Copy the answer").wait_for()


def accept(dialog: Dialog) -> None:
    """Confirm what the page asks."""
    dialog.accept()


def play_answer(model: ScriptedModel, text: str = f"{MERGING} [kb-1]", *, sources: tuple[str, ...] = ("kb-1",)) -> None:
    """Let the model search the knowledge base and give this answer, which streams as its sources are named first."""
    name, arguments = answer(text, sources)
    model.plays(calls(search(QUESTION)), calls((name, {"sources": arguments.pop("sources"), **arguments})))


def play_learning(model: ScriptedModel, web: ScriptedWeb, *keywords: str) -> None:
    """Let the model find the answer on the web and learn these keywords."""
    web.finds("Starlette was released in 2026 [1].", result(1, "https://starlette.dev/release", "Release notes"))
    assert isinstance(web.reply, dict)
    web.reply["usage"]["cost"] = {"currency": "USD", "total_cost": 0.0061}
    model.plays(
        calls(search("starlette")),
        calls(web_search()),
        calls(index(*keywords), answer("Starlette was released in 2026. [web-1]", ("web-1",), used_external_kb=True)),
    )
