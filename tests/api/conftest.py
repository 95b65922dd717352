"""Shared by the tests of the API: tables for a module, checks of what is stored in them, and OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gleaner_local.aws import ministack
from tests.api.completions import Door
from tests.conftest import Client
from tests.doubles.turns import TurnChecks


@pytest.fixture(scope="module")
def environment(shared_settings: dict[str, str], request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment variables, with tables that the tests of a module share; each uses a session of its own."""
    prefix = request.module.__name__.rpartition(".")[2].replace("_", "-")
    variables = {
        name: f"{prefix}-{value}" if name.endswith("_TABLE") else value for name, value in shared_settings.items()
    }
    dynamodb = ministack.admin_client(variables["AWS_ENDPOINT_URL_DYNAMODB"])
    ministack.create_tables(dynamodb, ministack.table_schemas(variables))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ministack.CREDENTIALS.items():
            patch.setenv(name, value)
        yield variables


@pytest.fixture(scope="module")
def stored_turns(environment: dict[str, str]) -> Iterator[TurnChecks]:
    """Checks of the turns that a module stores; at the end, all turns and keywords must be complete."""
    checks = TurnChecks(environment)
    yield checks
    checks.assert_turns_complete()
    checks.assert_keywords_complete()


@pytest.fixture
def door(client: Client) -> Door:
    """Chat completions of the module's API."""
    return Door(client)
