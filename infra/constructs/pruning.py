"""The prune function and the schedule that starts it."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.grants import allow
from infra.constructs.python_function import PythonFunction
from infra.data_stack import DataStack
from infra.environments import Environment, Pruning

_RETRIES = 3
_OLDEST_EVENT_SECONDS = 3600


class KeywordPruning(Construct):
    """Keywords that nobody uses are pruned at a rate; a start that fails for good is kept in a queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        code: Path,
        layer: lambda_.ILayerVersion,
        data: DataStack,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(scope, id)
        made = PythonFunction(
            self,
            "Python",
            description=f"Gleaner {environment.name}: prunes keywords that nobody uses",
            code=code,
            layer=layer,
            size=environment.prune,
            variables=_variables(environment, data),
            log_retention=log_retention,
        )
        self.function = made.function
        self.log_group = made.log_group
        actions = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
        allow(made.role, data.tables.keywords, actions, indexes=("by_last_use",))
        self.dead_letters = self._dead_letters()
        self._schedule(environment.pruning)

    def _dead_letters(self) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            "DeadLetters",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
        )
        acknowledge(queue, "AwsSolutions-SQS3", "This queue is the dead-letter queue.")
        return queue

    def _schedule(self, pruning: Pruning) -> None:
        role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
        )
        may_invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self.function.function_arn])
        may_send = iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[self.dead_letters.queue_arn])
        policy = iam.Policy(self, "SchedulePolicy", statements=[may_invoke, may_send], roles=[role])
        schedule = scheduler.CfnSchedule(
            self,
            "Schedule",
            description="Prunes keywords",
            schedule_expression=f"rate({pruning.every_hours} hours)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(
                mode="FLEXIBLE", maximum_window_in_minutes=pruning.flexible_minutes
            ),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=self.function.function_arn,
                role_arn=role.role_arn,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=_RETRIES, maximum_event_age_in_seconds=_OLDEST_EVENT_SECONDS
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=self.dead_letters.queue_arn),
            ),
        )
        schedule.node.add_dependency(policy)


def _variables(environment: Environment, data: DataStack) -> dict[str, str]:
    pruning = environment.pruning
    return {
        "POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(environment),
        "KEYWORDS_TABLE": data.tables.keywords.table_name,
        "MAX_AGE_DAYS": f"{pruning.max_age_days:g}",
        "MIN_USAGE": str(pruning.min_usage),
        "HARD_MAX_AGE_DAYS": f"{pruning.hard_max_age_days:g}",
    }
