"""The settings show what was used today, and a question beyond the quota leads there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.api.serving import serving
from tests.browser.conftest import ask
from tests.conftest import Client, make_api
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

pytestmark = pytest.mark.slow

PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 1, "output": 2}', "WEB_SEARCH_PRICE": "0.01"}
USED = {  # with the call of the model in vain
    "en-GB": ("Settings", "Used today", "Questions: 1 of 1", "Cost: about 0.00036 of 1.5 USD", "Counted anew from "),
    "de-DE": (
        *("Einstellungen", "Heute verbraucht", "Fragen: 1 von 1"),
        *("Kosten: etwa 0,00036 von 1,5 USD", "Neu gezählt wird ab "),
    ),
}


@pytest.fixture
def limited(settings: dict[str, str]) -> Iterator[str]:
    """The address of a service that answers one question a day of each caller."""
    with serving(Client(make_api(settings | PRICES | {"QUESTIONS_PER_DAY": "1", "USD_PER_DAY": "1.5"}))) as address:
        yield address


@pytest.mark.usefixtures("failed_requests_are_expected")
@pytest.mark.parametrize("locale", USED)
def test_a_question_beyond_the_quota_leads_to_what_was_used(
    open_page: Callable[..., Page],
    limited: str,
    model: ScriptedModel,
    take_picture: Callable[[Page, str], None],
    locale: str,
) -> None:
    settings, used_today, *facts, anew = USED[locale]
    page = open_page(limited, locale=locale)
    model.plays(calls(search()), calls(answer()))
    ask(page)
    expect(page.locator(".turn .content")).to_contain_text("Merged.")
    ask(page)
    alert = page.get_by_role("alert")
    expect(alert).to_be_visible()
    take_picture(page, f"quota-{locale}")
    alert.get_by_role("button", name=settings).click()
    used = page.get_by_role("region", name=used_today)
    expect(used.locator("p")).to_contain_text([*facts, anew])
    take_picture(page, f"usage-{locale}")


def test_where_nothing_is_limited_or_priced_the_questions_are_counted_alone(browser_page: Page) -> None:
    browser_page.get_by_role("button", name="Settings").click()
    paragraphs = browser_page.get_by_role("region", name="Used today").locator("p")
    expect(paragraphs).to_have_count(2)
    expect(paragraphs.first).to_contain_text("Questions: ")
