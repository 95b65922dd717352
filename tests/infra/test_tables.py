"""The tables and the secret."""

from __future__ import annotations

import json

from infra.data_stack import SECRET_FIELDS
from infra.environment import Environment
from tests.infra.synthesis import EVERY, Synthesis, one, properties, resources

TABLE = "AWS::DynamoDB::GlobalTable"
SECRET = "AWS::SecretsManager::Secret"


@EVERY
def test_tables_are_on_demand_encrypted_and_recoverable(synthesised: Synthesis, environment: Environment) -> None:
    tables = properties(synthesised.data[environment.name], TABLE)
    assert len(tables) == 5
    for table in tables:
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        (replica,) = table["Replicas"]
        assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


@EVERY
def test_data_outlives_its_stack_only_if_the_environment_keeps_it(
    synthesised: Synthesis, environment: Environment
) -> None:
    template = synthesised.data[environment.name]
    policy = "Retain" if environment.keep_data else "Delete"
    stateful = [*resources(template, TABLE).values(), *resources(template, SECRET).values()]
    assert len(stateful) == 6
    assert {resource["DeletionPolicy"] for resource in stateful} == {policy}
    assert {resource["UpdateReplacePolicy"] for resource in stateful} == {policy}
    for table in properties(template, TABLE):
        assert [replica["DeletionProtectionEnabled"] for replica in table["Replicas"]] == [environment.keep_data]


def test_only_production_keeps_its_data(synthesised: Synthesis) -> None:
    retaining = {name for name in synthesised.data if '"Retain"' in json.dumps(synthesised.data[name])}
    assert retaining == {"prod", "keys", "reserved", "twin"}


def test_stored_answers_idempotency_keys_and_usage_expire(synthesised: Synthesis) -> None:
    tables = [table for table in properties(synthesised.data["prod"], TABLE) if "TimeToLiveSpecification" in table]
    assert [table["TimeToLiveSpecification"] for table in tables] == [
        {"AttributeName": name, "Enabled": True} for name in ("expires_at", "expiration", "expires_at")
    ]


def test_the_secret_has_an_empty_field_for_every_key(synthesised: Synthesis) -> None:
    secret = one(synthesised.data["prod"], SECRET)
    assert json.loads(secret["SecretString"]) == dict.fromkeys(SECRET_FIELDS, "")
