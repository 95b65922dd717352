"""What lets GitHub's workflows deploy: GitHub as an identity provider, and a role for each environment.

These stacks are deployed by hand. The pipeline cannot change them, as it could otherwise give itself more rights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from aws_cdk import ArnFormat, CfnOutput, DefaultStackSynthesizer, Duration, Fn, Stack, Stage, Tags
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.acknowledge import acknowledge
from infra.pipeline import AUDIENCE, ISSUER, Pipeline

# The roles of `make bootstrap` that a deployment needs. The one for look-ups is not among them: it may read everything
# in the account, all conversations included, and these stacks look nothing up.
_BOOTSTRAP_ROLES = ("deploy-role", "file-publishing-role")


class PipelineStage(Stage):
    """The stacks `gleaner-pipeline-provider` and `gleaner-pipeline-<environment>`."""

    def __init__(self, scope: Construct, pipeline: Pipeline, environments: Sequence[str]) -> None:
        """Raise ValueError if the role of one environment could read another one, by its name."""
        super().__init__(scope, "gleaner-pipeline")
        for one, other in permutations(environments, 2):
            if other.startswith(f"{one}-"):
                raise ValueError(f"{other}: the pipeline's role for {one} would include it. Rename one of them.")
        if unknown := set(pipeline.provider_exists_for) - set(environments):
            raise ValueError(f"provider_exists_for names what is no environment: {', '.join(sorted(unknown))}.")
        deployers = {
            environment: DeployerStack(self, environment, pipeline=pipeline, environment=environment)
            for environment in environments
        }
        if without := [name for name in environments if name not in pipeline.provider_exists_for]:
            provider = ProviderStack(self, "provider")
            for name in without:
                deployers[name].add_stack_dependency(provider)
        Tags.of(self).add("project", "gleaner")


class ProviderStack(Stack):
    """GitHub as an identity provider of the account."""

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id, description="Gleaner: GitHub's workflows as identities")
        iam.CfnOIDCProvider(self, "GitHub", url=f"https://{ISSUER}", client_id_list=[AUDIENCE])


class DeployerStack(Stack):
    """The role that workflows assume to deploy one environment. It trusts that environment of one repository only."""

    def __init__(self, scope: Construct, id: str, *, pipeline: Pipeline, environment: str) -> None:
        super().__init__(scope, id, description=f"Gleaner {environment}: the role of the pipeline")
        Tags.of(self).add("environment", environment)
        role = iam.Role(
            self,
            "Deployer",
            description=f"Deploys gleaner-{environment} from {pipeline.owner}/{pipeline.repository}",
            assumed_by=self._workflows(pipeline, environment),
            max_session_duration=Duration.hours(1),
        )
        for statement in self._permissions(environment):
            role.add_to_policy(statement)
        account = "<AWS::Region>:<AWS::AccountId>"
        for resource in (
            f"cloudformation:{account}:stack/gleaner-{environment}-*/*",
            f"lambda:{account}:function:gleaner-{environment}-*",
            f"codedeploy:{account}:deploymentgroup:gleaner-{environment}-*",
        ):
            acknowledge(
                role,
                f"AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:{resource}]",
                "What belongs to one environment. CloudFormation puts a random id at the end of names.",
            )
        CfnOutput(self, "RoleArn", value=role.role_arn, description=f"AWS_ROLE_ARN of the environment {environment}")

    def _workflows(self, pipeline: Pipeline, environment: str) -> iam.FederatedPrincipal:
        claims = pipeline.claims(environment)
        return iam.FederatedPrincipal(
            self._iam_arn("oidc-provider", ISSUER),
            {"StringEquals": {f"{ISSUER}:{claim}": list(values) for claim, values in claims.items()}},
            "sts:AssumeRoleWithWebIdentity",
        )

    def _permissions(self, environment: str) -> Sequence[iam.PolicyStatement]:
        qualifier = DefaultStackSynthesizer.DEFAULT_QUALIFIER
        roles = [Fn.join("-", ["cdk", qualifier, role, self.account, self.region]) for role in _BOOTSTRAP_ROLES]
        stacks = self.format_arn(service="cloudformation", resource="stack", resource_name=f"gleaner-{environment}-*/*")
        return (
            iam.PolicyStatement(actions=["sts:AssumeRole"], resources=[self._iam_arn("role", role) for role in roles]),
            # `make deploy` itself looks which stacks exist, and says afterwards what became of the new version.
            iam.PolicyStatement(
                actions=["cloudformation:DescribeStacks", "cloudformation:ListStackResources"], resources=[stacks]
            ),
            iam.PolicyStatement(
                actions=["lambda:GetAlias", "lambda:GetFunctionConfiguration"],
                resources=[self._of_service(environment, "lambda", "function")],
            ),
            iam.PolicyStatement(
                actions=["codedeploy:ListDeployments", "codedeploy:BatchGetDeployments"],
                resources=[self._of_service(environment, "codedeploy", "deploymentgroup")],
            ),
        )

    def _of_service(self, environment: str, service: str, kind: str) -> str:
        """The ARNs of what CloudFormation named after the service's stack, of whose name it may cut the end."""
        return self.format_arn(
            service=service,
            resource=kind,
            resource_name=f"gleaner-{environment}-*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )

    def _iam_arn(self, kind: str, name: str) -> str:
        return self.format_arn(
            service="iam", region="", resource=kind, resource_name=name, arn_format=ArnFormat.SLASH_RESOURCE_NAME
        )
