"""One environment: its stateful and its stateless stack."""

from __future__ import annotations

from aws_cdk import Stage, Tags
from constructs import Construct

from infra.data_stack import DataStack
from infra.environment import Environment
from infra.service_stack import Code, ServiceStack


class GleanerStage(Stage):
    """The stacks `gleaner-<environment>-data` and `gleaner-<environment>-service`."""

    def __init__(self, scope: Construct, environment: Environment, *, code: Code) -> None:
        super().__init__(scope, f"gleaner-{environment.name}")
        self.data = DataStack(self, "data", environment=environment)
        self.service = ServiceStack(self, "service", environment=environment, data=self.data, code=code)
        Tags.of(self).add("project", "gleaner")
        Tags.of(self).add("environment", environment.name)
