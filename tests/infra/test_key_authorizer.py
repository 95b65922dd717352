"""API keys reach API Gateway by either header, through a function that knows no key and admits nobody by itself."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.app import FUNCTIONS
from tests.infra.synthesis import Synthesis, functions, one, properties, resources, synthesis
from tests.infra.test_api import DOORS, is_open, methods_of

METHOD = "arn:aws:execute-api:eu-central-1:111122223333:a1b2c3d4e5/dev/POST/v1/chat/completions"
WITH_KEYS = ("dev", "keys", "email")
VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
KEYS = st.text(VISIBLE, min_size=20, max_size=128)
HANDLER = runpy.run_path(str(FUNCTIONS / "authorizer" / "handler.py"))
authorize: Callable[..., dict[str, Any]] = HANDLER["lambda_handler"]


def result(header: str) -> dict[str, Any]:
    """What the function returns for an event as API Gateway's documentation shows it."""
    return authorize({"type": "TOKEN", "methodArn": METHOD, "authorizationToken": header}, None)


@given(key=KEYS, scheme=st.sampled_from(["", "Bearer ", "bearer ", "BEARER   "]))
def test_the_key_of_either_header_is_handed_on_unchanged(key: str, scheme: str) -> None:
    expression = _authorizer_of("Authorization" if scheme else "x-api-key")["IdentityValidationExpression"]
    assert re.fullmatch(expression, scheme + key)
    returned = result(scheme + key)
    assert returned["usageIdentifierKey"] == key
    assert key not in json.dumps({name: value for name, value in returned.items() if name != "usageIdentifierKey"})


def test_the_policy_holds_for_every_method_because_it_is_cached() -> None:
    [statement] = result("Bearer " + "k" * 40)["policyDocument"]["Statement"]
    assert statement == {
        "Action": "execute-api:Invoke",
        "Effect": "Allow",
        "Resource": "arn:aws:execute-api:eu-central-1:111122223333:a1b2c3d4e5/dev/*",
    }


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Authorization", "k" * 40),
        ("Authorization", "Basic " + "k" * 40),
        ("Authorization", "Bearer sk-anything"),
        ("Authorization", "Bearer " + "k" * 129),
        ("Authorization", f"Bearer {'k' * 20} {'k' * 20}"),
        ("x-api-key", "wrong"),
        ("x-api-key", "Bearer " + "k" * 40),
        ("x-api-key", "ö" * 40),
    ],
)
def test_what_cannot_be_a_key_does_not_reach_the_function(header: str, value: str) -> None:
    assert not re.fullmatch(_authorizer_of(header)["IdentityValidationExpression"], value)


@pytest.mark.parametrize("environment", WITH_KEYS)
def test_api_gateway_checks_the_key_on_every_method_that_the_authorizer_lets_pass(
    synthesised: Synthesis, environment: str
) -> None:
    template = synthesised.service[environment]
    assert one(template, "AWS::ApiGateway::RestApi")["ApiKeySourceType"] == "AUTHORIZER"
    headers = {
        name: authorizer["Properties"]["IdentitySource"].removeprefix("method.request.header.")
        for name, authorizer in resources(template, "AWS::ApiGateway::Authorizer").items()
    }
    for (path, _), method in methods_of(template).items():
        if is_open(method):
            assert "AuthorizerId" not in method
            continue
        assert (method["ApiKeyRequired"], method["AuthorizationType"]) == (True, "CUSTOM")
        is_door = path in DOORS or path.startswith("/v1/")
        assert headers[method["AuthorizerId"]["Ref"]] == ("Authorization" if is_door else "x-api-key")


@pytest.mark.parametrize("environment", ["staging", "prod", "iam", "page"])
def test_environments_without_api_keys_have_no_such_function(synthesised: Synthesis, environment: str) -> None:
    template = synthesised.service[environment]
    assert functions(template).keys() == {"query", "prune"}
    assert "ApiKeySourceType" not in one(template, "AWS::ApiGateway::RestApi")


def test_the_function_is_small_and_loads_nothing(synthesised: Synthesis) -> None:
    function = functions(synthesised.service["dev"])["authorizer"]
    assert "Layers" not in function
    assert "Environment" not in function
    assert (function["MemorySize"], function["Timeout"]) == (128, 5)


def _authorizer_of(header: str) -> dict[str, Any]:
    """The authorizer of this header."""
    [authorizer] = [
        one
        for one in properties(synthesis().service["dev"], "AWS::ApiGateway::Authorizer")
        if one["IdentitySource"].endswith(f".{header}")
    ]
    assert authorizer["AuthorizerResultTtlInSeconds"] == 3600
    return authorizer
