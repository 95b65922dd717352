"""What the tests of faults share: tables of their module, and a look at what is kept in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gleaner_local.aws import ministack
from tests.doubles.turns import TurnChecks


@pytest.fixture(scope="module")
def environment(shared_settings: dict[str, str], request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment, with tables that the tests of a module share: what each must find is that of its own session."""
    prefix = request.module.__name__.rpartition(".")[2].replace("_", "-")
    own = {name: f"{prefix}-{value}" if name.endswith("_TABLE") else value for name, value in shared_settings.items()}
    ministack.create_tables(ministack.admin_client(own["AWS_ENDPOINT_URL_DYNAMODB"]), ministack.table_schemas(own))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ministack.CREDENTIALS.items():
            patch.setenv(name, value)
        yield own


@pytest.fixture(scope="module")
def kept(environment: dict[str, str]) -> Iterator[TurnChecks]:
    """What is kept of all tests of a module; at the end, that turns and keywords are whole."""
    checks = TurnChecks(environment)
    yield checks
    checks.assert_turns_complete()
    checks.assert_keywords_complete()
