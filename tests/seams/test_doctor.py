"""The doctor looks for what the stacks create."""

from __future__ import annotations

from dataclasses import fields

from gleaner.clients.secrets import ApiKeys
from gleaner_local.clients import keys_secret
from gleaner_local.diagnosis import _functions, _watch
from gleaner_local.diagnosis.environment import DATA_OUTPUTS, DOCUMENTS_OUTPUTS, SERVICE_OUTPUTS, WATCH_OUTPUTS
from infra.environment import Authorizer, Environment
from tests.infra import synthesis
from tests.infra.synthesis import EVERY


@EVERY
def test_the_stacks_have_every_output_that_the_doctor_reads(environment: Environment) -> None:
    stacks = synthesis.synthesis()
    callers = {Authorizer.API_KEY: {"ApiKeyId"}, Authorizer.COGNITO: {"UserPoolId"}, Authorizer.IAM: set()}
    assert set(stacks.data[environment.name]["Outputs"]) >= {*DATA_OUTPUTS, *callers[environment.authorizer]}
    if environment.documents is not None:
        assert set(stacks.documents[environment.name]["Outputs"]) >= set(DOCUMENTS_OUTPUTS)
    assert set(stacks.service[environment.name]["Outputs"]) >= set(SERVICE_OUTPUTS)
    assert set(stacks.watch[environment.name]["Outputs"]) >= set(WATCH_OUTPUTS)
    assert set(stacks.watch[environment.name]["Parameters"]) >= _watch.WATCHED.keys()


@EVERY
def test_the_doctor_recognizes_the_query_function(environment: Environment) -> None:
    functions = synthesis.functions(synthesis.synthesis().service[environment.name])
    variables = {name: one.get("Environment", {}).get("Variables", {}) for name, one in functions.items()}
    matches = [name for name in variables if _functions.MARK in variables[name]]
    assert matches == ["query"]


def test_the_doctor_checks_the_fields_that_the_function_reads_in_the_secret() -> None:
    assert set(keys_secret.FIELDS) == {field.name for field in fields(ApiKeys)}
