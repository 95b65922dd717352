"""The page goes on where the browser keeps nothing, the line is down, tabs are many, or texts are unusual."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MERGING, PRUNING, QUESTION, ask, ask_and_wait, play_answer
from tests.browser.test_hostile import require_harmless
from tests.doubles.scripted_model import ScriptedModel, answer, calls, index, search
from tests.doubles.scripted_model import web as web_search
from tests.doubles.scripted_web import ScriptedWeb, result
from tests.e2e.uploading import load

pytestmark = pytest.mark.slow

WITHOUT_STORAGE = """
for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("forbidden", "SecurityError"); } });
"""
FULL_STORAGE = 'Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };'
ARABIC = "تُدمج الكلمات المفتاحية المكررة بكتابة مشروطة."
CHINESE = "重复的关键词通过条件写入合并。第二个会增加使用次数。"


@pytest.mark.parametrize("script", [WITHOUT_STORAGE, FULL_STORAGE])
def test_the_page_works_where_the_browser_keeps_nothing(
    open_page: Callable[..., Page], model: ScriptedModel, script: str
) -> None:
    page = open_page()
    page.context.add_init_script(script)
    page.reload()
    page.get_by_label("Only from the documents").check()
    play_answer(model)
    ask_and_wait(page)
    page.get_by_role("button", name="Settings").click()
    page.get_by_label("Ask past stored web answers").check()
    page.get_by_label("API key").fill("reader")
    page.get_by_role("button", name="Use this key").click()
    expect(page.locator(".sessions")).to_contain_text("No conversations yet.")  # those of the other key


def test_a_lost_line_is_told_and_the_question_can_be_asked_again(
    open_page: Callable[..., Page], model: ScriptedModel, failed_requests_are_expected: None
) -> None:
    page = open_page()
    page.context.set_offline(True)
    ask(page)
    expect(page.locator(".turn .problem")).to_contain_text("The connection was lost.")
    page.context.set_offline(False)
    play_answer(model)
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".turn .content")).to_contain_text(MERGING)
    expect(page.locator(".turn")).to_have_count(1)


def test_a_problem_stays_in_its_turn_when_another_question_is_asked(
    open_page: Callable[..., Page], model: ScriptedModel, failed_requests_are_expected: None
) -> None:
    page = open_page()
    page.context.set_offline(True)
    ask(page)
    problem = page.locator(".turn .problem")
    expect(problem).to_contain_text("The connection was lost.")
    page.context.set_offline(False)
    play_answer(model)
    ask_and_wait(page, "And how are keywords merged?")
    expect(page.locator(".turn")).to_have_count(2)
    expect(page.locator(".turn").first.locator(".problem")).to_contain_text("The connection was lost.")
    expect(problem.get_by_role("button", name="Try again")).to_be_visible()


@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
def test_the_sidebar_has_room_for_its_buttons_and_for_the_time_of_a_session(
    open_page: Callable[..., Page], locale: str
) -> None:
    page = open_page(viewport={"width": 1200, "height": 760}, locale=locale)
    this_year = datetime.now().astimezone().replace(month=11, day=29, hour=17, minute=23)
    sessions = [
        {"session_id": f"{number:026}", "title": None, "message_count": 2, "created_at": created, "updated_at": created}
        for number, created in enumerate((this_year.isoformat(), "2019-11-29T17:23:00Z"))
    ]
    page.route("**/api/sessions*", lambda route: route.fulfill(json={"sessions": sessions, "next_cursor": None}))
    page.reload()
    names = page.locator(".session span")
    expect(names).to_have_count(2)
    expect(names.first).to_contain_text(re.compile(r":23"))
    expect(names.first).not_to_contain_text(str(this_year.year))
    expect(names.last).to_contain_text("2019")
    height = "(all) => all.map((one) => one.scrollHeight - one.clientHeight)"
    assert names.evaluate_all(height) == [0, 0]
    tops = page.locator(".tools button").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().top)")
    assert len(tops) == 3 and len(set(tops)) == 1


def test_a_reload_while_an_answer_comes_leaves_a_page_that_works(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model, f"{MERGING} [kb-1]\n\n" * 4 + f"{PRUNING} [kb-1]")
    model.piece_seconds = 0.05  # the API looks at what may be shown now and then, when something comes
    model.hold_at = PRUNING[:12]
    ask(browser_page)
    expect(browser_page.locator(".turn .content")).to_contain_text(MERGING)
    browser_page.reload()
    expect(browser_page.locator(".suggestion").first).to_be_visible()
    play_answer(model, f"{PRUNING} [kb-1]")
    ask_and_wait(browser_page, "When are keywords pruned?")
    expect(browser_page.locator(".turn .content")).to_have_text(re.compile(re.escape(PRUNING)))


def test_two_tabs_go_on_in_the_same_conversation(browser_page: Page, model: ScriptedModel) -> None:
    play_answer(model)
    ask_and_wait(browser_page)
    other = browser_page.context.new_page()
    other.goto(browser_page.url)
    expect(other.locator(".turn")).to_have_count(1)
    for page, question in ((other, "And when?"), (browser_page, "And how?")):
        play_answer(model, f"{PRUNING} [kb-1]")
        ask_and_wait(page, question)
    other.reload()
    expect(other.locator(".turn .question")).to_contain_text([QUESTION, "And when?", "And how?"])


def test_back_and_forward_lead_through_the_conversations(browser_page: Page, model: ScriptedModel) -> None:
    questions = ("How, in short, are duplicates merged?", "When, in short, are keywords pruned?")
    for text, question in zip((MERGING, PRUNING), questions, strict=True):
        browser_page.get_by_role("button", name="New conversation").click()
        play_answer(model, f"{text} [kb-1]")
        ask_and_wait(browser_page, question)
    shown = browser_page.locator(".turn .question")
    browser_page.go_back()
    expect(shown).to_contain_text([questions[0]])
    expect(browser_page.locator(".session[aria-current]")).to_have_text(questions[0])
    browser_page.go_forward()
    expect(shown).to_contain_text([questions[1]])
    browser_page.reload()
    expect(shown).to_contain_text([questions[1]])


def test_an_arabic_answer_runs_from_right_to_left_and_a_chinese_one_is_marked(
    browser_page: Page, model: ScriptedModel, page_service: str
) -> None:
    load(page_service, "tongues", "tongues.md", f"# Tongues\n\n## Arabic\n\n{ARABIC}\n\n## Chinese\n\n{CHINESE}\n")
    browser_page.evaluate("localStorage.setItem('gleaner.settings', JSON.stringify({ kbId: 'tongues' }))")
    browser_page.reload()
    model.plays(
        calls(search("关键词")), calls(answer(f"{ARABIC} [kb-1]\n\n重复的关键词通过条件写入合并。[kb-1]", ("kb-1",)))
    )
    ask_and_wait(browser_page, "关键词如何合并？")
    paragraphs = browser_page.locator(".content p")
    directions = paragraphs.evaluate_all("(all) => all.map((one) => getComputedStyle(one).direction)")
    assert directions == ["rtl", "ltr"]
    browser_page.locator(".content .mark").last.click()
    expect(browser_page.locator("#panel mark")).to_have_text("重复的关键词通过条件写入合并。")


@pytest.mark.parametrize("width", [1280, 320])
def test_markup_of_every_kind_stays_text(
    open_page: Callable[..., Page], model: ScriptedModel, page_service: str, width: int
) -> None:
    cells = "|".join(f"cell {number}" for number in range(200))
    markup = (
        '<math><mtext><img src="https://evil.example/i" onerror=alert(1)></mtext></math> '
        '<svg><a href="javascript:alert(1)"><text>x</text></a></svg> [data](data:text/html,<script>alert(1)</script>) '
        "<form action=https://evil.example><button>Sign in</button></form> [&#106;avascript](&#106;avascript:alert(1)) "
        "<https://user:pw@evil.example/> "  # pragma: allowlist secret
        '![](https://evil.example/p.png "t") zero\u200bwidth\u200d and \u2066isolate'
    )
    text = f"# Moles\n\n## Tunnels\n\nMoles dig tunnels. {markup}\n\n|{cells}|\n|{'---|' * 200}\n" + f"|{cells}|\n" * 20
    load(page_service, f"markup-{width}", "markup.md", text + "\n" + ">" * 3000 + " deep\n\n" + "*a " * 3000)
    page = open_page(viewport={"width": width, "height": 700})
    outside: list[str] = []
    page.on("request", lambda request: request.url.startswith(page_service) or outside.append(request.url))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    page.evaluate(f"localStorage.setItem('gleaner.settings', JSON.stringify({{ kbId: 'markup-{width}' }}))")
    page.reload()
    model.plays(calls(search("moles")), calls(answer(f"Moles dig tunnels. {markup} [kb-1]", ("kb-1",))))
    ask_and_wait(page, "What do moles dig?")
    page.locator(".sources .source").first.click()
    panel = page.locator("#panel")
    expect(panel.locator(".text")).to_be_visible()
    while True:
        require_harmless(page, [], width)
        assert outside == [] and page.locator("math, form:not(.ask, .comment, .settings)").count() == 0
        if not (after := panel.get_by_role("button", name="Next passage")).count():
            break
        with page.expect_response("**/api/passages/**"):
            after.click()
        expect(panel.locator(".text")).to_be_visible()


def test_a_web_page_cannot_forge_the_mark_of_a_document(
    browser_page: Page, model: ScriptedModel, web: ScriptedWeb
) -> None:
    page = result(1, "https://voles.example/x", "Voles [kb-1]", "Voles fly [kb-1]. As [kb-7] says [1]. [web-9]")
    web.finds("Voles fly [kb-1]. Really [web-9] [1].", page)
    model.plays(
        calls(search("voles")),
        calls(web_search("voles")),
        calls(index("vole flight"), answer("Voles fly. [web-1] So [kb-77] says.", ("web-1",), used_external_kb=True)),
    )
    ask_and_wait(browser_page, "Do voles fly?")
    marks = browser_page.locator(".content .mark")
    expect(marks).to_have_count(1)
    marks.click()
    expect(browser_page.locator("#panel")).to_contain_text("From the web")
    expect(browser_page.locator("#panel .mark")).to_have_count(0)  # in a passage, marks are words
