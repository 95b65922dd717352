"""What CloudWatch knows of one environment: AWS's metrics of its resources, and the functions' own."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from infra import criteria
from infra.constructs.tables import Tables
from infra.criteria import Share
from infra.environments import Environment

_FIVE_MINUTES = Duration.minutes(5)


class Metrics:
    """The metrics of one environment, by what they tell."""

    def __init__(
        self,
        environment: Environment,
        *,
        api: apigateway.RestApi,
        query: lambda_.Function,
        prune: lambda_.Function,
        dead_letters: sqs.Queue,
        tables: Tables,
    ) -> None:
        self._namespace = criteria.namespace(environment)
        self._api = api
        self._query = query
        self._prune = prune
        self._dead_letters = dead_letters
        self._tables = tables

    def own(self, name: str, statistic: str) -> cloudwatch.Metric:
        """A metric that the query function writes."""
        return self._own(name, statistic, service=criteria.SERVICE)

    def share(self, share: Share) -> cloudwatch.Metric:
        """A criterion, from 0 to 1."""
        return self.own(share.metric, "Average")

    def requests(self) -> list[cloudwatch.IMetric]:
        """All requests, and those that callers got wrong."""
        return [
            self._api.metric_count(period=_FIVE_MINUTES, statistic="Sum"),
            self._api.metric_client_error(period=_FIVE_MINUTES, statistic="Sum"),
        ]

    def server_errors(self) -> cloudwatch.Metric:
        """Requests that failed, as a share of all: the average of this metric is that."""
        return self._api.metric_server_error(period=_FIVE_MINUTES, statistic="Average")

    def query_throttles(self) -> cloudwatch.Metric:
        """Invocations that found no free environment."""
        return self._query.metric_throttles(period=_FIVE_MINUTES, statistic="Sum")

    def prune_errors(self) -> cloudwatch.Metric:
        """Runs of pruning that failed."""
        return self._prune.metric_errors(period=_FIVE_MINUTES, statistic="Sum")

    def dead_letters(self) -> cloudwatch.Metric:
        """Starts of pruning that were given up."""
        return self._dead_letters.metric_approximate_number_of_messages_visible(
            period=_FIVE_MINUTES, statistic="Maximum"
        )

    def pruned_keywords(self) -> cloudwatch.Metric:
        """Keywords that runs of pruning took out of use."""
        return self._own("KeywordsPruned", "Sum", service=criteria.PRUNE_SERVICE)

    def store_throttles(self) -> cloudwatch.MathExpression:
        """Reads and writes that DynamoDB throttled, in all tables."""
        tables = {
            "keywords": self._tables.keywords,
            "conversations": self._tables.conversations,
            "calls": self._tables.tool_calls,
            "idempotency": self._tables.idempotency,
        }
        metrics: dict[str, cloudwatch.IMetric] = {}
        for name, table in tables.items():
            metrics[f"{name}Reads"] = _throttles(table, "ReadThrottleEvents")
            metrics[f"{name}Writes"] = _throttles(table, "WriteThrottleEvents")
        return cloudwatch.MathExpression(
            expression=" + ".join(f"FILL({name}, 0)" for name in metrics),
            using_metrics=metrics,
            label="throttled",
            period=_FIVE_MINUTES,
        )

    def _own(self, name: str, statistic: str, *, service: str) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=self._namespace,
            metric_name=name,
            dimensions_map={"service": service},
            statistic=statistic,
            period=_FIVE_MINUTES,
        )


def _throttles(table: dynamodb.TableV2, name: str) -> cloudwatch.Metric:
    return table.metric(name, statistic="Sum", period=_FIVE_MINUTES)
