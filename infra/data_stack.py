"""The stateful stack: what must survive when the service is removed and deployed again."""

from __future__ import annotations

from aws_cdk import CfnOutput, RemovalPolicy, SecretValue, Stack
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.constructs.callers import Callers
from infra.constructs.tables import Tables
from infra.environment import Environment

SECRET_FIELDS = ("openai", "pinecone", "perplexity")


class DataStack(Stack):
    """The tables, the secret with the API keys of the remote services, and what identifies callers."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment.name}: tables, secret, callers")
        self.tables = Tables(self, "Tables", keep_data=environment.keep_data)
        self.api_keys = self._secret(keep_data=environment.keep_data)
        self.callers = Callers(self, "Callers", environment=environment)
        self.termination_protection = environment.keep_data
        self._outputs()

    def _secret(self, *, keep_data: bool) -> secretsmanager.Secret:
        # The fields are present but empty, so that operators see what to fill in. CloudFormation writes the value
        # once, and again only if this definition changes.
        empty = SecretValue.unsafe_plain_text("")
        secret = secretsmanager.Secret(
            self,
            "ApiKeys",
            description="API keys of OpenAI, Pinecone and Perplexity (without the last, the web is not searched)",
            secret_object_value=dict.fromkeys(SECRET_FIELDS, empty),
            removal_policy=RemovalPolicy.RETAIN if keep_data else RemovalPolicy.DESTROY,
        )
        acknowledge(secret, "AwsSolutions-SMG4", "The keys are issued by other companies, so AWS cannot rotate them.")
        return secret

    def _outputs(self) -> None:
        for name, table in (
            ("KeywordsTable", self.tables.keywords),
            ("ConversationsTable", self.tables.conversations),
            ("ToolCallsTable", self.tables.tool_calls),
            ("IdempotencyTable", self.tables.idempotency),
            ("UsageTable", self.tables.usage),
        ):
            CfnOutput(self, name, value=table.table_name)
        CfnOutput(self, "ApiKeysSecretArn", value=self.api_keys.secret_arn, description="Put the API keys here.")
