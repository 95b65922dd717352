"""CodeDeploy moves the alias `live` to a new version in two steps, and back if an alarm fires in between.

Sources: "UpdatePolicy attribute" of CloudFormation's template reference; "Configure advanced options for a deployment
group" and "AWS managed policies" in CodeDeploy's user guide; "Deploying serverless applications gradually" in SAM's
developer guide, whose alarm on the latest version has the dimensions of the alarms here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_codedeploy as codedeploy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import criteria
from infra.acknowledge import acknowledge
from infra.constructs.query_function import QueryFunction
from infra.environment import CANARY_MINUTES, Canary, Environment

_MINUTE = Duration.minutes(1)
_CONFIGS = dict(
    zip(
        CANARY_MINUTES,
        (
            codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
            codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_10_MINUTES,
            codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_15_MINUTES,
            codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_30_MINUTES,
        ),
        strict=True,
    )
)
_CONTEXT, _OFF = "canary", "off"  # `cdk deploy --context canary=off`


class CanaryDeployment(Construct):
    """The deployment group, its role, and an alarm for everything that rolls a version back."""

    def __init__(
        self, scope: Construct, id: str, *, environment: Environment, canary: Canary, query: QueryFunction
    ) -> None:
        super().__init__(scope, id)
        self._canary = canary
        self._query = query
        self._version = query.function.current_version.version
        group = codedeploy.LambdaDeploymentGroup(
            self,
            "Group",
            application=codedeploy.LambdaApplication(self, "Application"),
            alias=query.live,
            deployment_config=_CONFIGS[canary.minutes],
            alarms=self._alarms(criteria.namespace(environment)),
            auto_rollback=codedeploy.AutoRollbackConfig(
                failed_deployment=True, stopped_deployment=True, deployment_in_alarm=True
            ),
            role=self._role(),
        )
        alias = cast(lambda_.CfnAlias, query.live.node.default_child)
        alias.node.add_dependency(group)
        if self._is_skipped():  # CloudFormation moves the alias itself; everything else stays for the next deployment
            alias.cfn_options.update_policy = None

    def _is_skipped(self) -> bool:
        value = self.node.try_get_context(_CONTEXT)
        if value not in (None, _OFF):
            raise ValueError(f"The context {_CONTEXT} is {value!r}, but can only be {_OFF!r}.")
        return value is not None

    def _role(self) -> iam.Role:
        """CodeDeploy's role, which CodeDeploy can take for this account only. The group gives it AWS's own policy."""
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "codedeploy.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            ),
        )
        acknowledge(
            role,
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
            "AWSCodeDeployRoleForLambdaLimited]",
            "AWS's own policy for CodeDeploy, which knows what it reads and calls to move an alias.",
        )
        return role

    def _alarms(self, namespace: str) -> list[cloudwatch.Alarm]:
        canary = self._canary
        failed = {"service": criteria.SERVICE, "version": self._version}
        return [
            self._alarm(
                "Errors",
                "An invocation of the new version failed",
                self._of_lambda("Errors", "Sum"),
                threshold=1,
            ),
            self._alarm(
                "Failures",
                f"The new version answered {canary.failures} or more requests of a minute with 500 or above",
                _metric(namespace, criteria.FAILED_ANSWERS, "Sum", failed),
                threshold=canary.failures,
            ),
            self._alarm(
                "Slow",
                f"One in ten invocations of the new version took {canary.slow_seconds:g} s, in two minutes of three",
                self._of_lambda("Duration", "p90"),
                threshold=canary.slow_seconds * 1000,
                windows=(3, 2),
            ),
        ]

    def _of_lambda(self, name: str, statistic: str) -> cloudwatch.Metric:
        """A metric of the invocations that came by the alias and were routed to the new version."""
        function = self._query.function.function_name
        dimensions = {
            "FunctionName": function,
            "Resource": f"{function}:{self._query.live.alias_name}",
            "ExecutedVersion": self._version,
        }
        return _metric("AWS/Lambda", name, statistic, dimensions)

    def _alarm(
        self, id: str, text: str, metric: cloudwatch.Metric, *, threshold: float, windows: tuple[int, int] = (1, 1)
    ) -> cloudwatch.Alarm:
        """`windows`: how many minutes are evaluated, and how many of them must reach the threshold.

        Each version has alarms of its own, by their names. CodeDeploy refuses to start while an alarm fires, and one
        that was changed keeps its state: that of a failing version would block the version that repairs it.
        """
        return cloudwatch.Alarm(
            self,
            id,
            alarm_name=f"{Stack.of(self).stack_name}-canary-{id.lower()}-{self._version}",
            alarm_description=f"{text}. See docs/13-runbook.md: Canary",
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=windows[0],
            datapoints_to_alarm=windows[1],
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,  # few callers reach a tenth of the requests
        )


def _metric(namespace: str, name: str, statistic: str, dimensions: Mapping[str, str]) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace, metric_name=name, statistic=statistic, dimensions_map=dict(dimensions), period=_MINUTE
    )
