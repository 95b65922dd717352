"""The tables and the secret."""

from __future__ import annotations

from infra.environment import Environment
from tests.infra.synthesis import EVERY, Synthesis, one, properties

TABLE = "AWS::DynamoDB::GlobalTable"
SECRET = "AWS::SecretsManager::Secret"


@EVERY
def test_tables_are_on_demand_encrypted_and_recoverable(synthesised: Synthesis, environment: Environment) -> None:
    tables = properties(synthesised.data[environment.name], TABLE)
    assert len(tables) == 7
    for table in tables:
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        (replica,) = table["Replicas"]
        assert replica["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}


@EVERY
def test_tables_are_protected_only_if_the_environment_keeps_its_data(
    synthesised: Synthesis, environment: Environment
) -> None:
    for table in properties(synthesised.data[environment.name], TABLE):
        assert [replica["DeletionProtectionEnabled"] for replica in table["Replicas"]] == [environment.keep_data]


def test_stored_answers_idempotency_keys_usage_and_offers_of_uploads_expire(synthesised: Synthesis) -> None:
    tables = [table for table in properties(synthesised.data["prod"], TABLE) if "TimeToLiveSpecification" in table]
    assert [table["TimeToLiveSpecification"] for table in tables] == [
        {"AttributeName": name, "Enabled": True} for name in ("expires_at", "expiration", "expires_at", "expires_at")
    ]


@EVERY
def test_cloudformation_has_no_value_to_write_over_the_keys(synthesised: Synthesis, environment: Environment) -> None:
    secret = one(synthesised.data[environment.name], SECRET)
    assert not {"SecretString", "GenerateSecretString"} & secret.keys()
