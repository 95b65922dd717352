"""The stack that watches an environment: alarms, dashboard, metrics made of logs, saved queries."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.constructs.log_metrics import LogMetrics
from infra.constructs.metrics import Metrics
from infra.constructs.monitoring import Monitoring
from infra.constructs.saved_queries import SavedQueries
from infra.environment import Environment
from infra.watched import Watched, WatchedDocuments, find_names


class WatchStack(Stack):
    """What only looks. It is deployed last, so that an alarm that CloudWatch refuses rolls back nothing but itself.

    It holds no data, so it is never protected: remove it and deploy it again at any time.
    """

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment.name}: alarms, dashboard, saved queries")
        watched = find_names(self, environment, Watched)
        documents = find_names(self, environment, WatchedDocuments) if environment.documents else None
        LogMetrics(self, "LogMetrics", environment=environment, watched=watched, documents=documents)
        metrics = Metrics(environment, watched, documents)
        monitoring = Monitoring(self, "Monitoring", environment=environment, metrics=metrics)
        SavedQueries(self, "Queries", environment=environment, watched=watched, documents=documents)
        CfnOutput(self, "DashboardUrl", value=monitoring.dashboard_url)
