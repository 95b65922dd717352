"""Who may call the API: API keys with a usage plan, a Cognito user pool, or IAM. One of them per environment."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.environments import Authorizer, Environment

ADMIN_GROUP = "admin"  # of a user pool; the runtime knows it by this name


class Callers(Construct):
    """How callers are established; made before the API, since the function is told who is an admin."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._keys: list[apigateway.ApiKey] = []
        self.admin_callers = list(environment.admin_callers)
        self.method_options: dict[str, Any] = {}  # of every method but the open ones
        self.accepted: dict[str, str] = {}  # rules of cdk-nag that such methods break, and why
        match environment.authorizer:
            case Authorizer.API_KEY:
                self._use_api_keys()
            case Authorizer.COGNITO:
                self._use_user_pool()
            case Authorizer.IAM:
                self.method_options["authorization_type"] = apigateway.AuthorizationType.IAM
                self.accepted["AwsSolutions-COG4"] = "IAM establishes the callers of this environment."

    def limit(self, api: apigateway.RestApi) -> None:
        """Hold the callers' API keys to their rate and quota."""
        throttle = self._environment.throttle
        if not self._keys:
            return
        plan = api.add_usage_plan(
            "UsagePlan",
            throttle=apigateway.ThrottleSettings(rate_limit=throttle.rate_per_second, burst_limit=throttle.burst),
            quota=apigateway.QuotaSettings(limit=throttle.quota_per_day, period=apigateway.Period.DAY),
            api_stages=[apigateway.UsagePlanPerApiStage(api=api, stage=api.deployment_stage)],
        )
        for key in self._keys:
            plan.add_api_key(key)

    def _use_api_keys(self) -> None:
        name = self._environment.name
        caller = apigateway.ApiKey(self, "ApiKey", description=f"Gleaner {name}: a caller")
        admin = apigateway.ApiKey(self, "AdminApiKey", description=f"Gleaner {name}: an admin")
        self._keys = [caller, admin]
        self.admin_callers.append(f"key:{admin.key_id}")
        self.method_options["api_key_required"] = True
        for rule in ("AwsSolutions-APIG4", "AwsSolutions-COG4"):
            self.accepted[rule] = "API keys with a usage plan establish the callers of this environment."
        _output(self, "ApiKeyId", caller.key_id)
        _output(self, "AdminApiKeyId", admin.key_id)

    def _use_user_pool(self) -> None:
        arn = self._environment.user_pool_arn
        pool = cognito.UserPool.from_user_pool_arn(self, "Pool", arn) if arn else self._create_pool()
        self.method_options["authorization_type"] = apigateway.AuthorizationType.COGNITO
        self.method_options["authorizer"] = apigateway.CognitoUserPoolsAuthorizer(
            self, "Authorizer", cognito_user_pools=[pool]
        )
        _output(self, "UserPoolId", pool.user_pool_id)

    def _create_pool(self) -> cognito.UserPool:
        pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(email=True),
            password_policy=cognito.PasswordPolicy(
                min_length=12, require_digits=True, require_lowercase=True, require_uppercase=True, require_symbols=True
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(otp=True, sms=False),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            deletion_protection=self._environment.keep_data,
            removal_policy=RemovalPolicy.RETAIN if self._environment.keep_data else RemovalPolicy.DESTROY,
        )
        cognito.CfnUserPoolGroup(
            self, "Admins", user_pool_id=pool.user_pool_id, group_name=ADMIN_GROUP, description="May prune keywords"
        )
        client = pool.add_client("Client", auth_flows=cognito.AuthFlow(user_srp=True), generate_secret=False)
        _output(self, "UserPoolClientId", client.user_pool_client_id)
        reason = "Threat protection is priced per user; a pool that has it can be given by its ARN."
        acknowledge(pool, "AwsSolutions-COG3", reason)
        acknowledge(pool, "AwsSolutions-COG8", reason)
        acknowledge(pool, "AwsSolutions-COG2", "A second factor is offered and not forced: programs sign in, too.")
        return pool


def _output(scope: Construct, name: str, value: str) -> None:
    CfnOutput(Stack.of(scope), name, value=value)
