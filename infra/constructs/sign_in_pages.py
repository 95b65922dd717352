"""The pages of the user pool on which people sign in, in a browser or for an MCP client."""

from __future__ import annotations

from aws_cdk import Fn, Stack
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.environment import Environment


class SignInPages(Construct):
    """The pool's own pages, or those of a created pool: a domain, and a style for each client.

    They belong to the service, not to what identifies callers: users, and so sessions, stay when it is rebuilt.
    """

    def __init__(self, scope: Construct, id: str, *, environment: Environment, pool: cognito.IUserPool) -> None:
        super().__init__(scope, id)
        self.pool = pool
        self._domain: cognito.UserPoolDomain | None = None
        self.url = environment.user_pool_url or self._make_domain(environment)

    def add_style(self, id: str, client: cognito.UserPoolClient) -> None:
        """Give the pages of a created pool a style for this client.

        Without one, managed login shows "Login pages unavailable".
        """
        if self._domain is None:
            return
        cognito.CfnManagedLoginBranding(
            self,
            id,
            user_pool_id=self.pool.user_pool_id,
            client_id=client.user_pool_client_id,
            use_cognito_provided_values=True,
        ).node.add_dependency(self._domain)

    def _make_domain(self, environment: Environment) -> str:
        """Give the pool a domain with sign-in pages; returns its origin."""
        # A prefix belongs to one pool of a region, whoever owns it. The last part of the stack's id makes it unique.
        unique = Fn.select(4, Fn.split("-", Fn.select(2, Fn.split("/", Stack.of(self).stack_id))))
        self._domain = cognito.UserPoolDomain(
            self,
            "Domain",
            user_pool=self.pool,
            cognito_domain=cognito.CognitoDomainOptions(domain_prefix=f"gleaner-{environment.name}-{unique}"),
            managed_login_version=cognito.ManagedLoginVersion.NEWER_MANAGED_LOGIN,
        )
        return self._domain.base_url()
