"""What identifies callers outlives the service, and the API admits these callers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infra.callbacks import MCP_CALLBACK_URLS
from infra.environment import Authorizer, Environment
from infra.environments import DEV, PROD
from tests.infra.synthesis import EVERY, WITH_PAGE, Synthesis, Template, one, properties, resources

IDENTIFYING = (
    *("AWS::ApiGateway::ApiKey", "AWS::Cognito::UserPool", "AWS::Cognito::UserPoolClient"),
    "AWS::Cognito::UserPoolGroup",
)


@EVERY
def test_the_service_stack_does_not_identify_callers(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    found = {type for type in IDENTIFYING if resources(template, type)}
    assert found <= {"AWS::Cognito::UserPoolClient"}  # through which users sign in


def test_signing_in_adds_clients_but_no_users_to_the_service(synthesised: Synthesis) -> None:
    template = synthesised.service["page"]
    assert [type for type in IDENTIFYING if resources(template, type)] == ["AWS::Cognito::UserPoolClient"]
    assert len(resources(template, "AWS::Cognito::UserPoolClient")) == 2  # of the page and of MCP clients
    assert synthesised.data["page"]["Outputs"].keys() == synthesised.data["staging"]["Outputs"].keys()


@pytest.mark.parametrize(("name", "others"), [("page", ["https://ask.example.org/gleaner/"]), ("pool", [])])
def test_the_page_signs_in_by_code_at_its_own_addresses_alone(
    synthesised: Synthesis, name: str, others: list[str]
) -> None:
    template = synthesised.service[name]
    client = template["Resources"][_client_of(template, "Page")]["Properties"]
    assert client["AllowedOAuthFlows"] == ["code"]
    assert set(client["AllowedOAuthScopes"]) == {"openid", "email"}
    assert client["GenerateSecret"] is False
    assert client["ExplicitAuthFlows"] == ["ALLOW_USER_SRP_AUTH"]
    assert client["RefreshTokenRotation"]["Feature"] == "ENABLED"
    assert client["CallbackURLs"] == client["LogoutURLs"]
    own, *configured = client["CallbackURLs"]
    assert configured == others
    # The address that the API has, with the slash of its root.
    url = template["Outputs"]["ApiUrl"]["Value"]["Fn::Join"][1]
    assert own["Fn::Join"][1] == [*url[:-1], f"{url[-1]}/"]


@pytest.mark.parametrize("whose", ["Page", "Mcp"])
def test_what_a_client_needs_does_not_need_the_function(synthesised: Synthesis, whose: str) -> None:
    template = synthesised.service["page"]
    client = _client_of(template, whose)
    needed, found = [client], set[str]()
    while needed:
        name = needed.pop()
        found.add(name)
        text = json.dumps(template["Resources"][name])
        needed += [other for other in template["Resources"] if f'"{other}"' in text and other not in found]
    assert {template["Resources"][name]["Type"] for name in found} == {
        "AWS::Cognito::UserPoolClient",
        "AWS::ApiGateway::RestApi",
        *(["AWS::Cognito::UserPoolResourceServer"] if whose == "Mcp" else []),
    }


def test_a_created_pool_gets_sign_in_pages_with_a_style_and_an_own_pool_keeps_its_own(synthesised: Synthesis) -> None:
    template = synthesised.service["page"]
    assert one(template, "AWS::Cognito::UserPoolDomain")["ManagedLoginVersion"] == 2
    styles = properties(template, "AWS::Cognito::ManagedLoginBranding")
    assert {style["ClientId"]["Ref"] for style in styles} == set(resources(template, "AWS::Cognito::UserPoolClient"))
    assert all(style["UseCognitoProvidedValues"] is True for style in styles)
    assert not resources(synthesised.service["pool"], "AWS::Cognito::UserPoolDomain")
    assert not resources(synthesised.service["pool"], "AWS::Cognito::ManagedLoginBranding")
    for name in ("dev", "iam", "bare"):
        assert not resources(synthesised.service[name], "AWS::Cognito::UserPoolClient")


@pytest.mark.parametrize("name", ["staging", "prod", "pool", "domain"])
def test_mcp_clients_sign_users_in_by_code_for_one_scope_at_their_own_addresses_alone(
    synthesised: Synthesis, name: str
) -> None:
    template = synthesised.service[name]
    client = template["Resources"][_client_of(template, "Mcp")]["Properties"]
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["GenerateSecret"] is False
    assert client["ExplicitAuthFlows"] == ["ALLOW_USER_SRP_AUTH"]
    assert client["RefreshTokenRotation"]["Feature"] == "ENABLED"
    assert client["CallbackURLs"] == list(MCP_CALLBACK_URLS)
    [scope] = client["AllowedOAuthScopes"]
    [server] = resources(template, "AWS::Cognito::UserPoolResourceServer")
    assert scope == {"Fn::Join": ["", [{"Ref": server}, "/ask"]]}
    assert template["Outputs"]["McpClientId"]["Value"] == {"Ref": _client_of(template, "Mcp")}


@pytest.mark.parametrize(
    "changes",
    [
        {"public_url": "https://ask.example.org/"},
        {"public_url": "http://ask.example.org"},
        {"public_url": "https://ask.example.org?x"},
        {"mcp_callback_urls": ("http://ask.example.org/callback",)},
        {"mcp_callback_urls": ("https://ask.example.org/callback#here",)},
        {"mcp_callback_urls": ("http://localhost.evil.example/callback",)},
        {"mcp_callback_urls": ("ask.example.org",)},
    ],
)
def test_addresses_that_no_client_could_use_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        replace(PROD, **changes)


def test_without_callbacks_mcp_takes_what_the_other_routes_take() -> None:
    assert not replace(PROD, mcp_callback_urls=()).signs_in_to_mcp


@pytest.mark.parametrize(
    "changes",
    [
        {"authorizer": Authorizer.IAM},
        {"user_pool_url": "https://login.example.org"},
        {"user_pool_arn": "arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_abc"},
        {"page_urls": ("https://ask.example.org",)},
        {"page_urls": ("http://ask.example.org/",)},
        {"page_urls": ("https://ask.example.org/?x=/",)},
    ],
)
def test_a_page_on_which_nobody_could_sign_in_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="page"):
        replace(WITH_PAGE, **changes)


@pytest.mark.parametrize(
    ("name", "count", "policy"),
    [
        ("dev", 2, "Delete"),
        ("staging", 3, "Delete"),
        ("prod", 3, "RetainExceptOnCreate"),
        ("keys", 2, "RetainExceptOnCreate"),
    ],
)
def test_what_identifies_callers_is_retained_like_the_data(
    synthesised: Synthesis, name: str, count: int, policy: str
) -> None:
    identifying = [item for type in IDENTIFYING for item in resources(synthesised.data[name], type).values()]
    assert [resource["DeletionPolicy"] for resource in identifying] == [policy] * count
    replaced = policy.removesuffix("ExceptOnCreate")
    assert [resource["UpdateReplacePolicy"] for resource in identifying] == [replaced] * count


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


def _client_of(template: Template, name: str) -> str:
    """The logical id of the client of the page or of MCP clients."""
    (client,) = [one for one in resources(template, "AWS::Cognito::UserPoolClient") if one.startswith(name)]
    return str(client)


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
