"""The schedule of pruning."""

from __future__ import annotations

from infra.environment import Environment
from tests.infra.synthesis import EVERY, Synthesis, functions, one, resources


@EVERY
def test_pruning_runs_regularly_with_retries_and_dead_letters(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    schedule = one(template, "AWS::Scheduler::Schedule")
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
    (config,) = resources(template, "AWS::Lambda::EventInvokeConfig").values()
    (queue,) = resources(template, "AWS::SQS::Queue")
    runs = config["Properties"]
    assert template["Resources"][runs["FunctionName"]["Ref"]]["Properties"] == functions(template)["prune"]
    assert runs["Qualifier"] == "$LATEST"  # the version that the schedule invokes
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
