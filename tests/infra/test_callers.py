"""What identifies callers outlives the service, and the API admits these callers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.environments import DEV, Environment
from tests.infra.synthesis import EVERY, Synthesis, Template, one, properties, resources

IDENTIFYING = (
    *("AWS::ApiGateway::ApiKey", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient"),
    "AWS::Cognito::UserPoolGroup",
)


@EVERY
def test_the_service_stack_does_not_identify_callers(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    assert not [type for type in IDENTIFYING if resources(template, type)]


@pytest.mark.parametrize(
    ("name", "count", "policy"),
    [("dev", 2, "Delete"), ("staging", 3, "Delete"), ("prod", 3, "Retain"), ("keys", 2, "Retain")],
)
def test_what_identifies_callers_is_retained_like_the_data(
    synthesised: Synthesis, name: str, count: int, policy: str
) -> None:
    identifying = [item for type in IDENTIFYING for item in resources(synthesised.data[name], type).values()]
    assert [resource["DeletionPolicy"] for resource in identifying] == [policy] * count
    assert [resource["UpdateReplacePolicy"] for resource in identifying] == [policy] * count


def test_api_keys_are_limited_to_rate_and_quota(synthesised: Synthesis) -> None:
    template = synthesised.service["dev"]
    plan = one(template, "AWS::ApiGateway::UsagePlan")
    assert plan["Throttle"] == {"RateLimit": DEV.throttle.rate_per_second, "BurstLimit": DEV.throttle.burst}
    assert plan["Quota"] == {"Limit": DEV.throttle.quota_per_day, "Period": "DAY"}
    (plan_id,) = resources(template, "AWS::ApiGateway::UsagePlan")
    assert template["Outputs"]["UsagePlanId"]["Value"] == {"Ref": plan_id}
    limited = {_imported(key["KeyId"]) for key in properties(template, "AWS::ApiGateway::UsagePlanKey")}
    key_refs = {json.dumps({"Ref": key}) for key in resources(synthesised.data["dev"], "AWS::ApiGateway::ApiKey")}
    assert limited == {_exported(synthesised.data["dev"], key) for key in key_refs}
    assert len(limited) == 2


def test_only_the_admin_key_is_an_admin(synthesised: Synthesis) -> None:
    data = synthesised.data["dev"]
    text = json.dumps(synthesised.service["dev"]["Resources"])
    admin, caller = (
        _exported(data, json.dumps(data["Outputs"][output]["Value"])) for output in ("AdminApiKeyId", "ApiKeyId")
    )
    assert f'"ADMIN_CALLERS": {json.dumps({"Fn::Join": ["", ["key:", {"Fn::ImportValue": admin}]]})}' in text
    assert f'["key:", {json.dumps({"Fn::ImportValue": caller})}]' not in text


def test_a_configured_user_pool_is_used_and_none_is_created(synthesised: Synthesis) -> None:
    assert not resources(synthesised.data["pool"], "AWS::Cognito::UserPool")
    authorizer = one(synthesised.service["pool"], "AWS::ApiGateway::Authorizer")
    assert "userpool/eu-central-1_abc" in json.dumps(authorizer["ProviderARNs"])


def test_a_created_user_pool_has_an_admin_group_and_no_sign_up(synthesised: Synthesis) -> None:
    template = synthesised.data["prod"]
    assert one(template, "AWS::Cognito::UserPoolGroup")["GroupName"] == "admin"
    assert one(template, "AWS::Cognito::UserPool")["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_users_sign_in_with_srp_or_through_an_operator(synthesised: Synthesis) -> None:
    client = one(synthesised.data["prod"], "AWS::Cognito::UserPoolClient")
    assert set(client["ExplicitAuthFlows"]) == {
        "ALLOW_USER_SRP_AUTH",
        "ALLOW_ADMIN_USER_PASSWORD_AUTH",
        "ALLOW_REFRESH_TOKEN_AUTH",
    }
    assert client["AllowedOAuthFlowsUserPoolClient"] is False
    assert not {"AllowedOAuthFlows", "AllowedOAuthScopes", "CallbackURLs"} & set(client)
    assert client["PreventUserExistenceErrors"] == "ENABLED"


def _imported(value: dict[str, Any]) -> str:
    name: str = value["Fn::ImportValue"]
    return name


def _exported(template: Template, value: str) -> str:
    """The name under which a stack exports a value of its template."""
    (name,) = [
        output["Export"]["Name"]
        for output in template["Outputs"].values()
        if "Export" in output and json.dumps(output["Value"]) == value
    ]
    return str(name)
