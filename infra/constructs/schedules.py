"""Schedules that invoke functions, and where events go that no function took."""

from __future__ import annotations

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

_MAX_EVENT_AGE_SECONDS = 3600


def retry_runs(
    scope: Construct,
    *,
    function: lambda_.IFunction,
    alias: lambda_.Alias | None = None,
    role: iam.Role,
    retries: int,
    dead_letters: sqs.Queue,
) -> None:
    """Let Lambda retry runs of `function` that fail: the scheduler only retries until Lambda accepts the event.

    Runs are those that come by `alias`, or by no version. `role` is the function's.
    """
    role.add_to_policy(_allow_sending(dead_letters))
    config = lambda_.CfnEventInvokeConfig(
        scope,
        "Runs",
        function_name=function.function_name,
        qualifier=alias.alias_name if alias else "$LATEST",
        maximum_retry_attempts=retries,
        maximum_event_age_in_seconds=_MAX_EVENT_AGE_SECONDS,
        destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
            on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=dead_letters.queue_arn)
        ),
    )
    config.node.add_dependency(role)  # Lambda rejects a destination that the role may not send to
    if alias is not None:
        config.node.add_dependency(alias)  # the qualifier is a name, which CloudFormation does not see as a reference


def schedule(
    scope: Construct,
    *,
    description: str,
    expression: str,
    flexible_minutes: int,
    function: lambda_.IFunction,
    event: str | None = None,
    retries: int,
    dead_letters: sqs.Queue,
) -> None:
    """Invoke `function` (a function, version or alias), and nothing else, by a role of the schedule's own.

    `event` is JSON; without one, the function gets an event of the scheduler's. `retries`: by the scheduler, when
    Lambda does not accept the event.
    """
    role = iam.Role(
        scope,
        "ScheduleRole",
        assumed_by=iam.ServicePrincipal(
            "scheduler.amazonaws.com",
            conditions={"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}},
        ),
    )
    invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[function.function_arn])
    policy = iam.Policy(scope, "SchedulePolicy", statements=[invoke, _allow_sending(dead_letters)], roles=[role])
    resource = scheduler.CfnSchedule(
        scope,
        "Schedule",
        description=description,
        schedule_expression=expression,
        flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(
            mode="FLEXIBLE", maximum_window_in_minutes=flexible_minutes
        ),
        target=scheduler.CfnSchedule.TargetProperty(
            arn=function.function_arn,
            role_arn=role.role_arn,
            input=event,
            retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                maximum_retry_attempts=retries, maximum_event_age_in_seconds=_MAX_EVENT_AGE_SECONDS
            ),
            dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=dead_letters.queue_arn),
        ),
    )
    resource.node.add_dependency(policy)


def _allow_sending(queue: sqs.Queue) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn])
