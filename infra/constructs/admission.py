"""How the API authenticates callers: an authorizer or API keys on its methods, and a usage plan for the keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from infra.constructs.callers import Callers
from infra.constructs.key_authorizer import KeyAuthorizer
from infra.environment import Environment

# Paths below which clients send what OpenAI's and MCP's clients can send: `Authorization: Bearer`, for an API key, too.
_OPENAI, _MCP = "/v1", "/mcp"


class Admission(Construct):
    """The credentials that guarded methods require, and the limits of API keys."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        environment: Environment,
        callers: Callers,
        mcp_scope: str | None,
        authorizer_code: Path,
    ) -> None:
        """`mcp_scope`: what tokens for MCP must carry; None if it takes what the other routes take."""
        super().__init__(scope, id)
        self._callers = callers
        self._throttle = environment.throttle
        self._options: dict[str, Any] = {}
        self._door_options: dict[str, Any] = {}  # besides or instead of the others
        # With scopes, a method takes access tokens, which MCP clients send; without, it takes ID tokens.
        self._mcp_options: dict[str, Any] = {"authorization_scopes": [mcp_scope]} if mcp_scope else {}
        self.accepted_rules: dict[str, str] = {}  # cdk-nag rules that guarded methods violate, and why
        if callers.api_keys:
            authorizer = KeyAuthorizer(self, "Keys", environment=environment, code=authorizer_code)
            # The authorizer lets everybody pass: what admits a caller is that the method requires a key.
            self._options |= {
                "api_key_required": True,
                "authorization_type": apigateway.AuthorizationType.CUSTOM,
                "authorizer": authorizer.of_header,
            }
            self._door_options |= {"authorizer": authorizer.of_bearer}
            self.accepted_rules["AwsSolutions-COG4"] = "API keys with a usage plan establish the callers."
        elif callers.user_pool is not None:
            self._options |= {
                "authorization_type": apigateway.AuthorizationType.COGNITO,
                "authorizer": apigateway.CognitoUserPoolsAuthorizer(
                    self, "Authorizer", cognito_user_pools=[callers.user_pool]
                ),
            }
        else:
            self._options["authorization_type"] = apigateway.AuthorizationType.IAM
            self.accepted_rules["AwsSolutions-COG4"] = "IAM establishes the callers of this environment."

    def options(self, path: str) -> dict[str, Any]:
        """The options of a guarded method of this path."""
        is_door = any(path == door or path.startswith(f"{door}/") for door in (_OPENAI, _MCP))
        options = self._options | (self._door_options if is_door else {})
        return options | (self._mcp_options if path == _MCP else {})

    def limit(self, api: apigateway.RestApi) -> None:
        """Limit the callers' API keys to their rate and quota."""
        if not self._callers.api_keys:
            return
        throttle = self._throttle
        quota = None
        if throttle.quota_per_day is not None:
            quota = apigateway.QuotaSettings(limit=throttle.quota_per_day, period=apigateway.Period.DAY)
        plan = api.add_usage_plan(
            "UsagePlan",
            throttle=apigateway.ThrottleSettings(rate_limit=throttle.rate_per_second, burst_limit=throttle.burst),
            quota=quota,
            api_stages=[apigateway.UsagePlanPerApiStage(api=api, stage=api.deployment_stage)],
        )
        for key in self._callers.api_keys:
            plan.add_api_key(key)
        # Operators add the keys that they create to this plan.
        CfnOutput(Stack.of(self), "UsagePlanId", value=plan.usage_plan_id)
