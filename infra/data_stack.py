"""The stateful stack: what must survive when the service is removed and deployed again."""

from __future__ import annotations

from typing import cast

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.callers import Callers
from infra.constructs.index_host import store_index_host
from infra.constructs.tables import Tables
from infra.environment import Environment
from infra.retention import is_protected, removal_policy


class DataStack(Stack):
    """The tables, the secret with the API keys of the remote services, what identifies callers, the index host."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment.name}: tables, secret, callers")
        protected, self._policy = is_protected(self, environment), removal_policy(environment)
        self.tables = Tables(self, "Tables", policy=self._policy, protected=protected)
        self.api_keys = self._secret()
        self.callers = Callers(self, "Callers", environment=environment)
        store_index_host(self, environment)
        self.termination_protection = protected
        self._outputs()

    def _secret(self) -> secretsmanager.Secret:
        secret = secretsmanager.Secret(
            self,
            "ApiKeys",
            description="API keys of OpenAI, Pinecone and Perplexity (without the last, the web is not searched)",
            removal_policy=self._policy,
        )
        # Without any value: CloudFormation writes one whenever its definition changes, over the keys of the operator.
        # The construct would have it generate a password.
        resource = cast(secretsmanager.CfnSecret, secret.node.default_child)
        resource.add_property_deletion_override("GenerateSecretString")
        acknowledge(secret, "AwsSolutions-SMG4", "The keys are issued by other companies, so AWS cannot rotate them.")
        return secret

    def _outputs(self) -> None:
        for name, table in (
            ("KeywordsTable", self.tables.keywords),
            ("ConversationsTable", self.tables.conversations),
            ("ToolCallsTable", self.tables.tool_calls),
            ("IdempotencyTable", self.tables.idempotency),
            ("AccessTable", self.tables.access),
            ("UsageTable", self.tables.usage),
            ("DocumentsTable", self.tables.documents),
        ):
            CfnOutput(self, name, value=table.table_name)
        CfnOutput(
            self,
            "ApiKeysSecretArn",
            value=self.api_keys.secret_arn,
            description="`gleaner keys put` writes the API keys.",
        )
