"""The prune function and its schedule."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.grants import allow
from infra.constructs.python_function import PythonFunction
from infra.data_stack import DataStack
from infra.environment import Environment, Pruning

_DELIVERY_RETRIES = 3  # by the scheduler, when Lambda does not accept the event
_RUN_RETRIES = 2  # by Lambda, when a run fails
_MAX_EVENT_AGE_SECONDS = 3600


class ScheduledPruning(Construct):
    """Prunes unused keywords regularly. A run that cannot start or keeps failing ends in the dead-letter queue."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        code: Path,
        layer: lambda_.ILayerVersion,
        data: DataStack,
    ) -> None:
        super().__init__(scope, id)
        python = PythonFunction(
            self,
            "Python",
            environment=environment,
            description=f"Gleaner {environment.name}: prunes unused keywords",
            code=code,
            layer=layer,
            size=environment.prune,
            variables=_variables(environment, data),
        )
        self.function = python.function
        self.log_group = python.log_group
        actions = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
        allow(python.role, data.tables.keywords, actions)
        self.dead_letters = self._dead_letters()
        self._retry_runs(python.role)
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

    def _retry_runs(self, role: iam.Role) -> None:
        """Let Lambda retry failed runs: the scheduler only retries until Lambda accepts the event."""
        role.add_to_policy(_allow_sending(self.dead_letters))
        config = lambda_.CfnEventInvokeConfig(
            self,
            "Runs",
            function_name=self.function.function_name,
            qualifier="$LATEST",
            maximum_retry_attempts=_RUN_RETRIES,
            maximum_event_age_in_seconds=_MAX_EVENT_AGE_SECONDS,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=self.dead_letters.queue_arn)
            ),
        )
        config.node.add_dependency(role)  # Lambda rejects a destination that the role may not send to

    def _schedule(self, pruning: Pruning) -> None:
        role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
        )
        invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self.function.function_arn])
        policy = iam.Policy(
            self, "SchedulePolicy", statements=[invoke, _allow_sending(self.dead_letters)], roles=[role]
        )
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
                    maximum_retry_attempts=_DELIVERY_RETRIES, maximum_event_age_in_seconds=_MAX_EVENT_AGE_SECONDS
                ),
                dead_letter_config=scheduler.CfnSchedule.DeadLetterConfigProperty(arn=self.dead_letters.queue_arn),
            ),
        )
        schedule.node.add_dependency(policy)


def _allow_sending(queue: sqs.Queue) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[queue.queue_arn])


def _variables(environment: Environment, data: DataStack) -> dict[str, str]:
    pruning = environment.pruning
    return {
        "POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(environment),
        "KEYWORDS_TABLE": data.tables.keywords.table_name,
        "MAX_AGE_DAYS": f"{pruning.max_age_days:g}",
        "MIN_USAGE": str(pruning.min_usage),
        "HARD_MAX_AGE_DAYS": f"{pruning.hard_max_age_days:g}",
    }
