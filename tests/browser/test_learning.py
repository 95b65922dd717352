"""People see on the page what the web taught, and administrators prune and restore it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import ask_and_wait, play_learning
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb

pytestmark = pytest.mark.slow

MOMENT = 1e-6  # days: what was learned a moment ago is older


@pytest.fixture
def learned_page(browser_page: Page, model: ScriptedModel, web: ScriptedWeb, page_service: str) -> Iterator[Page]:
    """A page that has learned from the web, open at what it learned."""
    play_learning(model, web, "Starlette release", "release year")
    ask_and_wait(browser_page, "When was Starlette released?")
    browser_page.get_by_role("button", name="Learned").click()
    yield browser_page
    rules = {"max_age_days": MOMENT, "min_usage": 1000, "dry_run": False}
    httpx.post(f"{page_service}/api/keywords/prune", json=rules, headers={"x-api-key": "admin"}).raise_for_status()


def use_key(page: Page, key: str) -> None:
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use this key").click()
    page.get_by_role("button", name="Learned").click()


def open_pruning(page: Page) -> None:
    page.locator(".prune summary").click()
    page.get_by_label("Unused for days").fill(str(MOMENT))
    page.get_by_label("Used less than").fill("1000")


def test_keywords_are_shown_with_their_answers_and_uses(learned_page: Page) -> None:
    keyword = learned_page.locator(".keywords > li").filter(has_text="Starlette release")
    expect(keyword).to_contain_text("used")
    keyword.locator("summary").click()
    stored = keyword.locator(".stored").first  # other tests teach the same
    expect(stored).to_contain_text("Starlette was released in 2026")
    link = stored.get_by_role("link", name="Release notes")
    expect(link).to_have_attribute("href", "https://starlette.dev/release")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


def test_the_way_says_what_the_web_search_cost(learned_page: Page) -> None:
    learned_page.keyboard.press("Escape")
    learned_page.locator(".way summary").click()
    searched = learned_page.locator(".calls > li").filter(has_text="Web searched")
    expect(searched.locator(".outcome")).to_contain_text("about 0.0061 USD")


def test_a_source_from_the_web_opens_with_its_page(learned_page: Page) -> None:
    learned_page.locator(".content .mark").first.click()
    panel = learned_page.locator("#panel")
    expect(panel).to_contain_text("From the web")
    expect(panel.get_by_role("link", name="Open where it is published")).to_be_visible()


@pytest.mark.usefixtures("failed_requests_are_expected")
def test_only_administrators_prune(learned_page: Page) -> None:
    open_pruning(learned_page)
    learned_page.get_by_role("button", name="Show what would go").click()
    expect(learned_page.get_by_role("alert")).to_contain_text("You may not do this")


def test_an_administrator_sees_what_would_go_prunes_and_restores(learned_page: Page) -> None:
    use_key(learned_page, "admin")
    open_pruning(learned_page)
    report = learned_page.locator(".prune [role=status]")
    learned_page.get_by_role("button", name="Show what would go").click()
    expect(report).to_contain_text("keywords would be pruned.")
    keywords = learned_page.locator(".keywords > li")
    count = keywords.count()
    assert count > 0
    expect(report.locator("li")).to_have_count(count)
    learned_page.get_by_role("button", name="Prune now").click()
    expect(report).to_contain_text("keywords were pruned.")
    expect(keywords).to_have_count(0)
    learned_page.reload()
    learned_page.get_by_role("button", name="Learned").click()
    learned_page.locator(".prune summary").click()
    learned_page.get_by_role("button", name="Restore them").click()
    expect(report).to_contain_text("keywords were restored.")
    expect(keywords).to_have_count(count)
