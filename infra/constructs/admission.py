"""How the API authenticates callers: an authorizer or API keys on its methods, and a usage plan for the keys."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from constructs import Construct

from infra.constructs.callers import Callers
from infra.environments import Throttle


class Admission(Construct):
    """The credentials that guarded methods require, and the limits of API keys."""

    def __init__(self, scope: Construct, id: str, *, callers: Callers, throttle: Throttle) -> None:
        super().__init__(scope, id)
        self._callers = callers
        self._throttle = throttle
        self.method_options: dict[str, Any] = {}
        self.accepted_rules: dict[str, str] = {}  # cdk-nag rules that guarded methods violate, and why
        if callers.api_keys:
            self.method_options["api_key_required"] = True
            for rule in ("AwsSolutions-APIG4", "AwsSolutions-COG4"):
                self.accepted_rules[rule] = "API keys with a usage plan establish the callers of this environment."
        elif callers.user_pool is not None:
            authorizer = apigateway.CognitoUserPoolsAuthorizer(
                self, "Authorizer", cognito_user_pools=[callers.user_pool]
            )
            self.method_options |= {
                "authorization_type": apigateway.AuthorizationType.COGNITO,
                "authorizer": authorizer,
            }
        else:
            self.method_options["authorization_type"] = apigateway.AuthorizationType.IAM
            self.accepted_rules["AwsSolutions-COG4"] = "IAM establishes the callers of this environment."

    def limit(self, api: apigateway.RestApi) -> None:
        """Limit the callers' API keys to their rate and quota."""
        if not self._callers.api_keys:
            return
        throttle = self._throttle
        plan = api.add_usage_plan(
            "UsagePlan",
            throttle=apigateway.ThrottleSettings(rate_limit=throttle.rate_per_second, burst_limit=throttle.burst),
            quota=apigateway.QuotaSettings(limit=throttle.quota_per_day, period=apigateway.Period.DAY),
            api_stages=[apigateway.UsagePlanPerApiStage(api=api, stage=api.deployment_stage)],
        )
        for key in self._callers.api_keys:
            plan.add_api_key(key)
        # Operators add the keys that they create to this plan.
        CfnOutput(Stack.of(self), "UsagePlanId", value=plan.usage_plan_id)
