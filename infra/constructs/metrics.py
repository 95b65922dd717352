"""The CloudWatch metrics of one environment: those that AWS publishes and the functions' custom metrics."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra import criteria
from infra.constructs.tables import CONVERSATION_INDEXES, KEYWORD_INDEXES, TOOL_CALL_INDEXES, Index, Tables
from infra.environment import Bar, Environment, FailureBar

_FIVE_MINUTES = Duration.minutes(5)


class Metrics:
    """Creates the metrics of one environment."""

    def __init__(
        self,
        environment: Environment,
        *,
        api: apigateway.RestApi,
        unasked: Sequence[apigateway.Method],
        query: lambda_.Function,
        prune: lambda_.Function,
        dead_letters: sqs.Queue,
        tables: Tables,
    ) -> None:
        self._namespace = criteria.namespace(environment)
        self._api = api
        self._unasked = unasked  # methods whose requests ask nothing
        self._query = query
        self._prune = prune
        self._dead_letters = dead_letters
        self._tables = tables

    def custom(self, name: str, statistic: str, *, period: Duration = _FIVE_MINUTES) -> cloudwatch.Metric:
        """A metric that the query function emits, once for each question it applies to."""
        return self._custom(name, statistic, service=criteria.SERVICE, period=period)

    def for_bar(self, name: str, statistic: str, bar: Bar) -> cloudwatch.IMetric:
        """A metric over the periods of its bar, without data for periods with too few questions."""
        period = Duration.minutes(bar.minutes)
        value = self.custom(name, statistic, period=period)
        if bar.questions == 1:  # a period without questions has no data anyway
            return value
        return cloudwatch.MathExpression(
            expression=f"IF(questions >= {bar.questions}, value)",
            using_metrics={"questions": self.questions(name, bar), "value": value},
            label=name,
            period=period,
        )

    def questions(self, name: str, bar: Bar | None) -> cloudwatch.Metric:
        """The number of questions that a criterion applied to, over the periods of its bar."""
        return self.custom(name, "SampleCount", period=Duration.minutes(bar.minutes) if bar else _FIVE_MINUTES)

    def requests(self) -> list[cloudwatch.IMetric]:
        """All requests, and those with client errors."""
        return [
            self._api.metric_count(period=_FIVE_MINUTES, statistic="Sum"),
            self._api.metric_client_error(period=_FIVE_MINUTES, statistic="Sum"),
        ]

    def server_errors(self, bar: FailureBar) -> cloudwatch.MathExpression:
        """The share of requests that failed, without those that ask nothing and succeed; no data below the bar's count.

        Health checks and files of the page are requested often, and succeed even when no question is answered, so they
        would hide an outage.
        """
        period = Duration.minutes(bar.minutes)
        stage = self._api.deployment_stage
        metrics: dict[str, cloudwatch.IMetric] = {
            "failed": self._api.metric_server_error(period=period, statistic="Sum"),
            "requests": self._api.metric_count(period=period, statistic="Sum"),
        }
        asked = "requests"
        for number, method in enumerate(self._unasked):
            metrics[f"all_{number}"] = method.metric_count(stage, period=period, statistic="Sum")
            metrics[f"failed_{number}"] = method.metric_server_error(stage, period=period, statistic="Sum")
            asked += f" - FILL(all_{number}, 0) + FILL(failed_{number}, 0)"
        return cloudwatch.MathExpression(
            expression=f"IF(failed >= {bar.failures}, failed / ({asked}))",
            using_metrics=metrics,
            label="failed",
            period=period,
        )

    def query_throttles(self) -> cloudwatch.Metric:
        """Invocations that were throttled because no concurrency was left."""
        return self._query.metric_throttles(period=_FIVE_MINUTES, statistic="Sum")

    def prune_errors(self) -> cloudwatch.Metric:
        """Pruning runs that failed."""
        return self._prune.metric_errors(period=_FIVE_MINUTES, statistic="Sum")

    def dead_letters(self) -> cloudwatch.Metric:
        """Scheduled runs that were given up, because they could not start or kept failing."""
        return self._dead_letters.metric_approximate_number_of_messages_visible(
            period=_FIVE_MINUTES, statistic="Maximum"
        )

    def pruning(self, *names: str) -> list[cloudwatch.IMetric]:
        """Metrics that the prune function emits, once for each run."""
        return [self._custom(name, "Sum", service=criteria.PRUNE_SERVICE) for name in names]

    def store_throttles(self) -> dict[str, cloudwatch.MathExpression]:
        """Reads and writes that DynamoDB throttled, by table, including its indexes.

        A write that an index cannot take is throttled for the table too, but counted under the index only. Each table
        has its own expression because an alarm takes at most ten metrics. DynamoDB emits no zeros, and alarms on its
        metrics keep their state on missing data; FILL lets them recover.
        """
        tables = self._tables
        return {
            "Keywords": _throttles(tables.keywords, KEYWORD_INDEXES),
            "Conversations": _throttles(tables.conversations, CONVERSATION_INDEXES),
            "ToolCalls": _throttles(tables.tool_calls, TOOL_CALL_INDEXES),
            "Idempotency": _throttles(tables.idempotency, ()),
            "Access": _throttles(tables.access, ()),
            "Usage": _throttles(tables.usage, ()),
        }

    def _custom(
        self, name: str, statistic: str, *, service: str, period: Duration = _FIVE_MINUTES
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self._namespace,
            metric_name=name,
            dimensions_map={"service": service},
            statistic=statistic,
            period=period,
        )


def _throttles(table: dynamodb.TableV2, indexes: Sequence[Index]) -> cloudwatch.MathExpression:
    metrics: dict[str, cloudwatch.IMetric] = {}
    for index in (None, *(name for name, *_ in indexes)):
        dimensions = {"TableName": table.table_name} | ({"GlobalSecondaryIndexName": index} if index else {})
        for kind in ("Read", "Write"):
            metrics[_identifier(table.node.id, index or "", kind)] = cloudwatch.Metric(
                namespace="AWS/DynamoDB",
                metric_name=f"{kind}ThrottleEvents",
                dimensions_map=dimensions,
                statistic="Sum",
                period=_FIVE_MINUTES,
            )
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in metrics),
        using_metrics=metrics,
        label=table.node.id,
        period=_FIVE_MINUTES,
    )


def _identifier(*parts: str) -> str:
    """An id for use in an expression; it must start with a lower-case letter."""
    return "_".join(part.lower() for part in parts if part)
