"""The variables that a function is deployed with are what its settings ask for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.settings import Settings
from infra.environments import Environment
from tests.infra.synthesis import EVERY, functions, synthesis


class Recorded(Mapping[str, str]):
    """Variables that know which of them were read. What CloudFormation fills in is there as `https://value.example`."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self._values = {name: _filled_in(value, f"https://{name.lower()}.example") for name, value in variables.items()}
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@EVERY
def test_the_query_function_gets_its_settings(environment: Environment) -> None:
    settings = Settings.from_env(_variables(environment, "query"))
    assert settings.cors_origins == environment.cors_origins
    assert settings.docs_routes == environment.docs_routes
    assert settings.query_deadline_seconds == environment.query_deadline_seconds
    assert settings.web_answer_max_age_days == environment.web_answer_max_age_days
    tables = {settings.keywords_table, settings.conversations_table, settings.tool_calls_table}
    assert len(tables | {settings.idempotency_table}) == 4


@EVERY
def test_the_query_function_reads_every_variable_it_is_given(environment: Environment) -> None:
    variables = _variables(environment, "query")
    Settings.from_env(variables)
    unread = {name for name in variables if not name.startswith("POWERTOOLS_")} - variables.read
    assert unread == set()


@EVERY
def test_the_prune_function_gets_its_settings(environment: Environment) -> None:
    variables = _variables(environment, "prune")
    settings = PruneSettings.from_env(variables)
    rules = environment.pruning
    assert settings.max_age_days == rules.max_age_days
    assert settings.min_usage == rules.min_usage
    assert settings.hard_max_age_days == rules.hard_max_age_days
    assert {name for name in variables if not name.startswith("POWERTOOLS_")} <= variables.read


def _filled_in(value: Any, reference: str) -> str:
    """A value of the template as text, with `reference` for what it refers to."""
    if isinstance(value, str):
        return value
    separator, parts = value.get("Fn::Join", ("", [reference]))
    return str(separator.join(part if isinstance(part, str) else reference for part in parts))


def _variables(environment: Environment, name: str) -> Recorded:
    function = functions(synthesis().service[environment.name])[name]
    return Recorded(function["Environment"]["Variables"])
