"""Who the callers of an environment are: holders of API keys, users of a Cognito pool, or IAM identities."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.environment import Authorizer, Environment
from infra.retention import is_protected, removal_policy

ADMIN_GROUP = "admin"  # group of the user pool; the runtime checks for this name


class Callers(Construct):
    """What identifies callers. It outlives the service, because new keys and users would lose their sessions."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._removal_policy = removal_policy(environment)
        self.admin_callers = list(environment.admin_callers)
        self.api_keys: list[apigateway.ApiKey] = []
        self.user_pool: cognito.IUserPool | None = None
        match environment.authorizer:
            case Authorizer.API_KEY:
                self._make_api_keys()
            case Authorizer.COGNITO:
                self.user_pool = self._pool()
                _output(self, "UserPoolId", self.user_pool.user_pool_id)
            case Authorizer.IAM:
                pass  # IAM manages its identities

    def _make_api_keys(self) -> None:
        name = self._environment.name
        caller = apigateway.ApiKey(self, "ApiKey", description=f"Gleaner {name}: a caller")
        admin = apigateway.ApiKey(self, "AdminApiKey", description=f"Gleaner {name}: an admin")
        self.api_keys = [caller, admin]
        for key in self.api_keys:
            key.apply_removal_policy(self._removal_policy)
        self.admin_callers.append(f"key:{admin.key_id}")
        _output(self, "ApiKeyId", caller.key_id)
        _output(self, "AdminApiKeyId", admin.key_id)

    def _pool(self) -> cognito.IUserPool:
        arn = self._environment.user_pool_arn
        return cognito.UserPool.from_user_pool_arn(self, "Pool", arn) if arn else self._make_pool()

    def _make_pool(self) -> cognito.UserPool:
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
            deletion_protection=is_protected(Stack.of(self), self._environment),
            removal_policy=self._removal_policy,
        )
        group = cognito.CfnUserPoolGroup(
            self, "Admins", user_pool_id=pool.user_pool_id, group_name=ADMIN_GROUP, description="May prune keywords"
        )
        group.apply_removal_policy(self._removal_policy)
        self._add_client(pool)
        # Exported also while no page uses it: CloudFormation would remove an export before the page that imports it.
        Stack.of(self).export_value(pool.user_pool_id)
        reason = "Threat protection is priced per user; to use it, configure the ARN of a pool that has it."
        acknowledge(pool, "AwsSolutions-COG3", reason)
        acknowledge(pool, "AwsSolutions-COG8", reason)
        acknowledge(pool, "AwsSolutions-COG2", "A second factor is optional because programs sign in, too.")
        return pool

    def _add_client(self, pool: cognito.UserPool) -> None:
        client = pool.add_client(
            "Client",
            generate_secret=False,
            disable_o_auth=True,  # for programs, without redirects; the page has a client of its own
            # Programs sign in with SRP, which never sends the password. The AWS CLI does not support SRP, so operators
            # send the password with cognito-idp:AdminInitiateAuth, which requires IAM credentials.
            auth_flows=cognito.AuthFlow(user_srp=True, admin_user_password=True),
            prevent_user_existence_errors=True,  # errors do not reveal whether a user exists
        )
        client.apply_removal_policy(self._removal_policy)
        _output(self, "UserPoolClientId", client.user_pool_client_id)


def _output(scope: Construct, name: str, value: str) -> None:
    CfnOutput(Stack.of(scope), name, value=value)
