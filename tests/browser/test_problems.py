"""Whatever fails, the page says so in a sentence and shows a way on."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import MERGING, QUESTION, ask, ask_and_wait, play_answer
from tests.doubles.model_faults import api_error
from tests.doubles.scripted_model import ScriptedModel, calls, says, search

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("failed_requests_are_expected")]

RETRY, EDIT, SETTINGS = "Try again", "Change the question", "Settings"


def refuse(kind: str, status: int, *, more: dict[str, str] | None = None, **headers: str) -> object:
    """A handler of requests that answers with a problem, as the service or API Gateway does."""
    problem = {"type": f"urn:gleaner:problem:{kind}", "title": kind, "status": status, "detail": "No.", "query_id": "r"}
    problem |= more or {}

    def handle(route: Route) -> None:
        route.fulfill(status=status, headers=headers, content_type="application/problem+json", body=json.dumps(problem))

    return handle


@pytest.mark.parametrize(
    ("kind", "status", "sentence", "ways"),
    [
        ("model-unavailable", 503, "The language model cannot be reached", [RETRY, EDIT]),
        ("deadline-exceeded", 504, "There was not enough time", [RETRY, EDIT]),
        ("quota-exceeded", 429, "What you may ask in a day is used up; the settings show what you used.", [SETTINGS]),
        ("throttled", 429, "Too many questions at once.", [RETRY, EDIT]),
        ("unauthorized", 401, "enter an API key", [EDIT, SETTINGS]),
        ("unknown-session", 404, "does not exist any more", [EDIT, "Start a new conversation"]),
        ("a-problem-of-tomorrow", 500, "This did not work. No.", [RETRY, EDIT]),
    ],
)
def test_a_refused_question_says_why_and_what_to_do(
    browser_page: Page, kind: str, status: int, sentence: str, ways: list[str]
) -> None:
    browser_page.route("**/chat/stream", refuse(kind, status))
    ask(browser_page)
    alert = browser_page.get_by_role("alert")
    expect(alert).to_contain_text(sentence)
    expect(alert.get_by_role("button")).to_have_text(ways)
    if EDIT not in ways:
        return
    alert.get_by_role("button", name=EDIT).click()
    expect(browser_page.locator("#question")).to_have_value(QUESTION)
    expect(browser_page.locator(".turn")).to_have_count(0)


def test_what_all_used_up_is_not_said_of_the_reader(browser_page: Page) -> None:
    browser_page.route("**/chat/stream", refuse("quota-exceeded", 429, more={"quota": "environment"}))
    ask(browser_page)
    alert = browser_page.get_by_role("alert")
    expect(alert).to_contain_text("What everybody together may ask here in a day is used up.")
    expect(alert.get_by_role("button")).to_have_count(0)


def test_a_long_wait_is_told_as_a_time(browser_page: Page) -> None:
    headers = {"Retry-After": str(24 * 3600)}
    browser_page.route("**/chat/stream", refuse("quota-exceeded", 429, **headers))
    ask(browser_page)
    tomorrow = datetime.now() + timedelta(days=1)
    expect(browser_page.get_by_role("alert")).to_contain_text(
        f"what you used. Ask again from {tomorrow.day} {tomorrow:%b}, "
    )


def test_a_model_that_is_down_is_asked_again(browser_page: Page, model: ScriptedModel) -> None:
    model.plays(api_error(503, "overloaded"))
    ask(browser_page)
    alert = browser_page.get_by_role("alert")
    expect(alert).to_contain_text("The language model cannot be reached at the moment.")
    play_answer(model)
    alert.get_by_role("button", name=RETRY).click()
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)
    expect(browser_page.locator(".turn")).to_have_count(1)


def test_an_answer_that_is_withdrawn_and_fails_leaves_no_text(browser_page: Page, model: ScriptedModel) -> None:
    model.plays(calls(search(QUESTION)), says("No tool."))
    ask(browser_page)
    expect(browser_page.get_by_role("alert")).to_contain_text("The model did not search as it must.")
    expect(browser_page.locator(".turn .content")).to_be_empty()


def test_a_lost_connection_is_taken_up_without_asking_twice(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    keys = []

    def lose(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            route.fetch()  # the service answers, but nobody hears it
            route.abort("connectionreset")
        else:
            route.continue_()

    browser_page.route("**/chat/stream", lose)
    ask(browser_page)
    alert = browser_page.get_by_role("alert")
    expect(alert).to_contain_text("The connection was lost.")
    asked = len(model.requests)
    alert.get_by_role("button", name=RETRY).click()
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)
    assert keys[0] == keys[1]
    assert len(model.requests) == asked


def test_a_stream_that_ends_early_counts_as_lost(browser_page: Page) -> None:
    start = 'data: {"type":"start","messageId":"m"}\n\ndata: {"type":"text-delta","id":"t","delta":"Half an"}\n\n'
    browser_page.route(
        "**/chat/stream", lambda route: route.fulfill(status=200, content_type="text/event-stream", body=start)
    )
    ask(browser_page)
    expect(browser_page.get_by_role("alert")).to_contain_text("The connection was lost.")


def test_a_conversation_that_is_gone_leads_to_a_new_one(browser_page: Page, page_service: str) -> None:
    browser_page.goto(f"{page_service}/#01M8JQXTEV3QGBETND2TNCCK6E")
    browser_page.reload()
    alert = browser_page.get_by_role("alert")
    expect(alert).to_contain_text("This conversation does not exist any more.")
    alert.get_by_role("button", name="Start a new conversation").click()
    expect(browser_page.locator(".welcome")).to_be_visible()


def test_a_passage_that_is_gone_still_shows_what_was_quoted(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    ask_and_wait(browser_page)
    browser_page.route("**/api/passages/**", refuse("unknown-passage", 404))
    browser_page.locator(".content .mark").click()
    panel = browser_page.locator("#panel")
    expect(panel).to_contain_text("This passage is not there any more.")
    expect(panel).to_contain_text(MERGING)


def test_an_unreachable_service_says_so_everywhere(browser_page: Page) -> None:
    browser_page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    for name in ("Documents", "Learned"):
        browser_page.get_by_role("button", name=name).click()
        expect(browser_page.locator("#panel").get_by_role("alert")).to_contain_text("The connection was lost.")
        browser_page.keyboard.press("Escape")
