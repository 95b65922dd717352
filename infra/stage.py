"""One environment: its stateful stack, its stateless stack, and the stack that watches them."""

from __future__ import annotations

from aws_cdk import Stage, Tags
from constructs import Construct

from infra.data_stack import DataStack
from infra.environment import Environment
from infra.service_stack import Code, ServiceStack
from infra.watch_stack import WatchStack


class GleanerStage(Stage):
    """The stacks `gleaner-<environment>-data`, `-service` and `-watch`, deployed in this order."""

    def __init__(self, scope: Construct, environment: Environment, *, code: Code) -> None:
        super().__init__(scope, f"gleaner-{environment.name}")
        self.data = DataStack(self, "data", environment=environment)
        self.service = ServiceStack(self, "service", environment=environment, data=self.data, code=code)
        self.watch = WatchStack(self, "watch", environment=environment)
        self.watch.add_stack_dependency(self.service)  # which leaves the names that it reads
        Tags.of(self).add("project", "gleaner")
        Tags.of(self).add("environment", environment.name)
