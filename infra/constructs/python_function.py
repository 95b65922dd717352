"""A Lambda function with its own role and log group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.environment import Environment, Function
from infra.retention import log_group

_NOT_SHIPPED = ["__pycache__", "*.pyc"]


class PythonFunction(Construct):
    """The function, its role and its log group. The role may write this log and traces, nothing else."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        description: str,
        code: Path,
        layers: Sequence[lambda_.ILayerVersion] = (),
        size: Function,
        variables: Mapping[str, str] | None = None,
        version_description: str | None = None,
        invokes_itself: bool = False,
    ) -> None:
        """`version_description`: CloudFormation publishes a new version whenever it changes.

        Unless it `invokes_itself`, Lambda ends it when its own messages come back to it.
        """
        super().__init__(scope, id)
        self.log_group = log_group(self, "Logs", environment=environment)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            code=lambda_.Code.from_asset(str(code), exclude=_NOT_SHIPPED),
            handler="handler.lambda_handler",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            layers=list(layers) or None,
            memory_size=size.memory_mb,
            timeout=Duration.seconds(size.timeout_seconds),
            reserved_concurrent_executions=size.reserved_concurrency,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if size.snap_start else None,
            environment=dict(variables) if variables else None,
            current_version_options=lambda_.VersionOptions(description=version_description),
            recursive_loop=lambda_.RecursiveLoop.ALLOW if invokes_itself else None,
            role=self.role,
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel.INFO,
            system_log_level_v2=lambda_.SystemLogLevel.INFO,
            tracing=lambda_.Tracing.ACTIVE,
        )
        self._acknowledge()

    def _acknowledge(self) -> None:
        acknowledge(
            self.role,
            "AwsSolutions-IAM5[Resource::*]",
            "xray:PutTraceSegments and xray:PutTelemetryRecords, the only actions on it, do not support resources.",
        )
        acknowledge(
            self.function,
            "AwsSolutions-L1",
            "Python 3.13 is the newest version that the runtime code is tested with.",
        )
