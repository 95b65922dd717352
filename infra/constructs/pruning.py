"""The prune function and the schedule that starts it."""

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
from infra.environments import Environment, Pruning

_RETRIES = 3  # of the scheduler, when Lambda does not take the event
_RUN_RETRIES = 2  # of Lambda, when a run fails
_OLDEST_EVENT_SECONDS = 3600


class KeywordPruning(Construct):
    """Keywords that nobody uses are pruned at a rate; a start or a run that fails for good is kept in a queue."""

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
        made = PythonFunction(
            self,
            "Python",
            environment=environment,
            description=f"Gleaner {environment.name}: prunes keywords that nobody uses",
            code=code,
            layer=layer,
            size=environment.prune,
            variables=_variables(environment, data),
        )
        self.function = made.function
        self.log_group = made.log_group
        actions = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
        allow(made.role, data.tables.keywords, actions, indexes=("by_last_use",))
        self.dead_letters = self._dead_letters()
        self._retry_runs(made.role)
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
        """The scheduler is content when Lambda took its event: a run that fails afterwards is Lambda's to retry."""
        role.add_to_policy(_may_send(self.dead_letters))
        config = lambda_.CfnEventInvokeConfig(
            self,
            "Runs",
            function_name=self.function.function_name,
            qualifier="$LATEST",
            maximum_retry_attempts=_RUN_RETRIES,
            maximum_event_age_in_seconds=_OLDEST_EVENT_SECONDS,
            destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
                on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(destination=self.dead_letters.queue_arn)
            ),
        )
        config.node.add_dependency(role)  # Lambda refuses a destination that the role may not send to

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
        policy = iam.Policy(self, "SchedulePolicy", statements=[may_invoke, _may_send(self.dead_letters)], roles=[role])
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


def _may_send(queue: sqs.Queue) -> iam.PolicyStatement:
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
