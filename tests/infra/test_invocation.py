"""Who may invoke the alias that the API calls, and whether Lambda takes the policy that says so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.infra.synthesis import ALL_NAMES, Synthesis, one, properties, resources

MAX_POLICY_BYTES = 20_480  # of one function or alias; it cannot be raised (docs.aws.amazon.com/lambda: quotas)
# The longest value that each reference of a permission may have.
LONGEST = {"AWS::Partition": "aws-us-gov", "AWS::Region": "ap-southeast-99", "AWS::AccountId": "1" * 12}
API_ID, FUNCTION, RANDOM = "a" * 10, "f" * 64, "R" * 12


@pytest.mark.parametrize("name", ALL_NAMES)
def test_one_permission_lets_the_stage_of_this_api_invoke_the_alias(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    (alias,) = resources(template, "AWS::Lambda::Alias")
    (api,) = resources(template, "AWS::ApiGateway::RestApi")
    [permission] = [
        one for one in properties(template, "AWS::Lambda::Permission") if one["FunctionName"] == {"Ref": alias}
    ]
    parts = ["arn:", {"Ref": "AWS::Partition"}, ":execute-api:", {"Ref": "AWS::Region"}, ":", {"Ref": "AWS::AccountId"}]
    assert permission == {
        # InvokeWithResponseStream needs this action, too (its page in Lambda's API reference).
        "Action": "lambda:InvokeFunction",
        "FunctionName": {"Ref": alias},
        "Principal": "apigateway.amazonaws.com",
        "SourceArn": {"Fn::Join": ["", [*parts, ":", {"Ref": api}, f"/{name}/*/*"]]},
    }
    # The stage is named so, and the methods call this alias.
    assert one(template, "AWS::ApiGateway::Stage")["StageName"] == name
    called = [method["Integration"] for method in properties(template, "AWS::ApiGateway::Method")]
    assert all(alias in json.dumps(integration) for integration in called if integration["Type"] != "MOCK")


@pytest.mark.parametrize("name", ALL_NAMES)
def test_the_policy_of_the_alias_has_room_for_more(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    (alias,) = resources(template, "AWS::Lambda::Alias")
    statements = [
        _statement(f"gleaner-{name}-service-{logical_id}-{RANDOM}", permission["Properties"])
        for logical_id, permission in resources(template, "AWS::Lambda::Permission").items()
        if permission["Properties"]["FunctionName"] == {"Ref": alias}
    ]
    policy = json.dumps({"Version": "2012-10-17", "Id": "default", "Statement": statements})
    assert len(policy.encode()) < MAX_POLICY_BYTES / 2


def _statement(sid: str, permission: dict[str, Any]) -> dict[str, Any]:
    """What `aws lambda get-policy` shows of a permission that CloudFormation made."""
    region, account = LONGEST["AWS::Region"], LONGEST["AWS::AccountId"]
    return {
        "Sid": sid,
        "Effect": "Allow",
        "Principal": {"Service": permission["Principal"]},
        "Action": permission["Action"],
        "Resource": f"arn:aws-us-gov:lambda:{region}:{account}:function:{FUNCTION}:live",
        "Condition": {"ArnLike": {"AWS:SourceArn": _resolve(permission["SourceArn"])}},
    }


def _resolve(arn: dict[str, Any]) -> str:
    parts = arn["Fn::Join"][1]
    return "".join(part if isinstance(part, str) else LONGEST.get(part["Ref"], API_ID) for part in parts)
