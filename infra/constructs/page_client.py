"""The page's own client of the user pool."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.constructs.sign_in_pages import SignInPages
from infra.environment import Environment

_HOUR = Duration.hours(1)


class PageClient(Construct):
    """The client, and the variables by which the query function tells the page how to sign in.

    It needs the address of the API, which depends on the API's id and on nothing that depends on the function, so there
    is no cycle.
    """

    def __init__(
        self, scope: Construct, id: str, *, environment: Environment, pages: SignInPages, api_url: str
    ) -> None:
        super().__init__(scope, id)
        client = self._client(pages.pool, _urls(environment, api_url))
        pages.add_style("Style", client)
        self.variables = {"PAGE_USER_POOL_URL": pages.url, "PAGE_CLIENT_ID": client.user_pool_client_id}

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


def _urls(environment: Environment, api_url: str) -> list[str]:
    """Where the page is opened: at each address at which the API answers."""
    addresses = [] if environment.closes_default_endpoint else [f"{api_url}/"]
    addresses += [f"{environment.domain.url}/"] if environment.domain else []
    return list(dict.fromkeys([*addresses, *environment.page_urls]))
