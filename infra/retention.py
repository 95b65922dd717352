"""How long logs are kept."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.environment import Environment

_DAYS = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def log_group(scope: Construct, id: str, *, environment: Environment) -> logs.LogGroup:
    """A log group with the environment's retention. It outlives its stack if the data does.

    Raises KeyError if `_DAYS` does not list the number of days.
    """
    return logs.LogGroup(
        scope,
        id,
        retention=_DAYS[environment.log_retention_days],
        removal_policy=RemovalPolicy.RETAIN if environment.keep_data else RemovalPolicy.DESTROY,
    )
