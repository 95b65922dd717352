"""The page that the service shows in a browser: how it is served, and what its files hold."""

from __future__ import annotations

import json
import re
from html import unescape
from importlib.resources import files
from typing import Any

import pytest

from tests.conftest import Client, make_api, proxy_event

STATIC = files("gleaner.page").joinpath("static")
NAMES = sorted(file.name for file in STATIC.iterdir())
SCRIPTS = [name for name in NAMES if name.endswith(".js")]
OWN_SCRIPTS = [name for name in SCRIPTS if not name.startswith("vendor-")]
MAX_PAGE_BYTES = 158_000
MAX_PAGE_BYTES_WITHOUT_USER_POOL = 152_500


def get(client: Client, path: str) -> dict[str, Any]:
    return client.send(proxy_event("GET", path, "local"))


def test_the_page_is_served_with_a_policy_that_allows_its_own_files_alone(client: Client) -> None:
    response = get(client, "/")
    headers = response["multiValueHeaders"]
    assert (response["statusCode"], headers["Content-Type"]) == (200, ["text/html; charset=utf-8"])
    [policy] = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    addresses = re.findall(r'(?:href|src)="([^"]+)"', response["body"])
    assert addresses
    assert {get(client, address)["statusCode"] for address in addresses} == {200}


@pytest.mark.parametrize("stage", ["/dev", "/tools/gleaner"])
def test_its_addresses_work_under_a_stage_and_a_custom_domain(client: Client, stage: str) -> None:
    event = proxy_event("GET", "/", "local")
    event["requestContext"]["path"] = f"{stage}/"
    addresses = re.findall(r'(?:href|src|data-base)="([^"]+)"', client.send(event)["body"])
    assert all(address.startswith(stage) for address in addresses)


POOL = "https://gleaner-1a.auth.eu-central-1.amazoncognito.com"
COGNITO = {"PAGE_SIGN_IN": "cognito", "PAGE_USER_POOL_URL": POOL, "PAGE_CLIENT_ID": "2a3b"}


@pytest.mark.parametrize(
    ("variables", "sign_in", "connect"),
    [
        ({}, {"kind": "none", "poolUrl": None, "clientId": None}, "connect-src 'self';"),
        ({"PAGE_SIGN_IN": "api_key"}, {"kind": "api_key", "poolUrl": None, "clientId": None}, "connect-src 'self';"),
        (COGNITO, {"kind": "cognito", "poolUrl": POOL, "clientId": "2a3b"}, f"connect-src 'self' {POOL};"),
    ],
)
def test_the_page_says_how_to_sign_in_and_may_reach_the_pool_alone(
    settings: dict[str, str], variables: dict[str, str], sign_in: dict[str, Any], connect: str
) -> None:
    response = get(Client(make_api(settings | variables)), "/")
    [described] = re.findall(r'data-sign-in="([^"]*)"', response["body"])
    assert json.loads(unescape(described)) == sign_in
    [policy] = response["multiValueHeaders"]["Content-Security-Policy"]
    assert connect in policy
    assert policy.count("https://") == connect.count("https://")


@pytest.mark.parametrize(
    ("variables", "is_loaded"), [({}, False), ({"PAGE_SIGN_IN": "api_key"}, False), (COGNITO, True)]
)
def test_signing_in_at_a_user_pool_is_loaded_where_it_is_used(
    settings: dict[str, str], variables: dict[str, str], is_loaded: bool
) -> None:
    [scripts] = re.findall(r'data-scripts="([^"]*)"', get(Client(make_api(settings | variables)), "/")["body"])
    assert ("cognito.js" in scripts.split()) is is_loaded
    assert {"app.js", "sign-in.js"} < set(scripts.split()) < set(SCRIPTS)


def test_an_address_cannot_break_out_of_the_page(client: Client) -> None:
    event = proxy_event("GET", "/", "local")
    event["requestContext"]["path"] = '//evil.example/"><script>'
    body = client.send(event)["body"]
    assert "<script>" not in body
    assert '"//' not in body


@pytest.mark.parametrize("name", [name for name in NAMES if name != "index.html"])
def test_each_file_is_sent_as_it_is(client: Client, name: str) -> None:
    response = get(client, f"/page/{name}")
    assert (response["statusCode"], response["body"]) == (200, STATIC.joinpath(name).read_text("utf-8"))


@pytest.mark.parametrize("name", ["index.html", "nothing.js", "..", "%2e%2e%2fpage.css", "__init__.py"])
def test_no_other_file_is_sent(client: Client, name: str) -> None:
    assert get(client, f"/page/{name}")["statusCode"] == 404


def test_it_is_not_served_where_it_is_off(settings: dict[str, str]) -> None:
    client = Client(make_api(settings | {"CHAT_PAGE": "off"}))
    assert client._handle(proxy_event("GET", "/", "local"))["statusCode"] == 404


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_no_script_parses_text_as_html_or_code(name: str) -> None:
    source = STATIC.joinpath(name).read_text("utf-8")
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|DOMParser|\.srcdoc"
    assert re.findall(sinks, source) == []


@pytest.mark.parametrize("name", OWN_SCRIPTS)
def test_scripts_import_only_files_of_the_page(name: str) -> None:
    source = STATIC.joinpath(name).read_text("utf-8")
    imported = re.findall(r'from "\./([^"]+)"', source)
    assert len(imported) == len(re.findall(r"^import ", source, re.MULTILINE))
    assert set(imported) <= set(SCRIPTS)


def test_the_languages_have_the_same_texts() -> None:
    keys = [
        re.findall(r'^  (?:")?([\w-]+)(?:")?:', STATIC.joinpath(name).read_text("utf-8"), re.MULTILINE)
        for name in SCRIPTS
        if name.startswith("texts-")
    ]
    assert len(keys) > 1
    assert all(one == keys[0] for one in keys)


def test_what_a_visit_loads_is_small() -> None:
    """Every file but the license, and one language; signing in at a user pool is loaded where it is used."""
    sizes = {name: len(STATIC.joinpath(name).read_bytes()) for name in NAMES if not name.endswith(".LICENSE")}
    languages = [sizes.pop(name) for name in list(sizes) if name.startswith("texts-")]
    assert sum(sizes.values()) + max(languages) < MAX_PAGE_BYTES
    assert sum(sizes.values()) - sizes["cognito.js"] + max(languages) < MAX_PAGE_BYTES_WITHOUT_USER_POOL
