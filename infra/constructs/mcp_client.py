"""How MCP clients get tokens of the user pool: the MCP server as a resource with a scope, and one client for all."""

from __future__ import annotations

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.constructs.sign_in_pages import SignInPages
from infra.environment import Environment

SCOPE = "ask"


def resource_of(api_url: str) -> str:
    """The MCP server as a resource.

    It must be its address: clients send that as `resource` (RFC 8707), and Cognito writes it into the token's audience.
    """
    return f"{api_url}/mcp"


def scope_of(api_url: str) -> str:
    """The scope that a token must carry, as it stands in the token."""
    return f"{resource_of(api_url)}/{SCOPE}"


class McpClient(Construct):
    """The resource, the public client with PKCE, and the variables by which the query function describes both.

    Cognito registers no client by itself, so all MCP clients share this one.
    """

    def __init__(
        self, scope: Construct, id: str, *, environment: Environment, pages: SignInPages, api_url: str
    ) -> None:
        super().__init__(scope, id)
        client = self._client(pages.pool, self._scope(environment, pages.pool, api_url), environment)
        pages.add_style("McpStyle", client)
        region, suffix = pages.pool.env.region, Stack.of(self).url_suffix
        self.variables = {
            "API_URL": api_url,
            "USER_POOL_URL": pages.url,
            "USER_POOL_ISSUER": f"https://cognito-idp.{region}.{suffix}/{pages.pool.user_pool_id}",
        }
        CfnOutput(Stack.of(self), "McpClientId", value=client.user_pool_client_id, description="For MCP clients")

    def _scope(self, environment: Environment, pool: cognito.IUserPool, api_url: str) -> cognito.OAuthScope:
        ask = cognito.ResourceServerScope(scope_name=SCOPE, scope_description="Search and ask questions")
        server = cognito.UserPoolResourceServer(
            self,
            "Server",
            user_pool=pool,
            identifier=resource_of(api_url),
            user_pool_resource_server_name=f"gleaner-{environment.name}-mcp",
            scopes=[ask],
        )
        return cognito.OAuthScope.resource_server(server, ask)

    def _client(
        self, pool: cognito.IUserPool, scope: cognito.OAuthScope, environment: Environment
    ) -> cognito.UserPoolClient:
        return cognito.UserPoolClient(
            self,
            "Client",
            user_pool=pool,
            generate_secret=False,  # programs on people's machines cannot keep one; PKCE takes its place
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[scope],  # nothing else: such a token opens no other route and shows no address
                callback_urls=list(environment.mcp_callback_urls),
            ),
            auth_flows=cognito.AuthFlow(user_srp=True),
            access_token_validity=Duration.hours(1),
            refresh_token_validity=Duration.days(30),
            refresh_token_rotation_grace_period=Duration.seconds(60),  # some clients refresh twice at once
            prevent_user_existence_errors=True,
        )
