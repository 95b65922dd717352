"""What outlives its stack, since when it is protected, and how long logs are kept."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.created_stacks import CREATED_STACKS
from infra.environment import Environment
from infra.record_checks import LOG_RETENTION_DAYS

_DAYS = dict(
    zip(
        LOG_RETENTION_DAYS,
        (
            logs.RetentionDays.ONE_DAY,
            logs.RetentionDays.ONE_WEEK,
            logs.RetentionDays.ONE_MONTH,
            logs.RetentionDays.THREE_MONTHS,
            logs.RetentionDays.ONE_YEAR,
        ),
        strict=True,
    )
)


def removal_policy(environment: Environment) -> RemovalPolicy:
    """What becomes of data, callers and logs when their stack goes.

    Where the environment keeps its data they stay, except when the very deployment that creates them is rolled back:
    nothing is in them yet.
    """
    return RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if environment.keep_data else RemovalPolicy.DESTROY


def is_protected(stack: Stack, environment: Environment) -> bool:
    """Whether the stack, and what it keeps, must not be deleted: only once its creation has succeeded.

    A protected stack whose creation fails cannot be deleted, and a protected table or user pool cannot be rolled back.
    Without the context, as for `make synth`, it is protected.
    """
    created = stack.node.try_get_context(CREATED_STACKS)
    return environment.keep_data and (created is None or stack.stack_name in created.split(","))


def log_group(scope: Construct, id: str, *, environment: Environment) -> logs.LogGroup:
    """A log group with the environment's retention. It outlives its stack if the data does."""
    return logs.LogGroup(
        scope,
        id,
        retention=_DAYS[environment.log_retention_days],
        removal_policy=removal_policy(environment),
    )
