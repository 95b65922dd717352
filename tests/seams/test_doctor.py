"""What the doctor looks for in a deployed environment is what the stacks make."""

from __future__ import annotations

from gleaner_local.diagnosis import _functions, _secret
from gleaner_local.diagnosis.environment import DATA_OUTPUTS, SERVICE_OUTPUTS
from infra.data_stack import SECRET_FIELDS
from infra.environments import Authorizer, Environment
from tests.infra import synthesis
from tests.infra.synthesis import EVERY


@EVERY
def test_every_output_that_it_reads_is_made(environment: Environment) -> None:
    made = synthesis.synthesis()
    callers = {Authorizer.API_KEY: {"ApiKeyId"}, Authorizer.COGNITO: {"UserPoolId"}, Authorizer.IAM: set()}
    assert set(made.data[environment.name]["Outputs"]) >= {*DATA_OUTPUTS, *callers[environment.authorizer]}
    assert set(made.service[environment.name]["Outputs"]) >= set(SERVICE_OUTPUTS)


@EVERY
def test_the_query_function_is_the_one_that_it_takes_for_it(environment: Environment) -> None:
    made = synthesis.functions(synthesis.synthesis().service[environment.name])
    marked = [name for name, one in made.items() if _functions.MARK in one["Environment"]["Variables"]]
    assert marked == ["query"]


def test_the_fields_of_the_secret_are_those_that_are_filled_in() -> None:
    assert set(_secret.FIELDS) == set(SECRET_FIELDS)
