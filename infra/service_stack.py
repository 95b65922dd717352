"""The stateless stack: the functions, the API, the schedule."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.code import Code
from infra.constructs.canary import CanaryDeployment
from infra.constructs.custom_domain import CustomDomain
from infra.constructs.documents_bucket import read_bucket_name
from infra.constructs.firewall import ApiFirewall
from infra.constructs.index_host import read_index_host
from infra.constructs.mcp_client import McpClient
from infra.constructs.page_client import PageClient
from infra.constructs.pruning import ScheduledPruning
from infra.constructs.python_layer import common_layer
from infra.constructs.query_api import QueryApi
from infra.constructs.query_function import QueryFunction
from infra.constructs.sign_in_pages import SignInPages
from infra.constructs.snapshot_upkeep import SnapshotUpkeep
from infra.data_stack import DataStack
from infra.environment import Environment
from infra.retention import is_protected
from infra.watched import Watched, leave_names


class ServiceStack(Stack):
    """Everything that can be removed and deployed again without loss of data."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment, data: DataStack, code: Code) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment.name}: functions, API, schedule")
        # Rebuilding it would interrupt the service and change its URL.
        self.termination_protection = is_protected(self, environment)
        layer = common_layer(self, "Layer", code)
        query = QueryFunction(
            self,
            "Query",
            environment=environment,
            code=code.query,
            layer=layer,
            data=data,
            pinecone_index_host=read_index_host(self, environment),
            admin_callers=data.callers.admin_callers,
            documents_bucket=read_bucket_name(self, environment) if environment.documents else None,
        )
        pruning = ScheduledPruning(
            self,
            "Pruning",
            environment=environment,
            code=code.prune,
            layer=layer,
            data=data,
        )
        if environment.query.snap_start:
            SnapshotUpkeep(
                self, "SnapshotUpkeep", environment=environment, query=query, dead_letters=pruning.dead_letters
            )
        if environment.canary is not None:
            CanaryDeployment(self, "Canary", environment=environment, canary=environment.canary, query=query)
        api = QueryApi(
            self,
            "Api",
            environment=environment,
            handler=query.live,
            callers=data.callers,
            authorizer_code=code.authorizer,
        )
        self._add_front(environment, api)
        query.add_variables(self._sign_in(environment, data.callers.user_pool, api))
        self._leave_names(environment, data, query, pruning, api)
        CfnOutput(self, "ApiUrl", value=environment.domain.url if environment.domain else api.url)
        CfnOutput(self, "QueryFunctionName", value=query.function.function_name)
        CfnOutput(self, "PruneFunctionName", value=pruning.function.function_name)
        CfnOutput(self, "DeadLettersUrl", value=pruning.dead_letters.queue_url)

    def _leave_names(
        self, environment: Environment, data: DataStack, query: QueryFunction, pruning: ScheduledPruning, api: QueryApi
    ) -> None:
        """Tell the watch stack what there is to watch."""
        watched = Watched(
            query_function=query.function.function_name,
            prune_function=pruning.function.function_name,
            dead_letters=pruning.dead_letters.queue_name,
            query_log=query.log_group.log_group_name,
            prune_log=pruning.log_group.log_group_name,
            access_log=api.access_log.log_group_name,
            keywords_table=data.tables.keywords.table_name,
            conversations_table=data.tables.conversations.table_name,
            tool_calls_table=data.tables.tool_calls.table_name,
            idempotency_table=data.tables.idempotency.table_name,
            access_table=data.tables.access.table_name,
            usage_table=data.tables.usage.table_name,
            documents_table=data.tables.documents.table_name,
        )
        leave_names(Construct(self, "Watched"), environment, watched)

    def _add_front(self, environment: Environment, api: QueryApi) -> None:
        """Give the API the domain and the firewall that the environment wants."""
        if environment.domain is not None:
            CustomDomain(self, "Domain", domain=environment.domain, api=api.api)
        if environment.firewall is not None:
            stage = api.api.deployment_stage
            ApiFirewall(self, "Firewall", environment=environment, firewall=environment.firewall, stage=stage)

    def _sign_in(self, environment: Environment, pool: cognito.IUserPool | None, api: QueryApi) -> dict[str, str]:
        """Let people sign in on the page and in their MCP clients; returns the function's variables about it."""
        variables = {"PAGE_SIGN_IN": environment.authorizer.value} if environment.chat_page else {}
        if pool is None or not (environment.chat_page or environment.signs_in_to_mcp):
            return variables
        # Its name is from when only the page used it: with another one, CloudFormation would replace the pool's domain.
        pages = SignInPages(self, "PageSignIn", environment=environment, pool=pool)
        if environment.chat_page:
            variables |= PageClient(self, "PageClient", environment=environment, pages=pages, api_url=api.url).variables
        if environment.signs_in_to_mcp:
            variables |= McpClient(
                self, "McpClient", environment=environment, pages=pages, api_url=api.public_url
            ).variables
        return variables
