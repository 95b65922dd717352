"""People ask on the page, see why, follow up, and find their conversations again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import (
    MERGING,
    PRUNING,
    QUESTION,
    accept,
    ask,
    ask_and_wait,
    play_answer,
    play_learning,
)
from tests.doubles.scripted_model import ScriptedModel
from tests.doubles.scripted_web import ScriptedWeb

pytestmark = pytest.mark.slow

BEGINNING = PRUNING[:12]  # of the sentence before which an answer stops
OTHER = "Penguins live at the south pole and eat fish."


def test_an_answer_streams_in_with_the_way_it_took(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model, f"{MERGING} [kb-1]\n\n" * 5 + f"{PRUNING} [kb-1]")
    model.piece_seconds = 0.05  # the API looks at what may be shown now and then, when something comes
    model.hold_at = BEGINNING
    ask(browser_page)
    content = browser_page.locator(".turn .content")
    expect(content).to_contain_text(MERGING)
    expect(browser_page.locator(".sources li")).to_have_count(0)
    assert PRUNING not in content.inner_text()
    way = browser_page.locator(".way")
    assert way.get_attribute("open") is None
    model.go_on.set()
    expect(content).to_contain_text(PRUNING, timeout=30_000)
    expect(browser_page.get_by_role("log")).to_contain_text(PRUNING)
    way.locator("summary").click()
    searched = way.locator(".calls > li").first
    expect(searched).to_contain_text("Knowledge base searched")
    expect(searched.locator("q")).to_have_text(QUESTION)
    expect(searched.locator(".outcome")).to_have_text(re.compile(r"\d results · [\d.]+ s"))
    given = way.locator(".calls > li").last
    expect(given).to_contain_text("Answer given")
    expect(given.locator(".outcome")).to_be_empty()
    expect(searched.locator(".hits")).to_contain_text("How are duplicate keywords merged?")
    expect(way.locator(".totals")).to_contain_text("tokens read")


def test_a_citation_opens_its_passage_with_the_sentence_marked_and_leads_back(
    browser_page: Page, model: ScriptedModel
) -> None:
    play_answer(model, "The second one raises the usage count. [kb-1]")
    ask_and_wait(browser_page)
    citation = browser_page.locator(".content .mark")
    expect(citation).to_have_accessible_name("Source 1: Keywords, supports it")
    citation.press("Enter")
    panel = browser_page.locator("#panel")
    expect(panel.locator("mark")).to_have_text("The second one raises the usage count.")
    expect(panel.locator(".verdict")).to_have_text("supports it")
    expect(panel.get_by_role("heading", name="Keywords", exact=True)).to_be_focused()
    panel.get_by_role("button", name="Next passage").click()
    expect(panel.locator(".text")).to_contain_text(PRUNING)
    browser_page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(citation).to_be_focused()


def test_sources_that_support_nothing_are_last_and_apart(browser_page: Page, model: ScriptedModel) -> None:
    text = f"{OTHER} [kb-2] {MERGING} [kb-1]"
    play_answer(model, text, sources=("kb-1", "kb-2"))
    ask_and_wait(browser_page)
    sections = browser_page.locator(".sources section")
    expect(sections.locator("h3")).to_have_text(["Sources", "Cited, but without support"])
    expect(sections.last.locator(".verdict")).to_have_text("does not support it")
    browser_page.locator(".content .mark.none").click()
    panel = browser_page.locator("#panel")
    expect(panel.locator(".verdict")).to_have_text("does not support it")
    expect(panel.locator("mark")).to_have_count(0)


def test_a_conversation_goes_on_after_a_reload_and_can_be_deleted(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    ask_and_wait(browser_page)
    play_answer(model, f"{PRUNING} [kb-1]")
    ask_and_wait(browser_page, "And when are they pruned?")
    assert any(QUESTION in str(message) for message in model.requests[0]["messages"])
    browser_page.reload()
    turns = browser_page.locator(".turn")
    expect(turns).to_have_count(2)
    expect(turns.last).to_contain_text(PRUNING)
    turns.first.locator(".way summary").click()
    expect(turns.first.locator(".calls li").first).to_contain_text("Knowledge base searched")
    turns.first.locator(".mark").click()
    expect(browser_page.locator("#panel .text")).to_contain_text(MERGING)
    opened = browser_page.locator(".session[aria-current]")
    expect(opened).to_have_text(QUESTION)
    browser_page.on("dialog", accept)
    opened.locator("xpath=..").get_by_role("button", name="Delete").click()
    expect(browser_page.locator(".session[aria-current]")).to_have_count(0)
    expect(browser_page.locator(".welcome")).to_be_visible()
    assert "#" not in browser_page.url


def test_an_answer_that_is_opened_again_shows_the_same_way(
    browser_page: Page, model: ScriptedModel, web: ScriptedWeb
) -> None:
    play_learning(model, web, "starlette reopened")
    ask_and_wait(browser_page, "When was Starlette released?")
    way = browser_page.locator(".way")
    way.locator("summary").click()
    expect(way.locator(".calls > li").nth(1)).to_contain_text("0.0061 USD")
    shown = way.inner_text()
    browser_page.reload()
    way.locator("summary").click()
    expect(way.locator(".calls > li")).to_have_count(4)
    assert way.inner_text() == shown


def test_another_browser_shows_the_titles_of_conversations(
    open_page: Callable[..., Page], model: ScriptedModel
) -> None:
    play_answer(model)
    ask_and_wait(open_page(), "How, then, are duplicates merged?")
    expect(open_page().locator(".session").first).to_have_text("How, then, are duplicates merged?")


def test_each_mark_of_a_source_marks_its_own_sentence(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(
        model, "The second raises the usage count. [kb-1] A write is conditional when keywords are merged. [kb-1]"
    )
    ask_and_wait(browser_page)
    for _ in range(2):
        for number, sentence in enumerate(reversed(MERGING.split(". "))):
            browser_page.locator(".content .mark").nth(number).click()
            expect(browser_page.locator("#panel mark")).to_contain_text(sentence)
        browser_page.reload()


def test_another_conversation_does_not_get_the_rest_of_an_answer(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model, f"{MERGING} [kb-1]\n\n" * 4 + f"{PRUNING} [kb-1]")
    model.piece_seconds = 0.05  # the API looks at what may be shown now and then, when something comes
    model.hold_at = BEGINNING
    ask(browser_page)
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)
    browser_page.get_by_role("button", name="New conversation").click()
    play_answer(model, "Something else. [kb-1]")
    ask_and_wait(browser_page, "Something else?")
    expect(browser_page.locator(".turn")).to_have_count(1)
    expect(browser_page.locator(".turn .content")).to_contain_text("Something else.")


def test_enter_does_not_stop_an_answer_but_the_button_does(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model, f"{MERGING} [kb-1] " * 4 + f"{PRUNING} [kb-1]")
    model.piece_seconds = 0.05  # the API looks at what may be shown now and then, when something comes
    model.hold_at = BEGINNING
    ask(browser_page)
    stop = browser_page.get_by_role("button", name="Stop")
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)
    browser_page.locator("#question").fill("The next question")
    browser_page.keyboard.press("Enter")
    expect(stop).to_be_visible()
    stop.click()
    expect(browser_page.get_by_role("alert")).to_contain_text("Stopped.")
    expect(browser_page.locator("#question")).to_have_value("The next question")


def test_a_strict_question_stays_in_the_documents(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    strict = browser_page.get_by_label("Only from the documents")
    strict.check()
    with browser_page.expect_request("**/chat/stream") as request:
        ask_and_wait(browser_page)
    assert request.value.post_data_json["grounding"] == "strict"
    offered = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert "perplexity_search" not in offered
    browser_page.reload()
    expect(strict).to_be_checked()


@pytest.mark.usefixtures("failed_requests_are_expected")
def test_another_knowledge_base_is_asked_and_named(browser_page: Page) -> None:
    browser_page.get_by_role("button", name="Settings").click()
    browser_page.get_by_label("Knowledge base").fill("another-base")
    browser_page.get_by_label("Knowledge base").press("Tab")
    expect(browser_page.locator(".welcome")).to_contain_text("This knowledge base is empty.")
    expect(browser_page.locator(".options")).to_contain_text("Knowledge base: another-base")
    with browser_page.expect_request("**/chat/stream") as request:
        ask(browser_page)
    assert request.value.post_data_json["kb_id"] == "another-base"
    expect(browser_page.get_by_role("alert")).to_contain_text("There is no such knowledge base.")
    expect(browser_page.get_by_role("alert").get_by_role("button")).to_have_text(["Change the question", "Settings"])


def test_one_asks_about_words_that_one_marks_in_a_passage(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    ask_and_wait(browser_page)
    browser_page.locator(".content .mark").click()
    passage = browser_page.locator("#panel .text")
    passage.locator("mark").first.click(click_count=3)
    browser_page.get_by_role("button", name="Ask about the selection").click()
    expect(browser_page.locator("#question")).to_be_focused()
    expect(browser_page.locator(".selection q")).to_contain_text("Duplicate keywords")
    play_answer(model, "The usage count is raised. [kb-1]")
    with browser_page.expect_request("**/chat/stream") as request:
        ask_and_wait(browser_page, "What is raised?")
    body = request.value.post_data_json
    assert (body["mode"], body["chapter_origin"]) == ("selected_text", "Keywords › How are duplicate keywords merged?")
    assert "raises the usage count" in body["selected_text"]
    expect(browser_page.locator(".selection q")).to_have_count(0)
    browser_page.reload()
    about = browser_page.locator(".turn").last.locator(".about")
    about.locator("summary").click()
    expect(about).to_contain_text("raises the usage count")


def test_one_asks_about_a_text_that_one_pastes(browser_page: Page, model: ScriptedModel) -> None:
    browser_page.get_by_role("button", name="Ask about a text …").click()
    browser_page.get_by_label("Paste a text to ask about").last.fill("Zebras have stripes because of flies.")
    browser_page.get_by_role("button", name="Ask about this text").click()
    play_answer(model, "Because of flies. [kb-1]")
    with browser_page.expect_request("**/chat/stream") as request:
        ask_and_wait(browser_page, "Why do they have stripes?")
    assert request.value.post_data_json["selected_text"] == "Zebras have stripes because of flies."


def test_an_answer_is_rated_with_one_click_and_a_comment(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    ask_and_wait(browser_page)
    with browser_page.expect_request("**/feedback") as first:
        browser_page.get_by_role("button", name="Good answer").click()
    assert first.value.post_data_json["rating"] == 5
    comment = browser_page.get_by_label("What was good or missing?")
    comment.fill("Short and right.")
    with browser_page.expect_response("**/feedback") as second:
        comment.press("Enter")
    assert (second.value.status, second.value.request.post_data_json["comment"]) == (200, "Short and right.")
    expect(browser_page.get_by_role("status").filter(has_text="Thank you")).to_be_visible()


def test_a_first_visit_offers_questions_that_come_from_the_documents(browser_page: Page, model: ScriptedModel) -> None:
    offered = browser_page.locator(".suggestion")
    expect(offered).to_have_text([QUESTION, "When are keywords pruned?", 'What is said about "Rules of storing"?'])
    play_answer(model)
    offered.first.click()
    expect(browser_page.locator(".turn .question")).to_contain_text(QUESTION)
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)


def test_the_whole_way_is_possible_by_keyboard(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    expect(browser_page.locator("#question")).to_be_focused()
    browser_page.keyboard.type(QUESTION)
    browser_page.keyboard.press("Enter")
    browser_page.get_by_role("button", name="Copy the answer").wait_for()
    citation = browser_page.locator(".content .mark")
    for _ in range(20):
        browser_page.keyboard.press("Shift+Tab")
        if citation.evaluate("(mark) => mark === document.activeElement"):
            break
    browser_page.keyboard.press("Enter")
    expect(browser_page.locator("#panel mark")).to_have_count(1)
    browser_page.keyboard.press("Escape")
    expect(citation).to_be_focused()


def test_the_documents_are_listed_with_their_passages(browser_page: Page) -> None:
    browser_page.get_by_role("button", name="Documents").click()
    document = browser_page.locator(".documents > li").filter(has_text="Keywords").first
    document.locator("summary").click()
    expect(document).to_contain_text("handbook/keywords.md")
    document.get_by_role("button", name="When are keywords pruned?").click()
    expect(browser_page.locator("#panel .text")).to_contain_text(PRUNING)
    browser_page.get_by_role("button", name="Close").click()
    expect(browser_page.get_by_role("button", name="Documents")).to_be_focused()


def test_the_page_speaks_german(open_page: Callable[..., Page], model: ScriptedModel) -> None:
    page = open_page(locale="de-AT")
    play_answer(model)
    page.locator("#question").fill("Wie werden Schlagwörter zusammengeführt?")
    page.keyboard.press("Enter")
    expect(page.locator(".sources h3")).to_have_text("Quellen")
    expect(page.locator(".verdict").first).to_have_text("belegt es")
    assert page.locator("html").get_attribute("lang") == "de"
    page.get_by_role("button", name="Einstellungen").click()
    page.get_by_label("Sprache").select_option("en")
    expect(page.get_by_role("button", name="Settings")).to_be_visible()
