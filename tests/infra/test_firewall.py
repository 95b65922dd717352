"""The web ACL in front of the API: whom it refuses, with which answer, and what its log shows."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from infra.environments import ENVIRONMENTS, PROD
from infra.front import Firewall
from infra.layer_build import ROOT
from infra.prices import AWS
from tests.infra.synthesis import Synthesis, Template, one, properties, resources

# Every rule of the group in its documentation (docs.aws.amazon.com/waf/latest/developerguide: baseline rule groups),
# and whether it may refuse a request. What inspects the text of a caller may not: a question quotes anything.
COMMON_RULES = {
    "NoUserAgent_HEADER": True,
    "UserAgent_BadBots_HEADER": True,
    "SizeRestrictions_QUERYSTRING": False,  # over 2,048 bytes; the text of a keyword look-up has up to 2,000 characters
    "SizeRestrictions_Cookie_HEADER": True,
    "SizeRestrictions_BODY": False,  # over 8 KB; a selected text has up to 100,000 characters
    "SizeRestrictions_URIPATH": True,
    "EC2MetaDataSSRF_BODY": False,
    "EC2MetaDataSSRF_COOKIE": True,
    "EC2MetaDataSSRF_URIPATH": True,
    "EC2MetaDataSSRF_QUERYARGUMENTS": False,
    "GenericLFI_QUERYARGUMENTS": False,
    "GenericLFI_URIPATH": True,
    "GenericLFI_BODY": False,
    "RestrictedExtensions_URIPATH": True,  # ids of documents in paths hold no dots: gleaner/passage_ids.py
    "RestrictedExtensions_QUERYARGUMENTS": False,
    "GenericRFI_QUERYARGUMENTS": False,
    "GenericRFI_BODY": False,
    "GenericRFI_URIPATH": True,
    "CrossSiteScripting_COOKIE": True,
    "CrossSiteScripting_QUERYARGUMENTS": False,
    "CrossSiteScripting_BODY": False,
    "CrossSiteScripting_URIPATH": True,
}
WITH_FIREWALL = pytest.mark.parametrize("name", ["prod", "zone", "reserved"])


def test_prod_has_a_firewall_and_the_others_pay_for_none(synthesised: Synthesis) -> None:
    assert [environment.name for environment in ENVIRONMENTS if environment.firewall] == ["prod"]
    for name in ("dev", "staging"):
        assert not any(type.startswith("AWS::WAFv2") for type in _types(synthesised.service[name]))


@WITH_FIREWALL
def test_it_stands_before_the_stage_of_the_api(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    association = one(template, "AWS::WAFv2::WebACLAssociation")
    [acl], [stage] = resources(template, "AWS::WAFv2::WebACL"), resources(template, "AWS::ApiGateway::Stage")
    assert association["WebACLArn"] == {"Fn::GetAtt": [acl, "Arn"]}
    parts = association["ResourceArn"]["Fn::Join"][1]
    assert parts[-2:] == ["/stages/", {"Ref": stage}]
    assert one(template, "AWS::WAFv2::WebACL")["Scope"] == "REGIONAL"


@WITH_FIREWALL
def test_no_rule_refuses_what_a_question_may_say(synthesised: Synthesis, name: str) -> None:
    rule = _rules(synthesised, name)["AWSManagedRulesCommonRuleSet"]
    overrides = rule["Statement"]["ManagedRuleGroupStatement"]["RuleActionOverrides"]
    assert all(override["ActionToUse"] == {"Count": {}} for override in overrides)
    counted = {override["Name"] for override in overrides}
    assert counted == {rule for rule, refuses in COMMON_RULES.items() if not refuses}


@WITH_FIREWALL
def test_the_groups_of_aws_refuse_with_the_gateways_own_answer(synthesised: Synthesis, name: str) -> None:
    rules = _rules(synthesised, name)
    groups = [rule for rule in rules.values() if "ManagedRuleGroupStatement" in rule["Statement"]]
    assert len(groups) == 2
    assert all(rule["OverrideAction"] == {"None": {}} and "Action" not in rule for rule in groups)
    refused = properties(synthesised.service[name], "AWS::ApiGateway::GatewayResponse")
    [response] = [response for response in refused if response["ResponseType"] == "WAF_FILTERED"]
    assert response["StatusCode"] == "403"


@pytest.mark.parametrize(("name", "limit", "origin"), [("prod", 2_000, None), ("zone", 10, "*")])
def test_an_address_that_sends_too_much_is_told_when_to_come_back(
    synthesised: Synthesis, name: str, limit: int, origin: str | None
) -> None:
    rule = _rules(synthesised, name)["BusyAddress"]
    statement = rule["Statement"]["RateBasedStatement"]
    assert statement == {"AggregateKeyType": "IP", "EvaluationWindowSec": 300, "Limit": limit}
    response = rule["Action"]["Block"]["CustomResponse"]
    headers = {header["Name"]: header["Value"] for header in response["ResponseHeaders"]}
    assert (response["ResponseCode"], headers["Retry-After"]) == (429, str(statement["EvaluationWindowSec"]))
    assert headers.get("Access-Control-Allow-Origin") == origin
    # API_CustomResponse: any header name except content-type; the format of the body decides it.
    assert "content-type" not in map(str.lower, headers)
    body = one(synthesised.service[name], "AWS::WAFv2::WebACL")["CustomResponseBodies"]
    assert body[response["CustomResponseBodyKey"]]["ContentType"] == "APPLICATION_JSON"


def test_that_answer_is_a_problem_and_an_error_of_the_openai_api(synthesised: Synthesis) -> None:
    [body] = one(synthesised.service["prod"], "AWS::WAFv2::WebACL")["CustomResponseBodies"].values()
    assert "$context" not in body["Content"]  # AWS WAF replaces nothing in it
    problem = json.loads(body["Content"])
    assert (problem["type"], problem["status"]) == ("urn:gleaner:problem:throttled", 429)
    assert problem["error"]["code"] == "rate_limit_exceeded"
    assert problem["error"]["message"] == problem["detail"]
    assert len(body["Content"]) <= 4096  # AWS WAF quotas: a custom response body


@WITH_FIREWALL
def test_neither_credentials_nor_questions_are_in_logs_and_samples(synthesised: Synthesis, name: str) -> None:
    config = one(synthesised.service[name], "AWS::WAFv2::WebACL")["DataProtectionConfig"]["DataProtections"]
    assert all(protection["Action"] == "SUBSTITUTION" for protection in config)
    assert not any({"ExcludeRuleMatchDetails", "ExcludeRateBasedDetails"} & protection.keys() for protection in config)
    fields = [protection["Field"] for protection in config]
    headers = [key for field in fields if field["FieldType"] == "SINGLE_HEADER" for key in field["FieldKeys"]]
    assert set(headers) == {"authorization", "x-api-key", "cookie"}
    assert {field["FieldType"] for field in fields} == {"SINGLE_HEADER", "BODY", "QUERY_STRING"}


def test_the_log_has_what_the_record_says_and_the_environments_retention(synthesised: Synthesis) -> None:
    prod, zone = (one(synthesised.service[name], "AWS::WAFv2::LoggingConfiguration") for name in ("prod", "zone"))
    assert prod["LoggingFilter"]["DefaultBehavior"] == "DROP"
    [kept] = prod["LoggingFilter"]["Filters"]
    assert (kept["Behavior"], kept["Conditions"]) == ("KEEP", [{"ActionCondition": {"Action": "BLOCK"}}])
    assert "LoggingFilter" not in zone
    assert not resources(synthesised.service["reserved"], "AWS::WAFv2::LoggingConfiguration")
    [group] = _waf_log_groups(synthesised.service["prod"])
    assert group["RetentionInDays"] == PROD.log_retention_days
    assert not _waf_log_groups(synthesised.service["reserved"])


def test_the_log_of_a_stack_that_is_gone_is_in_nobodys_way(synthesised: Synthesis) -> None:
    [group] = _waf_log_groups(synthesised.service["prod"])
    prefix, unique = group["LogGroupName"]["Fn::Join"][1]
    assert prefix == "aws-waf-logs-gleaner-prod-"
    assert "AWS::StackId" in json.dumps(unique)


def test_the_handbook_prices_the_firewall(synthesised: Synthesis) -> None:
    rules = len(_rules(synthesised, "prod"))
    month = AWS.web_acl_month + rules * AWS.web_acl_rule_month
    figures = f"{AWS.web_acl_month:.2f} + {rules} × {AWS.web_acl_rule_month:.2f} = {month:.2f} USD"
    assert figures in (ROOT / "docs" / "11-costs-and-limits.md").read_text()
    price = f"{month:.2f} USD a month and {AWS.web_acl_request_million:.2f} USD for a million requests"
    for file in ("README.md", "docs/11-costs-and-limits.md"):
        assert price in " ".join((ROOT / file).read_text().split())


@pytest.mark.parametrize("limit", [0, 9, -1, 2_000_000_001])
def test_limits_that_aws_waf_does_not_take_are_refused(limit: int) -> None:
    with pytest.raises(ValueError, match="10 to"):
        replace(PROD, firewall=Firewall(requests_per_address=limit))


def _rules(synthesised: Synthesis, name: str) -> dict[str, dict[str, Any]]:
    rules = one(synthesised.service[name], "AWS::WAFv2::WebACL")["Rules"]
    assert [rule["Priority"] for rule in rules] == sorted({rule["Priority"] for rule in rules})
    return {rule["Name"]: rule for rule in rules}


def _types(template: Template) -> set[str]:
    return {resource["Type"] for resource in template["Resources"].values()}


def _waf_log_groups(template: Template) -> list[dict[str, Any]]:
    groups = properties(template, "AWS::Logs::LogGroup")
    return [group for group in groups if "aws-waf-logs-" in json.dumps(group.get("LogGroupName"))]
