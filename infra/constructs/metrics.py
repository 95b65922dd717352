"""The CloudWatch metrics of one environment: those that AWS publishes and the functions' custom metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from infra import criteria
from infra.alarm_bars import Bar, FailureBar
from infra.constructs import log_metrics
from infra.constructs.tables import CONVERSATION_INDEXES, DOCUMENT_INDEXES, KEYWORD_INDEXES, TOOL_CALL_INDEXES, Index
from infra.environment import Environment
from infra.watched import Watched, WatchedDocuments

_FIVE_MINUTES = Duration.minutes(5)


class Metrics:
    """Creates the metrics of one environment."""

    def __init__(self, environment: Environment, watched: Watched, documents: WatchedDocuments | None) -> None:
        self._environment = environment
        self._namespace = criteria.namespace(environment)
        self._watched = watched
        self.documents = DocumentMetrics(self._namespace, documents) if documents else None

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

    def spending(self, period: Duration) -> cloudwatch.Metric:
        """The estimated cost of the questions of a period, in USD."""
        return self.custom("EstimatedCost", "Sum", period=period)

    def requests(self) -> list[cloudwatch.IMetric]:
        """All requests, and those with client errors."""
        api = {"ApiName": f"gleaner-{self._environment.name}"}
        return [_metric("AWS/ApiGateway", name, "Sum", api) for name in ("Count", "4XXError")]

    def server_errors(self, bar: FailureBar) -> cloudwatch.MathExpression:
        """The share of requests that failed, without those that ask nothing and succeed; no data below the bar's count.

        Both metrics count lines of the access log.
        """
        period = Duration.minutes(bar.minutes)
        return cloudwatch.MathExpression(
            expression=f"IF(failed >= {bar.failures}, failed / asked)",
            using_metrics={
                "failed": self._of_log(log_metrics.FAILED, period),
                "asked": self._of_log(log_metrics.ASKED, period),
            },
            label="failed",
            period=period,
        )

    def query_throttles(self) -> cloudwatch.Metric:
        """Invocations that were throttled because no concurrency was left."""
        return _metric("AWS/Lambda", "Throttles", "Sum", {"FunctionName": self._watched.query_function})

    def prune_errors(self) -> cloudwatch.Metric:
        """Pruning runs that failed."""
        return _metric("AWS/Lambda", "Errors", "Sum", {"FunctionName": self._watched.prune_function})

    def dead_letters(self) -> cloudwatch.Metric:
        """Scheduled runs that were given up, because they could not start or kept failing."""
        dimensions = {"QueueName": self._watched.dead_letters}
        return _metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", dimensions)

    def pruning(self, *names: str) -> list[cloudwatch.IMetric]:
        """Metrics that the prune function emits, once for each run."""
        return [self._custom(name, "Sum", service=criteria.PRUNE_SERVICE) for name in names]

    def store_throttles(self) -> cloudwatch.Metric:
        """Requests of the functions that DynamoDB throttled, whatever the table."""
        return self._of_log(log_metrics.THROTTLES, _FIVE_MINUTES)

    def throttled_tables(self) -> list[cloudwatch.IMetric]:
        """Reads and writes that DynamoDB counted as throttled, by table, including its indexes; for the dashboard.

        A write that an index cannot take is throttled for the table too, but counted under the index only.
        """
        watched = self._watched
        return [
            _throttles("Keywords", watched.keywords_table, KEYWORD_INDEXES),
            _throttles("Conversations", watched.conversations_table, CONVERSATION_INDEXES),
            _throttles("ToolCalls", watched.tool_calls_table, TOOL_CALL_INDEXES),
            _throttles("Idempotency", watched.idempotency_table, ()),
            _throttles("Access", watched.access_table, ()),
            _throttles("Usage", watched.usage_table, ()),
            _throttles("Documents", watched.documents_table, DOCUMENT_INDEXES),
        ]

    def _of_log(self, name: str, period: Duration) -> cloudwatch.Metric:
        return cloudwatch.Metric(namespace=self._namespace, metric_name=name, statistic="Sum", period=period)

    def _custom(
        self, name: str, statistic: str, *, service: str, period: Duration = _FIVE_MINUTES
    ) -> cloudwatch.Metric:
        return _of_service(self._namespace, name, statistic, service=service, period=period)


class DocumentMetrics:
    """Creates the metrics of what loads documents."""

    def __init__(self, namespace: str, watched: WatchedDocuments) -> None:
        self._namespace = namespace
        self._watched = watched

    def loaded(self, *names: str) -> list[cloudwatch.IMetric]:
        """Metrics that the ingest function emits."""
        return [_of_service(self._namespace, name, "Sum", service=criteria.INGEST_SERVICE) for name in names]

    def age(self) -> cloudwatch.Metric:
        """How long the oldest message has waited, in seconds, also one that a function has taken."""
        dimensions = {"QueueName": self._watched.document_queue}
        return _metric("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", dimensions)

    def waiting(self) -> list[cloudwatch.IMetric]:
        """Messages that wait, and those that functions have taken."""
        names = ("ApproximateNumberOfMessagesVisible", "ApproximateNumberOfMessagesNotVisible")
        return [_metric("AWS/SQS", name, "Maximum", {"QueueName": self._watched.document_queue}) for name in names]

    def dead_letters(self) -> cloudwatch.Metric:
        """Messages that were given up, because their documents kept failing."""
        return self._left_in(self._watched.document_dead_letters)

    def undelivered(self) -> cloudwatch.Metric:
        """Events that EventBridge could not put into the queue."""
        return self._left_in(self._watched.undelivered_documents)

    def invocations(self) -> list[cloudwatch.IMetric]:
        """Failed invocations of the ingest function, and those that no concurrency was left for."""
        dimensions = {"FunctionName": self._watched.ingest_function}
        return [_metric("AWS/Lambda", name, "Sum", dimensions) for name in ("Errors", "Throttles")]

    def _left_in(self, queue: str) -> cloudwatch.Metric:
        return _metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", {"QueueName": queue})


def _of_service(
    namespace: str, name: str, statistic: str, *, service: str, period: Duration = _FIVE_MINUTES
) -> cloudwatch.Metric:
    """A metric that one of the functions emits."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map={"service": service},
        statistic=statistic,
        period=period,
    )


def _metric(namespace: str, name: str, statistic: str, dimensions: Mapping[str, str]) -> cloudwatch.Metric:
    """A metric that a service of AWS publishes."""
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
        period=_FIVE_MINUTES,
    )


def _throttles(label: str, table: str, indexes: Sequence[Index]) -> cloudwatch.MathExpression:
    metrics: dict[str, cloudwatch.IMetric] = {}
    for index in (None, *(name for name, *_ in indexes)):
        dimensions = {"TableName": table} | ({"GlobalSecondaryIndexName": index} if index else {})
        for kind in ("Read", "Write"):
            id = _identifier(label, index or "", kind)
            metrics[id] = _metric("AWS/DynamoDB", f"{kind}ThrottleEvents", "Sum", dimensions)
    return cloudwatch.MathExpression(
        expression=" + ".join(f"FILL({name}, 0)" for name in metrics),  # DynamoDB publishes no zeros
        using_metrics=metrics,
        label=label,
        period=_FIVE_MINUTES,
    )


def _identifier(*parts: str) -> str:
    """An id for use in an expression; it must start with a lower-case letter."""
    return "_".join(part.lower() for part in parts if part)
