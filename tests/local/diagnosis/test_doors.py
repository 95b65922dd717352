"""The doctor finds out whether clients of OpenAI's API and of MCP get in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import pytest

from gleaner.runtime.authorization import Authorization, read_authorization
from gleaner_local.aws import ministack
from gleaner_local.aws.execution_environment import LocalContext
from gleaner_local.clients.credentials import Credentials
from gleaner_local.diagnosis._doors import check_doors
from gleaner_local.diagnosis.finding import Finding, State
from gleaner_local.servers.asgi import AsgiServer
from tests.conftest import make_api
from tests.doubles.guarded_api import STAGE, GuardedApi

CHALLENGE = 'Bearer resource_metadata="https://api.example/dev/.well-known/oauth-protected-resource", scope="x"'
KEY = "k" * 20


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ministack.CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@contextmanager
def deployed(
    settings: dict[str, str], challenge: str, *, refusal: HTTPStatus = HTTPStatus.UNAUTHORIZED
) -> Iterator[str]:
    """The address of a stage that admits one bearer token."""
    api, context = make_api(settings), LocalContext("query", "r", ends_at=time.monotonic() + 60)

    def handle(event: dict[str, Any]) -> dict[str, Any]:
        return api.handle(event, context)  # type: ignore[arg-type]

    def admit(headers: dict[str, str]) -> dict[str, Any] | None:
        return {"identity": {"apiKeyId": "id"}} if headers.get("authorization") == f"Bearer {KEY}" else None

    server = AsgiServer(GuardedApi(handle, admit, refusal=refusal, challenge=challenge).app)
    server.start()
    try:
        yield f"{server.url}/{STAGE}"
    finally:
        server.stop()


def check(url: str, credentials: Credentials, authorization: Authorization | None) -> list[Finding]:
    return list(check_doors(url, credentials, authorization, fix="make deploy"))


def test_open_doors_with_a_user_pool_have_three_good_findings(settings: dict[str, str]) -> None:
    with deployed(settings, CHALLENGE) as url:
        findings = check(url, Credentials(token=KEY), read_authorization(settings))
    assert [finding.state for finding in findings] == [State.OK] * 3
    assert "https://login.example" in findings[-1].seen


def test_an_api_key_is_sent_as_bearer_token(settings: dict[str, str]) -> None:
    with deployed(settings, "Bearer") as url:
        right, wrong = (check(url, Credentials(api_key=key), None) for key in (KEY, "other"))
    assert [finding.state for finding in right] == [State.OK] * 2
    assert [finding.state for finding in wrong] == [State.OK, State.PROBLEM]
    assert KEY not in str(right)


@pytest.mark.parametrize(
    ("challenge", "refusal"),
    [
        ("Bearer", HTTPStatus.UNAUTHORIZED),
        ("", HTTPStatus.UNAUTHORIZED),
        (CHALLENGE.replace("/dev/", "/"), HTTPStatus.UNAUTHORIZED),
        (CHALLENGE, HTTPStatus.FORBIDDEN),
    ],
)
def test_a_refusal_that_does_not_lead_to_the_metadata_is_a_problem(
    shared_settings: dict[str, str], challenge: str, refusal: HTTPStatus
) -> None:
    with deployed(shared_settings, challenge, refusal=refusal) as url:
        first, *_ = check(url, Credentials(), read_authorization(shared_settings))
    assert (first.state, "make deploy" in first.remedy) == (State.PROBLEM, True)


def test_metadata_of_another_address_is_a_problem(shared_settings: dict[str, str]) -> None:
    other = shared_settings | {"API_URL": "https://other.example/dev"}
    with deployed(other, CHALLENGE) as url:
        *_, last = check(url, Credentials(), read_authorization(shared_settings))
    assert last.state is State.PROBLEM


def test_a_service_that_does_not_answer_is_a_problem() -> None:
    [finding] = check("http://127.0.0.1:1", Credentials(), None)
    assert finding.state is State.PROBLEM
