"""The services' API keys are read from a secret when they are needed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest

from gleaner.clients.secrets import ApiKeysSecret
from gleaner.errors import ApiKeysUnavailable
from gleaner_local.aws import ministack
from tests.conftest import Client, make_api, proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

KEYS = {"openai": "o-1", "pinecone": "p-1", "perplexity": "w-1"}


@dataclass(slots=True)
class Secret:
    """A secret of Secrets Manager."""

    arn: str
    client: Any

    def holds(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        self.client.put_secret_value(SecretId=self.arn, SecretString=text)


@pytest.fixture(scope="module")
def secrets_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("secrets")
    server = ministack.Ministack(path / "state", path / "log", services="secretsmanager")
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def secret(secrets_url: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Secret:
    for name, value in (ministack.CREDENTIALS | {"AWS_ENDPOINT_URL_SECRETS_MANAGER": secrets_url}).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("secretsmanager")
    arn = client.create_secret(Name=f"{hash(request.node.nodeid):x}", SecretString="{}")["ARN"]
    return Secret(arn, client)


@pytest.fixture
def deployed(settings: dict[str, str], secret: Secret) -> Client:
    """The API as it is deployed, without keys in environment variables."""
    variables = {name: value for name, value in settings.items() if not name.endswith("_API_KEY")}
    return Client(make_api(variables | {"API_KEYS_SECRET_ARN": secret.arn}))


def test_services_receive_the_keys_from_the_secret(deployed: Client, model: ScriptedModel, secret: Secret) -> None:
    secret.holds(KEYS)
    model.plays(calls(search()), calls(answer()))
    assert deployed.ask()[0] == 200
    assert set(model.authorizations) == {"Bearer o-1"}


@pytest.mark.parametrize(
    "value", [dict.fromkeys(KEYS, ""), " ", "not JSON but o-1", [], {"openai": "o-1"}, "[1]", "null"]
)
def test_without_keys_the_service_starts_and_reports_them_missing(
    deployed: Client, model: ScriptedModel, secret: Secret, value: Any
) -> None:
    secret.holds(value)
    assert deployed.send(proxy_event("GET", "/api/health", "x"))["statusCode"] == 200
    model.plays(calls(search()), calls(answer()))
    status, body = deployed.ask()
    assert (status, body["type"]) == (503, "urn:gleaner:problem:api-keys-unavailable")
    assert "o-1" not in json.dumps(body)
    assert model.requests == []
    secret.holds(KEYS)
    assert deployed.ask()[0] == 200  # the bad value is not cached


def test_web_search_without_a_key_is_not_offered(deployed: Client, model: ScriptedModel, secret: Secret) -> None:
    secret.holds(KEYS | {"perplexity": ""})
    model.plays(calls(search()), calls(answer()))
    assert deployed.ask()[0] == 200
    offered = [tool["function"]["name"] for tool in model.requests[1]["tools"]]
    assert offered == ["knowledge_base_search", "generate_response"]


def test_a_rotated_key_is_picked_up(secret: Secret) -> None:
    cached, keys = ApiKeysSecret(secret.arn), ApiKeysSecret(secret.arn, cached_seconds=1)
    secret.holds(KEYS)
    assert cached.read().openai == keys.read().openai == "o-1"
    secret.holds(KEYS | {"openai": "o-2"})
    assert cached.read().openai == "o-1"
    assert ApiKeysSecret(secret.arn).read().openai == "o-2"
    ends_at = time.monotonic() + 60
    while (key := keys.read().openai) != "o-2" and time.monotonic() < ends_at:
        time.sleep(0.05)
    assert key == "o-2"


def test_a_failed_fetch_is_not_cached(secret: Secret) -> None:
    keys = ApiKeysSecret(secret.arn)
    secret.client.delete_secret(SecretId=secret.arn)
    with pytest.raises(ApiKeysUnavailable):
        keys.read()
    secret.client.restore_secret(SecretId=secret.arn)
    secret.holds(KEYS)
    assert keys.read().pinecone == "p-1"
