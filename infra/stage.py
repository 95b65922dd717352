"""One environment: its stateful stack, that of its documents, its stateless stack, and the one that watches them."""

from __future__ import annotations

from aws_cdk import Stage, Tags
from constructs import Construct

from infra.code import Code
from infra.data_stack import DataStack
from infra.documents_stack import DocumentsStack
from infra.environment import Environment
from infra.service_stack import ServiceStack
from infra.watch_stack import WatchStack


class GleanerStage(Stage):
    """The stacks `gleaner-<environment>-data`, `-documents`, `-service` and `-watch`, deployed in this order."""

    def __init__(self, scope: Construct, environment: Environment, *, code: Code) -> None:
        super().__init__(scope, f"gleaner-{environment.name}")
        self.data = DataStack(self, "data", environment=environment)
        self.service = ServiceStack(self, "service", environment=environment, data=self.data, code=code)
        self.watch = WatchStack(self, "watch", environment=environment)
        self.watch.add_stack_dependency(self.service)  # which leaves the names that it reads
        self._add_documents(environment, code)
        Tags.of(self).add("project", "gleaner")
        Tags.of(self).add("environment", environment.name)

    def _add_documents(self, environment: Environment, code: Code) -> None:
        """Add the stack of the documents, before those that read names from it."""
        if environment.documents is None:
            return
        documents = DocumentsStack(
            self, "documents", environment=environment, documents=environment.documents, data=self.data, code=code
        )
        self.service.add_stack_dependency(documents)
        self.watch.add_stack_dependency(documents)
