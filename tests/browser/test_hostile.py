"""Whatever a document, a web page or a model says stays text: it runs nothing, loads nothing and breaks no layout."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import ask_and_wait
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.e2e.uploading import load

pytestmark = pytest.mark.slow

RTL_OVERRIDE, ARABIC = "\u202e", "تُدمج الكلمات المفتاحية المكررة بكتابة مشروطة."
SCRIPT = "<script>document.title = 'run'; alert(1)</script><img src=x onerror=\"document.title='run'\">"
MARKUP = f"{SCRIPT} <svg onload=alert(1)> ![picture](https://evil.example/p.png) [link](javascript:alert(1))"
LONG = "x" * 100_000
HOSTILE = f"""# {RTL_OVERRIDE}Hostile {SCRIPT}

## Badgers {MARKUP}

Badgers dig setts. {MARKUP} <style>body {{ display: none }}</style> <iframe src="https://evil.example"></iframe>

{RTL_OVERRIDE}drawkcab si sihT

{ARABIC}

| a | b |
|---|---|
| {MARKUP} | {"wide" * 500} |

## A line

{LONG}
"""
WIDTHS = (1280, 320)


@pytest.fixture(scope="module")
def hostile_base(page_service: str) -> str:
    """The name of a knowledge base with a hostile document."""
    name = "hostile"
    load(page_service, name, "<b>hostile.md", HOSTILE)
    return name


def require_harmless(page: Page, outside: list[Request], width: int) -> None:
    """Nothing ran, nothing was loaded from elsewhere, and nothing sticks out of the window."""
    assert page.title() == "Gleaner"
    assert outside == []
    assert page.locator("script:not([src]), iframe, object, svg, style, main img, #panel img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    hrefs = page.locator("a").evaluate_all("(links) => links.map((link) => link.protocol)")
    assert set(hrefs) <= {"http:", "https:"}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hostile_document_stays_text(
    open_page: Callable[..., Page], hostile_base: str, page_service: str, model: ScriptedModel, width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    outside: list[Request] = []
    page.on("request", lambda request: request.url.startswith(page_service) or outside.append(request))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.evaluate("localStorage.setItem('gleaner.settings', JSON.stringify({ kbId: 'hostile' }))")
    page.reload()
    expect(page.locator(".suggestion").first).to_be_visible()
    require_harmless(page, outside, width)
    model.plays(
        calls(search("badgers")),
        calls(answer(f"{MARKUP} Badgers dig setts. [kb-1]\n\n{ARABIC} [kb-1]\n\n{'y' * 3000}", ("kb-1",))),
    )
    ask_and_wait(page, f"What do badgers dig? {MARKUP} {'z' * 3000}")
    require_harmless(page, outside, width)
    assert (
        page.locator(".content p").filter(has_text="مشروطة").evaluate("(p) => getComputedStyle(p).direction") == "rtl"
    )
    page.locator(".sources .source").first.click()
    panel = page.locator("#panel")
    expect(panel.locator(".text")).to_contain_text(re.compile("dig setts|xxx"))
    require_harmless(page, outside, width)
    while (after := panel.get_by_role("button", name="Next passage")).count():
        after.click()
        expect(panel.locator(".text")).to_be_visible()
        require_harmless(page, outside, width)
        if panel.locator(".text").inner_text().startswith("xxx"):
            break
    page.reload()
    expect(page.locator(".turn")).to_have_count(1)
    require_harmless(page, outside, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hostile_web_page_stays_text(
    open_page: Callable[..., Page], page_service: str, model: ScriptedModel, web: ScriptedWeb, width: int
) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    outside: list[Request] = []
    page.on("request", lambda request: request.url.startswith(page_service) or outside.append(request))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    title = f"{RTL_OVERRIDE}{SCRIPT}"
    web.finds(f"Wombats dig {MARKUP} [1].", result(1, "https://wombats.example/x", title, f"{MARKUP} {LONG}"))
    model.plays(
        calls(search("wombats")),
        calls(web_search("wombats")),
        calls(
            index(f"wombat {width}", "<b>burrow</b>"), answer("Wombats dig. [web-1]", ("web-1",), used_external_kb=True)
        ),
    )
    ask_and_wait(page, f"What do wombats dig at {width}?")
    page.locator(".content .mark").first.click()
    expect(page.locator("#panel")).to_contain_text("From the web")
    require_harmless(page, outside, width)
    page.keyboard.press("Escape")
    if width < 500:
        page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Learned").click()
    keyword = page.locator(".keywords > li").filter(has_text="wombat").first
    keyword.locator("summary").click()
    expect(keyword.locator(".stored").first).to_be_visible()
    require_harmless(page, outside, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_hostile_file_name_stays_text(open_page: Callable[..., Page], page_service: str, width: int) -> None:
    page = open_page(viewport={"width": width, "height": 700})
    outside: list[Request] = []
    page.on("request", lambda request: request.url.startswith(page_service) or outside.append(request))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    if width < 500:
        page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Documents").click()
    name = f"<img src=x onerror=alert({width})>{'n' * 150}.md"
    # The welcome has a place for files, too, which the label alone finds until the panel's list has come.
    page.locator("#panel input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/markdown", "buffer": b"# Moles\n\nMoles dig tunnels.\n"}
    )
    line = page.locator("#panel .uploads li")
    expect(line).to_have_text(f"{name} loaded 1 passage", timeout=120_000)  # the first file starts the function
    expect(page.locator("#panel .documents .where", has_text=f"uploads/{name}")).to_be_visible()
    require_harmless(page, outside, width)
