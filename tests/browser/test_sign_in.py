"""Signing in on the page, in a real browser, at a deployed API's gateway and a user pool."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect

from gleaner_local.servers.asgi import AsgiServer
from tests.conftest import Client, make_api
from tests.doubles.guarded_api import STAGE, GuardedApi
from tests.doubles.user_pool import CLIENT_ID, EMAIL, SUB, UserPool

pytestmark = pytest.mark.slow

MAX_AT_ONCE = 4  # a browser by itself would send six over HTTP/1.1, and all of them over HTTP/2
KEY = "a-key"


@dataclass(frozen=True, slots=True)
class Service:
    """A deployed service: its API, and its user pool if it has one."""

    url: str  # of the stage, without a slash
    api: GuardedApi
    pool: UserPool


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """A page of a fresh profile. Errors in its console fail the test, but for refusals that it expects."""
    context = browser.new_context(locale="en-GB")
    page = context.new_page()
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            errors.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    context.close()
    assert errors == []


@contextmanager
def serve(settings: dict[str, str], pool_url: str | None, pool: UserPool) -> Iterator[Service]:
    sign_in = {"PAGE_SIGN_IN": "api_key"}
    if pool_url:
        sign_in = {"PAGE_SIGN_IN": "cognito", "PAGE_USER_POOL_URL": pool_url, "PAGE_CLIENT_ID": CLIENT_ID}

    def admit_user(headers: dict[str, str]) -> dict[str, Any] | None:
        claims = pool.claims(headers.get("authorization", "").removeprefix("Bearer "))
        return claims and {"authorizer": {"claims": claims}}

    def admit_key(headers: dict[str, str]) -> dict[str, Any] | None:
        return {"identity": {"apiKeyId": "id-of-key"}} if headers.get("x-api-key") == KEY else None

    handle = Client(make_api(settings | sign_in))._handle
    if pool_url:
        api = GuardedApi(handle, admit_user, refusal=HTTPStatus.UNAUTHORIZED)
    else:
        api = GuardedApi(handle, admit_key, refusal=HTTPStatus.FORBIDDEN)
    server = AsgiServer(api.app)
    server.start()
    yield Service(f"{server.url}/{STAGE}", api, pool)
    server.stop()


@pytest.fixture
def with_pool(settings: dict[str, str]) -> Iterator[Service]:
    """A service whose callers are users of a pool."""
    pool = UserPool()
    server = AsgiServer(pool.app)
    server.start()
    with serve(settings, server.url, pool) as service:
        pool.urls = (f"{service.url}/",)
        yield service
    server.stop()


@pytest.fixture
def with_keys(settings: dict[str, str]) -> Iterator[Service]:
    """A service whose callers have API keys."""
    with serve(settings, None, UserPool()) as service:
        yield service


def sign_in(tab: Page, service: Service, fragment: str = "") -> None:
    tab.goto(f"{service.url}/{fragment}")
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name=f"Log in as {EMAIL}").click()
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()


def stored_in(tab: Page, storage: str = "sessionStorage") -> dict[str, str]:
    values: dict[str, str] = tab.evaluate(f"() => ({{...{storage}}})")
    return values


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_page_loads_under_a_stage_with_few_requests_at_once(tab: Page, with_keys: Service, slash: str) -> None:
    tab.goto(with_keys.url + slash)
    expect(tab.get_by_label("API key")).to_be_focused()
    tab.get_by_label("API key").fill(KEY)
    tab.get_by_role("button", name="Use this key").click()
    expect(tab.get_by_role("textbox", name="Your question")).to_be_visible()
    files = {path: count for path, count in with_keys.api.requests.items() if "/page/" in path}
    assert len(files) > 10
    assert set(files.values()) == {1}  # the modules are found in the cache
    assert with_keys.api.most_scripts_at_once <= MAX_AT_ONCE


def test_an_api_key_stays_in_the_tab_until_its_owner_signs_out(tab: Page, with_keys: Service) -> None:
    tab.goto(f"{with_keys.url}/")
    tab.get_by_label("API key").fill(f" {KEY} ")
    tab.get_by_role("button", name="Use this key").click()
    expect(tab.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    tab.reload()
    expect(tab.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    assert with_keys.api.callers
    assert KEY in stored_in(tab).values()
    assert KEY not in json.dumps(stored_in(tab, "localStorage"))
    assert not any(KEY in url for url in with_keys.api.requests)
    tab.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_label("API key")).to_have_value("")
    assert KEY not in stored_in(tab).values()


def test_nothing_is_asked_before_somebody_signs_in(tab: Page, with_pool: Service) -> None:
    tab.goto(f"{with_pool.url}/")
    expect(tab.get_by_role("button", name="Sign in")).to_be_focused()
    assert not [url for url in with_pool.api.requests if "/api/" in url]
    assert with_pool.pool.requests == []


def test_a_user_signs_in_by_code_and_out_again(tab: Page, with_pool: Service) -> None:
    pool = with_pool.pool
    sign_in(tab, with_pool, "#nothing")
    assert pool.paths() == ["/oauth2/authorize", "/oauth2/token"]
    asked = pool.requests[0][1]
    assert asked["redirect_uri"] == f"{with_pool.url}/"
    assert len({asked["state"], asked["nonce"], asked["code_challenge"]}) == 3
    expect(tab.get_by_text(EMAIL)).to_be_visible()
    tab.wait_for_load_state("networkidle")
    assert with_pool.api.callers
    assert {caller["authorizer"]["claims"]["sub"] for caller in with_pool.api.callers} == {SUB}
    _assert_no_secret_is_left(tab, with_pool)
    tab.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_role("button", name="Sign in")).to_be_visible()
    assert set(pool.paths()[2:]) == {"/oauth2/revoke", "/logout"}
    assert stored_in(tab) == {}


def _assert_no_secret_is_left(tab: Page, service: Service) -> None:
    """No token in an address, and the code only in the one request that brought it."""
    token = stored_in(tab)["gleaner.tokens"]
    secrets = [value for value in json.loads(token).values() if isinstance(value, str)]
    assert len(secrets) == 2
    assert not any(secret in url for secret in secrets for url in service.api.requests)
    assert sum(count for url, count in service.api.requests.items() if "code=" in url) == 1
    assert "code=" not in tab.url
    tab.go_back()  # to the sign-in page
    tab.go_forward()
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()
    assert sum(count for url, count in service.api.requests.items() if "code=" in url) == 1


def test_a_reload_keeps_the_user_and_another_tab_has_none(tab: Page, with_pool: Service) -> None:
    sign_in(tab, with_pool)
    tab.reload()
    expect(tab.get_by_role("button", name="Sign out")).to_be_visible()
    assert with_pool.pool.paths().count("/oauth2/token") == 1
    other = tab.context.new_page()
    other.goto(f"{with_pool.url}/")
    expect(other.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_token_is_renewed_before_it_expires_once_for_all_requests(tab: Page, with_pool: Service) -> None:
    with_pool.pool.lifetime = 60  # expires within the spare time, so every wave of requests renews it
    sign_in(tab, with_pool)
    expect(tab.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    tab.wait_for_load_state("networkidle")
    with_pool.pool.lifetime = 3600
    tab.reload()
    expect(tab.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    tab.wait_for_load_state("networkidle")
    refreshed = [values["refresh_token"] for path, values in with_pool.pool.requests if "refresh_token" in values]
    assert refreshed
    assert len(set(refreshed)) == len(refreshed)  # each is used once: a second use would end the session
    expect(tab.get_by_role("alert")).to_have_count(0)


def test_a_session_that_was_ended_leads_to_signing_in_again(tab: Page, with_pool: Service) -> None:
    with_pool.pool.lifetime = 60
    sign_in(tab, with_pool)
    tab.wait_for_load_state("networkidle")
    with_pool.pool.end_sessions()
    tab.reload()
    expect(tab.get_by_text(re.compile("Sign in or enter")).first).to_be_visible()
    assert stored_in(tab) == {}
    tab.reload()
    expect(tab.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_token_that_the_api_refuses_is_dropped(tab: Page, with_pool: Service) -> None:
    sign_in(tab, with_pool)
    tab.wait_for_load_state("networkidle")
    with_pool.pool.disown_tokens()
    tab.get_by_role("button", name="New conversation").click()
    expect(tab.get_by_text(re.compile("Sign in or enter")).first).to_be_visible()
    assert stored_in(tab) == {}


def _deny(pool: UserPool) -> None:
    pool.denies = True


def _change_nonce(pool: UserPool) -> None:
    pool.changes_nonce = True


@pytest.mark.parametrize(("spoil", "tokens"), [(_deny, 0), (_change_nonce, 1)])
def test_a_failed_sign_in_is_said_and_can_be_repeated(
    tab: Page, with_pool: Service, spoil: Callable[[UserPool], None], tokens: int
) -> None:
    spoil(with_pool.pool)
    tab.goto(f"{with_pool.url}/")
    tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name=f"Log in as {EMAIL}").click()
    expect(tab.get_by_role("alert")).to_have_text("Signing in did not work. Sign in again.")
    assert with_pool.pool.paths().count("/oauth2/token") == tokens
    assert tab.url == f"{with_pool.url}/"
    assert stored_in(tab) == {}
    with_pool.pool.denies = with_pool.pool.changes_nonce = False
    sign_in(tab, with_pool)


def test_an_answer_that_nobody_here_asked_for_is_not_taken(tab: Page, with_pool: Service) -> None:
    tab.goto(f"{with_pool.url}/?code=stolen&state=x")
    expect(tab.get_by_role("button", name="Sign in")).to_be_visible()
    assert tab.url == f"{with_pool.url}/"
    tab.evaluate("() => sessionStorage.setItem('gleaner.sign-in', JSON.stringify({ state: 'y', hash: '' }))")
    tab.goto(f"{with_pool.url}/?code=stolen&state=x")
    expect(tab.get_by_role("alert")).to_be_visible()
    assert with_pool.pool.requests == []
