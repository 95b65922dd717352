"""The tables and the secret."""

from __future__ import annotations

import json

from infra.data_stack import SECRET_FIELDS
from infra.environments import Environment
from tests.infra.synthesis import EVERY, Synthesis, one, properties, resources

TABLE = "AWS::DynamoDB::GlobalTable"
SECRET = "AWS::SecretsManager::Secret"


@EVERY
def test_tables_are_on_demand_encrypted_and_recoverable(synthesised: Synthesis, environment: Environment) -> None:
    tables = properties(synthesised.data[environment.name], TABLE)
    assert len(tables) == 4
    for table in tables:
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        (replica,) = table["Replicas"]
        assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


@EVERY
def test_only_kept_data_outlives_its_stack(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.data[environment.name]
    wanted = "Retain" if environment.keep_data else "Delete"
    kept = [*resources(template, TABLE).values(), *resources(template, SECRET).values()]
    assert len(kept) == 5
    assert {found["DeletionPolicy"] for found in kept} == {wanted}
    assert {found["UpdateReplacePolicy"] for found in kept} == {wanted}
    for table in properties(template, TABLE):
        assert [replica["DeletionProtectionEnabled"] for replica in table["Replicas"]] == [environment.keep_data]


def test_only_production_keeps_its_data(synthesised: Synthesis) -> None:
    kept = {name for name in synthesised.data if '"Retain"' in json.dumps(synthesised.data[name])}
    assert kept == {"prod", "keys", "reserved", "twin"}


def test_idempotency_keys_expire(synthesised: Synthesis) -> None:
    expiring = [table for table in properties(synthesised.data["prod"], TABLE) if "TimeToLiveSpecification" in table]
    assert [table["TimeToLiveSpecification"] for table in expiring] == [
        {"AttributeName": "expiration", "Enabled": True}
    ]


def test_the_secret_has_a_field_for_every_key_and_no_key(synthesised: Synthesis) -> None:
    secret = one(synthesised.data["prod"], SECRET)
    assert json.loads(secret["SecretString"]) == dict.fromkeys(SECRET_FIELDS, "")
