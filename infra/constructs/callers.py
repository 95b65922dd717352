"""Who callers are: holders of API keys, users of a Cognito pool, or IAM identities. One of them per environment."""

from __future__ import annotations

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.environments import Authorizer, Environment

ADMIN_GROUP = "admin"  # of a user pool; the runtime knows it by this name


class Callers(Construct):
    """What identifies callers. It outlives the service: new keys and users would be others, without their sessions."""

    def __init__(self, scope: Construct, id: str, *, environment: Environment) -> None:
        super().__init__(scope, id)
        self._environment = environment
        self._removal_policy = RemovalPolicy.RETAIN if environment.keep_data else RemovalPolicy.DESTROY
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
                pass  # IAM knows them

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
            deletion_protection=self._environment.keep_data,
            removal_policy=self._removal_policy,
        )
        group = cognito.CfnUserPoolGroup(
            self, "Admins", user_pool_id=pool.user_pool_id, group_name=ADMIN_GROUP, description="May prune keywords"
        )
        group.apply_removal_policy(self._removal_policy)
        self._add_client(pool)
        reason = "Threat protection is priced per user; a pool that has it can be given by its ARN."
        acknowledge(pool, "AwsSolutions-COG3", reason)
        acknowledge(pool, "AwsSolutions-COG8", reason)
        acknowledge(pool, "AwsSolutions-COG2", "A second factor is offered and not forced: programs sign in, too.")
        return pool

    def _add_client(self, pool: cognito.UserPool) -> None:
        client = pool.add_client(
            "Client",
            generate_secret=False,
            disable_o_auth=True,  # there is no hosted page to sign in at, so there are no flows by redirection
            # Programs sign in by SRP, which sends no password. The AWS CLI cannot compute that: an operator sends the
            # password in a call that Cognito takes with IAM credentials alone (cognito-idp:AdminInitiateAuth).
            auth_flows=cognito.AuthFlow(user_srp=True, admin_user_password=True),
            prevent_user_existence_errors=True,  # nobody learns by trying who is a user
        )
        client.apply_removal_policy(self._removal_policy)
        _output(self, "UserPoolClientId", client.user_pool_client_id)


def _output(scope: Construct, name: str, value: str) -> None:
    CfnOutput(Stack.of(scope), name, value=value)
