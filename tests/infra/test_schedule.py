"""The schedules: pruning, and the weekly invocation that keeps the snapshot of the query function."""

from __future__ import annotations

import json
from typing import Any

from infra.environment import Environment
from tests.infra.synthesis import EVERY, Synthesis, Template, functions, properties, resources

PRUNING, UPKEEP = "Prunes keywords", "Keeps the snapshot of the query function"


@EVERY
def test_pruning_runs_regularly_with_retries_and_dead_letters(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    schedule = _schedule(template, PRUNING)
    (queue,) = resources(template, "AWS::SQS::Queue")
    assert schedule["ScheduleExpression"] == f"rate({environment.pruning.every_hours} hours)"
    assert schedule["FlexibleTimeWindow"]["Mode"] == "FLEXIBLE"
    target = schedule["Target"]
    assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}
    assert target["RetryPolicy"] == {"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 3600}
    function = template["Resources"][target["Arn"]["Fn::GetAtt"][0]]["Properties"]
    assert function == functions(template)["prune"]


@EVERY
def test_a_run_that_keeps_failing_goes_to_the_dead_letters(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    config = _runs(template, "$LATEST")  # the version that the schedule invokes
    (queue,) = resources(template, "AWS::SQS::Queue")
    runs = config["Properties"]
    assert template["Resources"][runs["FunctionName"]["Ref"]]["Properties"] == functions(template)["prune"]
    assert runs["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": [queue, "Arn"]}}}
    assert (runs["MaximumRetryAttempts"], runs["MaximumEventAgeInSeconds"]) == (2, 3600)
    # The role gets the permission to send to the queue first, because Lambda checks it.
    policies = resources(template, "AWS::IAM::Policy")
    assert any(policy in config["DependsOn"] and "sqs:SendMessage" in str(policies[policy]) for policy in policies)


@EVERY
def test_the_pruning_rules_are_those_of_the_environment(synthesised: Synthesis, environment: Environment) -> None:
    variables = functions(synthesised.service[environment.name])["prune"]["Environment"]["Variables"]
    assert variables["MAX_AGE_DAYS"] == str(environment.pruning.max_age_days)
    assert variables["MIN_USAGE"] == str(environment.pruning.min_usage)
    assert variables["HARD_MAX_AGE_DAYS"] == str(environment.pruning.hard_max_age_days)


@EVERY
def test_the_version_in_use_is_invoked_twice_before_it_becomes_inactive(
    synthesised: Synthesis, environment: Environment
) -> None:
    template = synthesised.service[environment.name]
    schedule = _schedule(template, UPKEEP)
    (alias,) = resources(template, "AWS::Lambda::Alias")
    (queue,) = resources(template, "AWS::SQS::Queue")
    assert schedule["ScheduleExpression"] == "rate(7 days)"  # after 14 days without an invocation it sleeps
    target = schedule["Target"]
    assert target["Arn"] == {"Ref": alias}
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 1
    assert target["DeadLetterConfig"] == {"Arn": {"Fn::GetAtt": [queue, "Arn"]}}
    config = _runs(template, "live")
    runs = config["Properties"]
    assert template["Resources"][runs["FunctionName"]["Ref"]]["Properties"] == functions(template)["query"]
    assert runs["DestinationConfig"] == {"OnFailure": {"Destination": {"Fn::GetAtt": [queue, "Arn"]}}}
    assert runs["MaximumRetryAttempts"] == 1
    assert alias in config["DependsOn"]  # Lambda knows no such qualifier before


@EVERY
def test_the_query_for_dead_letters_reads_the_logs_of_every_function_that_sends_some(
    synthesised: Synthesis, environment: Environment
) -> None:
    template = synthesised.service[environment.name]
    configs = properties(template, "AWS::Lambda::EventInvokeConfig")
    senders = [template["Resources"][config["FunctionName"]["Ref"]]["Properties"] for config in configs]
    logs = {json.dumps(sender["LoggingConfig"]["LogGroup"]) for sender in senders}
    assert len(logs) == 2
    parameters = {one["Name"]: json.dumps(one["Value"]) for one in properties(template, "AWS::SSM::Parameter")}
    definitions = properties(synthesised.watch[environment.name], "AWS::Logs::QueryDefinition")
    [query] = [one for one in definitions if one["Name"].endswith("/DeadLetters")]
    names = [f"/gleaner/{environment.name}/watched/{group['Ref']}" for group in query["LogGroupNames"]]
    assert {parameters[name] for name in names} == logs


def test_a_function_without_a_snapshot_is_not_kept_awake(synthesised: Synthesis) -> None:
    descriptions = {
        one["Description"] for one in properties(synthesised.service["started"], "AWS::Scheduler::Schedule")
    }
    assert descriptions == {PRUNING}


@EVERY
def test_only_the_query_function_has_a_snapshot_to_keep(environment: Environment) -> None:
    assert environment.query.snap_start
    assert not environment.prune.snap_start


def _schedule(template: Template, description: str) -> dict[str, Any]:
    schedules = properties(template, "AWS::Scheduler::Schedule")
    [schedule] = [one for one in schedules if one["Description"] == description]
    return schedule


def _runs(template: Template, qualifier: str) -> dict[str, Any]:
    configs = resources(template, "AWS::Lambda::EventInvokeConfig").values()
    [config] = [one for one in configs if one["Properties"]["Qualifier"] == qualifier]
    return config
