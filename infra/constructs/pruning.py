"""The prune function and its schedule."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.grants import allow
from infra.constructs.python_function import PythonFunction
from infra.constructs.schedules import retry_runs, schedule
from infra.data_stack import DataStack
from infra.environment import Environment

_DELIVERY_RETRIES = 3  # by the scheduler, when Lambda does not accept the event
_RUN_RETRIES = 2  # by Lambda, when a run fails


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
            layers=[layer],
            size=environment.prune,
            variables=_variables(environment, data),
        )
        self.function = python.function
        self.log_group = python.log_group
        actions = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
        allow(python.role, data.tables.keywords, actions)
        self.dead_letters = self._dead_letters()
        retry_runs(
            self,
            function=self.function,
            role=python.role,
            retries=_RUN_RETRIES,
            dead_letters=self.dead_letters,
        )
        schedule(
            self,
            description="Prunes keywords",
            expression=f"rate({environment.pruning.every_hours} hours)",
            flexible_minutes=environment.pruning.flexible_minutes,
            function=self.function,
            retries=_DELIVERY_RETRIES,
            dead_letters=self.dead_letters,
        )

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


def _variables(environment: Environment, data: DataStack) -> dict[str, str]:
    pruning = environment.pruning
    return {
        "POWERTOOLS_METRICS_NAMESPACE": criteria.namespace(environment),
        "KEYWORDS_TABLE": data.tables.keywords.table_name,
        "MAX_AGE_DAYS": f"{pruning.max_age_days:g}",
        "MIN_USAGE": str(pruning.min_usage),
        "HARD_MAX_AGE_DAYS": f"{pruning.hard_max_age_days:g}",
    }
