"""How people sign in on the page: the pages of the user pool, and the page's own client of it."""

from __future__ import annotations

from aws_cdk import Duration, Fn, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.constructs.callers import Callers
from infra.environments import Environment

_HOUR = Duration.hours(1)


class PageSignIn(Construct):
    """The variables by which the query function tells the page how to sign in.

    It is part of the service, not of what identifies callers: users, and with them sessions, stay when it is rebuilt.
    The client needs the address of the API. It depends on the API's id and on nothing that depends on the function, so
    there is no cycle.
    """

    def __init__(self, scope: Construct, id: str, *, environment: Environment, callers: Callers, api_url: str) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self.variables = {"PAGE_SIGN_IN": environment.authorizer.value}
        if callers.user_pool is None:
            return
        client = self._client(callers.user_pool, [f"{api_url}/", *environment.page_urls])
        self.variables |= {
            "PAGE_USER_POOL_URL": environment.user_pool_url or self._make_pages(callers.user_pool, client),
            "PAGE_CLIENT_ID": client.user_pool_client_id,
        }

    def _client(self, pool: cognito.IUserPool, urls: list[str]) -> cognito.UserPoolClient:
        return cognito.UserPoolClient(
            self,
            "Client",
            user_pool=pool,
            generate_secret=False,  # a page cannot keep one; PKCE takes its place
            o_auth=cognito.OAuthSettings(
                flows=cognito.OAuthFlows(authorization_code_grant=True),
                scopes=[cognito.OAuthScope.OPENID, cognito.OAuthScope.EMAIL],
                callback_urls=urls,
                logout_urls=urls,
            ),
            # Not the default, which would also let AWS credentials or custom triggers sign users in.
            auth_flows=cognito.AuthFlow(user_srp=True),
            id_token_validity=_HOUR,
            access_token_validity=_HOUR,
            refresh_token_validity=Duration.hours(12),
            # A stolen refresh token ends with the next renewal by its owner.
            refresh_token_rotation_grace_period=Duration.seconds(30),
            prevent_user_existence_errors=True,
        )

    def _make_pages(self, pool: cognito.IUserPool, client: cognito.UserPoolClient) -> str:
        """Give the pool a domain with sign-in pages; returns its origin."""
        # A prefix belongs to one pool of a region, whoever owns it. The last part of the stack's id makes it unique.
        unique = Fn.select(4, Fn.split("-", Fn.select(2, Fn.split("/", Stack.of(self).stack_id))))
        domain = cognito.UserPoolDomain(
            self,
            "Domain",
            user_pool=pool,
            cognito_domain=cognito.CognitoDomainOptions(domain_prefix=f"gleaner-{self._environment.name}-{unique}"),
            managed_login_version=cognito.ManagedLoginVersion.NEWER_MANAGED_LOGIN,
        )
        # Without a style of its client, managed login shows "Login pages unavailable".
        cognito.CfnManagedLoginBranding(
            self,
            "Style",
            user_pool_id=pool.user_pool_id,
            client_id=client.user_pool_client_id,
            use_cognito_provided_values=True,
        ).node.add_dependency(domain)
        return domain.base_url()
