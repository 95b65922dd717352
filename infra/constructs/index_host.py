"""The host of the Pinecone index: given to the data stack, read by the service stack.

An SSM parameter lies between them. CloudFormation lets no stack change what another one imports, so an export could
never get another value.
"""

from __future__ import annotations

from aws_cdk import CfnCondition, CfnParameter, Fn
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.environment import Environment


def store_index_host(scope: Construct, environment: Environment) -> None:
    """Add the stack's parameter for the host, which CloudFormation remembers, and the SSM parameter that holds it.

    The host is known only once the index exists, which may be after the first deployment.
    """
    given = CfnParameter(
        scope,
        "PineconeIndexHost",
        description="The host of the Pinecone index, as https://NAME.svc.REGION.pinecone.io; empty: not known yet",
        allowed_pattern=r"(https?://[^\s/]+/?)?",
        default=environment.pinecone_index_host or "",
    )
    is_known = CfnCondition(
        scope, "IndexHostIsKnown", expression=Fn.condition_not(Fn.condition_equals(given.value_as_string, ""))
    )
    # Not kept with the data: its name is fixed, so it would keep the stack from being created again.
    stored = ssm.CfnParameter(
        scope,
        "IndexHost",
        name=_name(environment),
        type="String",
        value=given.value_as_string,
        description=f"Gleaner {environment.name}: the host of the Pinecone index",
    )
    stored.cfn_options.condition = is_known


def read_index_host(scope: Construct, environment: Environment) -> str:
    """The host as CloudFormation reads it at each deployment; without one, the deployment ends before any change."""
    parameter = CfnParameter(
        scope,
        "IndexHostParameter",
        type="AWS::SSM::Parameter::Value<String>",
        description="Where the data stack keeps the host of the Pinecone index",
        default=_name(environment),
    )
    return parameter.value_as_string


def _name(environment: Environment) -> str:
    """Fixed: CloudFormation takes the name of such a parameter from the template alone."""
    return f"/gleaner/{environment.name}/pinecone-index-host"
