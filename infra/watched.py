"""Names of what is watched, left in SSM by the other stacks for the watch stack.

An export would tie the stacks: CloudFormation changes and removes none that another stack imports, so that a service
could not replace a function while its alarms exist. A parameter is read when the watch stack is deployed, and binds
nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TypeVar

from aws_cdk import CfnParameter
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """The names, as CloudWatch's dimensions and log groups have them."""

    query_function: str
    prune_function: str
    dead_letters: str
    query_log: str
    prune_log: str
    access_log: str
    keywords_table: str
    conversations_table: str
    tool_calls_table: str
    idempotency_table: str
    access_table: str
    usage_table: str
    documents_table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedDocuments:
    """The names of what loads documents, where an environment has it."""

    ingest_function: str
    ingest_log: str
    document_queue: str
    document_dead_letters: str
    undelivered_documents: str


Names = TypeVar("Names", Watched, WatchedDocuments)


def leave_names(scope: Construct, environment: Environment, watched: Names) -> None:
    """Write the names; for the stack that has what is watched."""
    values = asdict(watched)
    for field, id, path in _parameters(environment, type(watched)):
        ssm.StringParameter(
            scope,
            f"{id}Name",
            parameter_name=path,
            string_value=values[field],
            description=f"Gleaner {environment.name}: watched by its alarms",
        )


def find_names(scope: Construct, environment: Environment, kind: type[Names]) -> Names:
    """Read the names at each deployment; for the stack that watches."""
    names = {
        field: CfnParameter(scope, id, type="AWS::SSM::Parameter::Value<String>", default=path).value_as_string
        for field, id, path in _parameters(environment, kind)
    }
    return kind(**names)


def _parameters(environment: Environment, kind: type[Watched | WatchedDocuments]) -> Iterator[tuple[str, str, str]]:
    """The field, the logical id and the path of each parameter."""
    for field in fields(kind):
        id = field.name.title().replace("_", "")
        yield field.name, id, f"/gleaner/{environment.name}/watched/{id}"
