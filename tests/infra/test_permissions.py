"""Each role has exactly the permissions that are listed here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from infra.environment import Environment
from tests.infra.synthesis import EVERY, WITHOUT, Synthesis, functions, one, properties, resources

LOGS = {"logs:CreateLogStream", "logs:PutLogEvents"}
TRACES = {"xray:PutTelemetryRecords", "xray:PutTraceSegments"}
READ = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"}
WRITE = {"dynamodb:PutItem", "dynamodb:UpdateItem"}
KEYWORDS = READ | WRITE | {"dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}
QUERY_MAY = {
    "Keywords": KEYWORDS,
    "Keywords/index/by_last_use": {"dynamodb:Query"},
    "Conversations": READ | WRITE | {"dynamodb:BatchWriteItem"},
    "Conversations/index/by_owner": {"dynamodb:Query"},
    "ToolCalls": READ | WRITE | {"dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:PartiQLInsert"},
    "ToolCalls/index/by_session": {"dynamodb:Query"},
    "ToolCalls/index/by_tool": {"dynamodb:Query"},
    "ToolCalls/index/by_status": {"dynamodb:Query"},
    "Idempotency": {"dynamodb:GetItem", "dynamodb:DeleteItem"} | WRITE,
    "Access": {"dynamodb:BatchGetItem"},
    "Usage": READ | {"dynamodb:UpdateItem", "dynamodb:BatchWriteItem", "dynamodb:PartiQLUpdate"},
    "Documents": {"dynamodb:GetItem", "dynamodb:Query", "dynamodb:DeleteItem"} | WRITE,
    "Documents/index/by_state": {"dynamodb:Query"},
    "Documents/index/by_uploader": {"dynamodb:Query"},
    "the objects": {"s3:PutObject", "s3:DeleteObject"},
    "ApiKeys": {"secretsmanager:GetSecretValue"},
    "the dead letters": {"sqs:SendMessage"},  # of the weekly invocation
    "its log": LOGS,
    "*": TRACES,
}
PRUNE_MAY = {
    "Keywords": KEYWORDS,
    "Keywords/index/by_last_use": {"dynamodb:Query"},
    "the dead letters": {"sqs:SendMessage"},
    "its log": LOGS,
    "*": TRACES,
}
INGEST_MAY = {
    "Documents": {"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"},
    "the objects": {"s3:GetObject"},
    "the bucket": {"s3:ListBucket"},
    "the queue": {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:SendMessage"},
    "ApiKeys": {"secretsmanager:GetSecretValue"},
    "its log": LOGS,
    "*": TRACES,
}
BACKFILL_MAY = {
    "the bucket": {"s3:ListBucket"},
    "the queue": {"sqs:SendMessage"},
    "itself": {"states:StartExecution"},
    "its executions": {"states:DescribeExecution", "states:StopExecution"},
}
SCHEDULES_MAY = {
    "Prunes keywords": {"the prune function": {"lambda:InvokeFunction"}, "the dead letters": {"sqs:SendMessage"}},
    "Keeps the snapshot of the query function": {
        "the alias": {"lambda:InvokeFunction"},
        "the dead letters": {"sqs:SendMessage"},
    },
}


@EVERY
def test_the_query_function_has_only_these_permissions(synthesised: Synthesis, environment: Environment) -> None:
    assert _allowed(synthesised.service[environment.name], "query") == QUERY_MAY


@EVERY
def test_the_prune_function_can_access_neither_conversations_nor_the_secret(
    synthesised: Synthesis, environment: Environment
) -> None:
    assert _allowed(synthesised.service[environment.name], "prune") == PRUNE_MAY


def test_without_a_bucket_the_query_function_has_no_objects(synthesised: Synthesis) -> None:
    allowed = _allowed(synthesised.service[WITHOUT.name], "query")
    assert allowed == {name: actions for name, actions in QUERY_MAY.items() if name != "the objects"}


@EVERY
def test_the_ingest_function_reads_the_bucket_and_changes_nothing_there(
    synthesised: Synthesis, environment: Environment
) -> None:
    assert _allowed(synthesised.documents[environment.name], "ingest") == INGEST_MAY


@EVERY
def test_a_backfill_may_list_the_bucket_and_fill_the_queue(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.documents[environment.name]
    machine = one(template, "AWS::StepFunctions::StateMachine")
    assert _permissions(template, machine["RoleArn"]) == BACKFILL_MAY


@pytest.mark.parametrize("queue", ["Queue", "Undelivered"])
def test_only_the_rule_of_this_bucket_may_send_to_the_queues(synthesised: Synthesis, queue: str) -> None:
    template = synthesised.documents["prod"]
    policies = resources(template, "AWS::SQS::QueuePolicy")
    [policy] = [one["Properties"] for name, one in policies.items() if name.startswith(f"Events{queue}Policy")]
    [rule] = resources(template, "AWS::Events::Rule")
    denial, permission = policy["PolicyDocument"]["Statement"]
    assert (denial["Effect"], denial["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert permission["Principal"] == {"Service": "events.amazonaws.com"}
    assert permission["Condition"] == {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": [rule, "Arn"]}}}


def test_the_authorizer_may_do_nothing_but_log_and_trace(synthesised: Synthesis) -> None:
    assert _allowed(synthesised.service["dev"], "authorizer") == {"its log": LOGS, "*": TRACES}


@EVERY
def test_the_schedules_have_only_these_permissions(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    allowed = {
        schedule["Description"]: _permissions(template, schedule["Target"]["RoleArn"])
        for schedule in properties(template, "AWS::Scheduler::Schedule")
    }
    assert allowed == SCHEDULES_MAY


@pytest.mark.parametrize("name", ["staging", "prod"])
def test_codedeploy_has_its_own_policy_and_takes_the_role_for_this_account_only(
    synthesised: Synthesis, name: str
) -> None:
    template = synthesised.service[name]
    group = one(template, "AWS::CodeDeploy::DeploymentGroup")
    role = template["Resources"][group["ServiceRoleArn"]["Fn::GetAtt"][0]]["Properties"]
    assert json.dumps(role["ManagedPolicyArns"]).count("arn:") == 1
    assert "service-role/AWSCodeDeployRoleForLambdaLimited" in json.dumps(role["ManagedPolicyArns"])
    assert _permissions(template, group["ServiceRoleArn"]) == {}
    [statement] = role["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "codedeploy.amazonaws.com"}
    assert statement["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}


@EVERY
def test_no_function_has_a_managed_or_inline_policy(synthesised: Synthesis, environment: Environment) -> None:
    for template in (synthesised.service[environment.name], synthesised.documents[environment.name]):
        for function in functions(template).values():
            role = template["Resources"][function["Role"]["Fn::GetAtt"][0]]["Properties"]
            assert "ManagedPolicyArns" not in role
            assert "Policies" not in role


def _allowed(template: dict[str, Any], name: str) -> dict[str, set[str]]:
    return _permissions(template, functions(template)[name]["Role"])


def _permissions(template: dict[str, Any], role_arn: Any) -> dict[str, set[str]]:
    """The allowed actions by resource."""
    role = role_arn["Fn::GetAtt"][0]
    allowed: dict[str, set[str]] = {}
    for policy in resources(template, "AWS::IAM::Policy").values():
        if {"Ref": role} not in policy["Properties"]["Roles"]:
            continue
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            assert statement["Effect"] == "Allow"
            for resource in _as_list(statement["Resource"]):
                allowed.setdefault(_short_name(resource), set()).update(_as_list(statement["Action"]))
    return allowed


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _short_name(resource: Any) -> str:
    """A short name for a resource ARN of the template."""
    if resource == "*":
        return "*"
    text = json.dumps(resource)
    for kind in ("Keywords", "Conversations", "ToolCalls", "Idempotency", "Access", "Usage", "Documents"):
        if f"Tables{kind}" in text:
            index = text.partition("/index/")[2].partition('"')[0]
            return f"{kind}/index/{index}" if index else kind
    names = {
        ":execution:": "its executions",
        "BackfillMachine": "itself",
        "EventsQueue": "the queue",
        '/*"': "the objects",
        '"Bucket': "the bucket",
        "ApiKeys": "ApiKeys",
        "Logs": "its log",
        "DeadLetters": "the dead letters",
        "QueryLive": "the alias",
        "Function": "the prune function",
    }
    return next((meaning for part, meaning in names.items() if part in text), text)
