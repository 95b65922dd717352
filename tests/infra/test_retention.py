"""What outlives its stack: everything that holds data, and nothing that would be in the way of the next try."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from infra.app import make_app
from infra.created_stacks import as_context
from infra.environment import Environment
from infra.environments import PROD
from infra.layer_build import ROOT
from tests.infra.synthesis import ALL, EVERY, PROTECTED_KEYS, Synthesis, Template, properties, stub_code

# What cfn-lint warns about without a policy, and what identifies callers.
_HOLDS_DATA = json.loads(files("cfnlint.data.AdditionalSpecs").joinpath("StatefulResources.json").read_text())
STATEFUL = {
    *_HOLDS_DATA["ResourceTypes"],
    *("AWS::ApiGateway::ApiKey", "AWS::Cognito::UserPoolGroup"),
}
# These go with their stack nevertheless.
# dead letters of pruning: the next run does their work; messages about documents: a backfill writes them anew
PASSING = {"AWS::SQS::Queue"}
# These stay wherever they are made, even when their creation is rolled back: the account logs by this role.
OF_THE_ACCOUNT = {"AWS::IAM::Role", "AWS::ApiGateway::Account"}
# Properties that give a resource its own name. The description of an API key or the name of a group in its pool do not.
NAMES = re.compile(r"(Table|LogGroup|UserPool|Queue|Function|Role|Topic|Bucket)?Name")
EVERY_ONE = pytest.mark.parametrize("environment", ALL, ids=[one.name for one in ALL])
# The resources of docs/09, by their type, and how the list names them.
LISTED = {
    "AWS::DynamoDB::GlobalTable": "tables",
    "AWS::S3::Bucket": "bucket of documents",
    "AWS::SecretsManager::Secret": "secret",
    "AWS::Cognito::UserPool": "user pool",
    "AWS::Cognito::UserPoolClient": "client of programs",
    "AWS::Cognito::UserPoolGroup": "group `admin`",
    "AWS::ApiGateway::ApiKey": "API keys",
    "AWS::Logs::LogGroup": "log groups",
    "AWS::IAM::Role": "role by which API Gateway writes logs",
    "AWS::ApiGateway::Account": "role by which API Gateway writes logs",
}


@EVERY_ONE
def test_all_that_holds_data_is_kept_or_deleted_as_the_record_says(
    synthesised: Synthesis, environment: Environment
) -> None:
    policies = ("RetainExceptOnCreate", "Retain") if environment.keep_data else ("Delete", "Delete")
    stateful = {
        name: (resource.get("DeletionPolicy"), resource.get("UpdateReplacePolicy"))
        for template in synthesised.of(environment.name)
        for name, resource in template["Resources"].items()
        if resource["Type"] in STATEFUL - PASSING
    }
    assert len(stateful) >= 8
    assert {name for name, found in stateful.items() if found != policies} == set()


@EVERY_ONE
def test_nothing_survives_the_rollback_of_its_creation(synthesised: Synthesis, environment: Environment) -> None:
    for template in synthesised.of(environment.name):
        retained = [one["Type"] for one in template["Resources"].values() if one.get("DeletionPolicy") == "Retain"]
        assert set(retained) <= OF_THE_ACCOUNT


@EVERY_ONE
def test_nothing_that_stays_has_a_fixed_name(synthesised: Synthesis, environment: Environment) -> None:
    for template in synthesised.of(environment.name):
        for resource in _staying(template):
            names = [value for name, value in resource.get("Properties", {}).items() if NAMES.fullmatch(name)]
            assert not [name for name in names if "AWS::StackId" not in json.dumps(name)]


@pytest.mark.slow
@pytest.mark.parametrize("created", [set(), {"gleaner-prod-data"}], ids=["none", "data"])
def test_only_stacks_that_were_created_are_protected(tmp_path: Path, created: set[str]) -> None:
    templates, flags = _synthesise_with(created, tmp_path)
    assert {name for name, flag in flags.items() if flag} == created
    data = templates["gleaner-prod-data"]
    is_protected = "gleaner-prod-data" in created
    replicas = [replica for table in properties(data, "AWS::DynamoDB::GlobalTable") for replica in table["Replicas"]]
    assert len(replicas) == 7
    assert {replica["DeletionProtectionEnabled"] for replica in replicas} == {is_protected}
    (pool,) = properties(data, "AWS::Cognito::UserPool")
    assert pool.get("DeletionProtection", "INACTIVE") == ("ACTIVE" if is_protected else "INACTIVE")


@EVERY
def test_docs_list_what_stays(synthesised: Synthesis, environment: Environment) -> None:
    described = _list_in_docs("prod" if environment.keep_data else "dev and staging")
    staying = _types_of_staying(synthesised, environment)
    if environment.keep_data:  # the same, whoever the callers are
        staying |= _types_of_staying(synthesised, PROTECTED_KEYS)
    assert {name for name in set(LISTED.values()) if name in described} == {LISTED[type] for type in staying}


def _types_of_staying(synthesised: Synthesis, environment: Environment) -> set[str]:
    templates = synthesised.of(environment.name)
    return {str(resource["Type"]) for template in templates for resource in _staying(template)}


def _staying(template: Template) -> list[dict[str, Any]]:
    return [one for one in template["Resources"].values() if one.get("DeletionPolicy", "Delete") != "Delete"]


def _list_in_docs(environments: str) -> str:
    """The row of docs/09 that lists what stays of these environments."""
    text = (ROOT / "docs" / "09-deploying-and-operating.md").read_text()
    [row] = re.findall(rf"^\| {environments} \|(.*)\|$", text, re.MULTILINE)
    return str(row)


def _synthesise_with(created: set[str], path: Path) -> tuple[dict[str, Template], dict[str, bool]]:
    """The templates of prod and whether its stacks are protected, as the CDK's command line would have them made."""
    (path / "layer").mkdir()
    code = stub_code(path / "layer")
    make_app([PROD], code, outdir=path / "cdk.out", context=as_context(created)).synth()
    assembly = path / "cdk.out" / "assembly-gleaner-prod"
    manifest = json.loads((assembly / "manifest.json").read_text())
    stacks = [one["properties"] for one in manifest["artifacts"].values() if one["type"] == "aws:cloudformation:stack"]
    return (
        {one["stackName"]: json.loads((assembly / one["templateFile"]).read_text()) for one in stacks},
        {one["stackName"]: one.get("terminationProtection", False) for one in stacks},
    )
