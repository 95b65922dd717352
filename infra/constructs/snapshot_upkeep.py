"""A weekly invocation of the query function, so that Lambda keeps its snapshot."""

from __future__ import annotations

import json

from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.constructs.query_function import QueryFunction
from infra.constructs.schedules import retry_runs, schedule
from infra.environment import Environment

_RETRIES = 1
_FLEXIBLE_MINUTES = 60
_HEALTH = "/api/health"


class SnapshotUpkeep(Construct):
    """Asks the alias `live` for its health every week.

    A version with a snapshot becomes inactive when nobody invokes it for 14 days; its next callers then get
    SnapStartNotReadyException until it is active again ("Activating and managing Lambda SnapStart", "Lambda SnapStart
    and function states", and "Troubleshooting SnapStart errors" in Lambda's developer guide).
    """

    def __init__(
        self, scope: Construct, id: str, *, environment: Environment, query: QueryFunction, dead_letters: sqs.Queue
    ) -> None:
        super().__init__(scope, id)
        retry_runs(
            self,
            function=query.function,
            alias=query.live,
            role=query.role,
            retries=_RETRIES,
            dead_letters=dead_letters,
        )
        schedule(
            self,
            description="Keeps the snapshot of the query function",
            expression="rate(7 days)",
            flexible_minutes=_FLEXIBLE_MINUTES,
            function=query.live,
            event=json.dumps(_health_event(environment)),
            retries=_RETRIES,
            dead_letters=dead_letters,
        )


def _health_event(environment: Environment) -> dict[str, object]:
    """What API Gateway sends for `GET /api/health`.

    The scheduler puts the id of the execution into it: "Adding context attributes" in EventBridge Scheduler's guide.
    """
    return {
        "resource": _HEALTH,
        "path": _HEALTH,
        "httpMethod": "GET",
        "headers": {},
        "multiValueHeaders": {},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "resourcePath": _HEALTH,
            "httpMethod": "GET",
            "path": f"/{environment.name}{_HEALTH}",
            "stage": environment.name,
            "requestId": "<aws.scheduler.execution-id>",
            "identity": {},
        },
        "body": None,
        "isBase64Encoded": False,
    }
