"""The page in its main states: no violation that axe-core finds, in both colour schemes, and a picture of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import MERGING, PRUNING, ask, ask_and_wait, play_answer, play_learning
from tests.doubles.model_faults import api_error
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb

pytestmark = pytest.mark.slow

RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}
WIDTHS, SCHEMES = (1280, 640, 320), ("light", "dark")  # 640: a window of 1280 at 200 % zoom


@dataclass(frozen=True, slots=True)
class State:
    """A page in one of its states; `check` finds what is wrong with it."""

    page: Page
    take_picture: Callable[[Page, str], None]
    name: str

    def check(self, state: str) -> None:
        """Require that axe-core finds nothing and that nothing sticks out of the window, and take a picture."""
        self.take_picture(self.page, f"{state}-{self.name}")
        found = Axe().run(self.page, options=RULES).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
        assert self.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    def open_tool(self, name: str) -> None:
        """Open a tool of the sidebar, which a narrow window hides."""
        menu = self.page.get_by_role("button", name="Menu")
        if menu.is_visible():
            menu.click()
        self.page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture(params=[(width, scheme) for width in WIDTHS for scheme in SCHEMES], ids=str)
def state(
    request: pytest.FixtureRequest, open_page: Callable[..., Page], take_picture: Callable[[Page, str], None]
) -> State:
    """A fresh page in one width and one colour scheme."""
    width, scheme = request.param
    page = open_page(viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce")
    return State(page, take_picture, f"{width}-{scheme}")


def test_a_first_visit(state: State) -> None:
    expect(state.page.locator(".suggestion")).to_have_count(3)
    state.check("welcome")
    menu = state.page.get_by_role("button", name="Menu")
    if menu.is_visible():
        menu.click()
        expect(state.page.get_by_role("button", name="New conversation")).to_be_focused()
        state.check("menu")
        state.page.keyboard.press("Escape")
        expect(menu).to_be_focused()


def test_an_answer_and_its_passage(state: State, model: ScriptedModel) -> None:
    table = "\n\n| What | When |\n|---|---|\n| merged | at once |\n\n```\ngleaner ingest docs\n```\n"
    play_answer(model, f"{MERGING} [kb-1] Penguins eat fish. [kb-2]{table}", sources=("kb-1", "kb-2"))
    model.piece_seconds = 0.02
    ask(state.page)
    expect(state.page.locator(".turn .content")).to_contain_text(MERGING)
    state.check("streaming")
    state.page.get_by_role("button", name="Copy the answer").wait_for()
    state.page.locator(".way summary").click()
    state.check("answer")
    state.page.locator(".content .mark").first.click()
    expect(state.page.locator("#panel mark")).to_have_count(1)
    state.check("passage")


def test_a_right_to_left_answer(state: State, model: ScriptedModel) -> None:
    play_answer(model, "تُدمج الكلمات المفتاحية المكررة بكتابة مشروطة. [kb-1]\n\n- أولاً\n- ثانيًا")
    ask_and_wait(state.page, "كيف تُدمج الكلمات المفتاحية المكررة؟")
    item = state.page.locator(".content li").first
    assert item.evaluate("(item) => getComputedStyle(item).direction") == "rtl"
    state.check("right-to-left")


def test_what_was_learned(state: State, model: ScriptedModel, web: ScriptedWeb) -> None:
    play_learning(model, web, "Starlette release")
    ask_and_wait(state.page, "When was Starlette released?")
    state.open_tool("Learned")
    keyword = state.page.locator(".keywords > li").first
    keyword.locator("summary").click()
    expect(keyword.locator(".stored").first).to_be_visible()
    state.page.locator(".prune summary").click()
    state.check("learned")


def test_documents_settings_and_a_pasted_text(state: State) -> None:
    state.open_tool("Documents")
    state.page.locator(".documents summary").first.click()
    expect(state.page.locator(".chunks li").first).to_be_visible()
    state.check("documents")
    state.page.keyboard.press("Escape")
    state.open_tool("Settings")
    state.check("settings")
    state.page.keyboard.press("Escape")
    state.page.get_by_role("button", name="Ask about a text").click()
    state.check("paste")
    state.page.get_by_label("Paste a text to ask about").last.fill(PRUNING)
    state.page.get_by_role("button", name="Ask about this text").click()
    state.check("selection")


@pytest.mark.usefixtures("failed_requests_are_expected")
def test_a_problem(state: State, model: ScriptedModel) -> None:
    model.plays(api_error(503, "overloaded"))
    ask(state.page)
    expect(state.page.get_by_role("alert")).to_be_visible()
    state.check("problem")


def test_nothing_moves_for_those_who_do_not_want_it(open_page: Callable[..., Page], model: ScriptedModel) -> None:
    page = open_page(reduced_motion="reduce")
    play_answer(model)
    model.piece_seconds = 0.1
    ask(page)
    status = page.locator(".status")
    assert status.evaluate("(one) => getComputedStyle(one, '::before').animationName") == "none"


def test_sentences_are_announced_whole_and_once(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model, f"{MERGING} [kb-1]")
    ask_and_wait(browser_page)
    said = browser_page.get_by_role("log").locator("p").all_inner_texts()
    assert " ".join(said) == MERGING
    assert all(sentence.endswith(".") for sentence in said)
