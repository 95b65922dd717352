"""Metrics that CloudWatch Logs makes of log lines: what no service counts in the way that an alarm needs it."""

from __future__ import annotations

from aws_cdk import aws_logs as logs
from constructs import Construct

from infra import criteria
from infra.environment import Environment
from infra.watched import Watched, WatchedDocuments

ASKED = "AskedRequests"
FAILED = "FailedRequests"
THROTTLES = "StoreThrottles"

_HAS_FAILED = '$.status = "5*"'  # the access log has strings only
# Health checks and files of the page are requested often, and succeed even when no question is answered, so they would
# hide an outage. Those that fail are counted.
_UNASKED = ("/api/health", "/", "/page/*")
_ASKS = " && ".join(f'($.resourcePath != "{path}")' for path in _UNASKED)
_IS_THROTTLED = '$.message = "DynamoDB throttled a request"'  # gleaner/stores/failures.py


class LogMetrics(Construct):
    """The metric filters. None has a default value: a metric costs nothing in an hour in which it is not written."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        watched: Watched,
        documents: WatchedDocuments | None,
    ) -> None:
        super().__init__(scope, id)
        self._namespace = criteria.namespace(environment)
        self._count(ASKED, f"{{ ({_HAS_FAILED}) || ({_ASKS}) }}", watched.access_log)
        self._count(FAILED, f"{{ {_HAS_FAILED} }}", watched.access_log)
        self._count(THROTTLES, f"{{ {_IS_THROTTLED} }}", watched.query_log)
        self._count(THROTTLES, f"{{ {_IS_THROTTLED} }}", watched.prune_log, id=f"{THROTTLES}OfPruning")
        if documents is not None:
            self._count(THROTTLES, f"{{ {_IS_THROTTLED} }}", documents.ingest_log, id=f"{THROTTLES}OfIngestion")

    def _count(self, metric: str, pattern: str, log_group: str, *, id: str = "") -> None:
        """Count the lines of a log group that match a pattern.

        Syntax: docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html, "JSON log events".
        """
        logs.CfnMetricFilter(
            self,
            id or metric,
            log_group_name=log_group,
            filter_pattern=pattern,
            metric_transformations=[
                logs.CfnMetricFilter.MetricTransformationProperty(
                    metric_name=metric, metric_namespace=self._namespace, metric_value="1", unit="Count"
                )
            ],
        )
