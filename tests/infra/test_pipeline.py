"""Whom the roles of the pipeline trust, and what they may do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.app import make_app
from infra.pipeline import ISSUER, Pipeline
from infra.pipeline_stacks import PipelineStage
from tests.infra.synthesis import Template, one, properties, resources, stub_code

PIPELINE = Pipeline(owner="octo-org", owner_id=123456, repository="gleaner", repository_id=456789)
NAMES = ("dev", "staging", "prod")
Claims = Mapping[str, str]
# What GitHub writes into the token of a job in the environment `prod` on main: github/docs, the reference of OpenID
# Connect. The subject has ids in repositories that are new, were renamed or chose so.
BY_NAME = "repo:octo-org/gleaner:environment:prod"
BY_ID = "repo:octo-org@123456/gleaner@456789:environment:prod"
PROD_ON_MAIN: Claims = {
    "aud": "sts.amazonaws.com",
    "sub": BY_ID,
    "repository": "octo-org/gleaner",
    "repository_id": "456789",
    "repository_owner_id": "123456",
    "ref": "refs/heads/main",
    "environment": "prod",
}


@pytest.fixture(scope="module")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The templates of the pipeline's stacks."""
    return _synthesise(tmp_path_factory.mktemp("pipeline"), PIPELINE)


@pytest.fixture(scope="module")
def deployers(assembly: Path) -> Mapping[str, Template]:
    """The templates with the roles, by environment."""
    return {name: _template(assembly, name) for name in NAMES}


@pytest.mark.parametrize("subject", [BY_ID, BY_NAME])
def test_a_job_in_the_environment_on_main_is_trusted(deployers: Mapping[str, Template], subject: str) -> None:
    assert _trusts(deployers["prod"], PROD_ON_MAIN | {"sub": subject})


@pytest.mark.parametrize("subject", [BY_ID, BY_NAME])
@pytest.mark.parametrize("name", ["dev", "staging"])
def test_no_environment_deploys_another(deployers: Mapping[str, Template], name: str, subject: str) -> None:
    claims = PROD_ON_MAIN | {"sub": subject}
    assert not _trusts(deployers[name], claims)
    assert _trusts(deployers[name], claims | {"sub": subject.replace(":prod", f":{name}"), "environment": name})


@pytest.mark.parametrize(
    "changes",
    [
        {"sub": "repo:octo-org/gleaner:pull_request"},
        {"sub": "repo:octo-org@123456/gleaner@456789:pull_request"},
        {"sub": "repo:octo-org/gleaner:ref:refs/heads/main"},
        {"sub": "repo:octo-org/gleaner:environment:production"},
        {"sub": "repo:octo-org/gleaner:environment:prod:environment:prod"},
        {"sub": "repo:octo-org/gleaner:environment:PROD"},
        {"sub": "repo:octo-org/gleaner:environment:*"},
        {"sub": "repo:*"},
        {"sub": ""},
        {"sub": "repo:OCTO-ORG/gleaner:environment:prod"},
        # A fork, and somebody who takes a name that was given up: his repository has another id.
        {"sub": "repo:mallory/gleaner:environment:prod", "repository_id": "666"},
        {"sub": "repo:octo-org@666/gleaner@456789:environment:prod"},
        {"sub": "repo:octo-org@123456/gleaner@666:environment:prod"},
        {"sub": "repo:octo-org@123456/gleaner@4567890:environment:prod"},
        {"sub": BY_NAME, "repository_id": "666"},
        {"repository_id": ""},
        # A branch or a tag that somebody pushed, with a workflow of his own in it.
        {"ref": "refs/heads/feature"},
        {"ref": "refs/heads/main2"},
        {"ref": "refs/tags/main"},
        {"ref": "refs/pull/7/merge"},
        {"aud": "https://github.com/octo-org"},
        {"aud": "sts.amazonaws.com.evil.example"},
    ],
)
def test_tokens_of_anything_else_are_refused(deployers: Mapping[str, Template], changes: Claims) -> None:
    assert not _trusts(deployers["prod"], PROD_ON_MAIN | changes)


@pytest.mark.parametrize("claim", ["aud", "sub", "repository_id", "ref"])
def test_a_token_without_a_claim_is_refused(deployers: Mapping[str, Template], claim: str) -> None:
    assert not _trusts(deployers["prod"], {name: value for name, value in PROD_ON_MAIN.items() if name != claim})


@given(st.dictionaries(st.sampled_from(["aud", "sub", "repository_id", "ref"]), st.text(), min_size=1))
def test_no_other_values_of_the_claims_are_trusted(deployers: Mapping[str, Template], changes: Claims) -> None:
    claims = PROD_ON_MAIN | changes
    good = {**PROD_ON_MAIN, "sub": claims["sub"]} == claims and claims["sub"] in (BY_ID, BY_NAME)
    assert _trusts(deployers["prod"], claims) == good


def test_the_role_trusts_nobody_but_github(deployers: Mapping[str, Template]) -> None:
    for template in deployers.values():
        [statement] = _trust(template)
        assert (statement["Effect"], statement["Action"]) == ("Allow", "sts:AssumeRoleWithWebIdentity")
        assert _text(statement["Principal"]["Federated"]) == "arn:P:iam::A:oidc-provider/" + ISSUER
        # `IfExists` and `ForAllValues` would trust a token without the claim, `StringLike` a pattern.
        assert set(statement["Condition"]) == {"StringEquals"}


@pytest.mark.parametrize("name", NAMES)
def test_the_role_may_assume_two_roles_of_the_bootstrap_and_look_at_its_stacks(
    deployers: Mapping[str, Template], name: str
) -> None:
    role = one(deployers[name], "AWS::IAM::Role")
    assert "ManagedPolicyArns" not in role and "Policies" not in role
    allowed = {
        (action, _text(resource))
        for policy in properties(deployers[name], "AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        for action in _as_list(statement["Action"])
        for resource in _as_list(statement["Resource"])
    }
    assert allowed == {
        ("sts:AssumeRole", "arn:P:iam::A:role/cdk-hnb659fds-deploy-role-A-R"),
        ("sts:AssumeRole", "arn:P:iam::A:role/cdk-hnb659fds-file-publishing-role-A-R"),
        *(
            (f"cloudformation:{action}", f"arn:P:cloudformation:R:A:stack/gleaner-{name}-*/*")
            for action in ("DescribeStacks", "ListStackResources")
        ),
        *(
            (f"lambda:{action}", f"arn:P:lambda:R:A:function:gleaner-{name}-*")
            for action in ("GetAlias", "GetFunctionConfiguration")
        ),
        *(
            (f"codedeploy:{action}", f"arn:P:codedeploy:R:A:deploymentgroup:gleaner-{name}-*")
            for action in ("ListDeployments", "BatchGetDeployments")
        ),
    }


def test_credentials_of_a_role_are_for_an_hour_and_its_name_for_nobody_else(deployers: Mapping[str, Template]) -> None:
    for template in deployers.values():
        role = one(template, "AWS::IAM::Role")
        assert role["MaxSessionDuration"] == 3600
        assert "RoleName" not in role
        [name] = resources(template, "AWS::IAM::Role")
        assert template["Outputs"]["RoleArn"]["Value"] == {"Fn::GetAtt": [name, "Arn"]}


def test_github_becomes_an_identity_provider_unless_it_is_one(assembly: Path, tmp_path: Path) -> None:
    provider = one(_template(assembly, "provider"), "AWS::IAM::OIDCProvider")
    assert provider["Url"] == f"https://{ISSUER}"
    assert provider["ClientIdList"] == ["sts.amazonaws.com"]
    existing = _synthesise(tmp_path, replace(PIPELINE, provider_exists_for=NAMES))
    assert not list(existing.glob("*provider*.template.json"))
    assert one(_template(existing, "prod"), "AWS::IAM::Role") == one(_template(assembly, "prod"), "AWS::IAM::Role")


@pytest.mark.parametrize("exists_for", [(), ("prod",), ("dev", "staging")])
def test_the_roles_come_after_the_provider_where_it_does_not_exist(
    assembly: Path, tmp_path: Path, exists_for: tuple[str, ...]
) -> None:
    if exists_for:
        assembly = _synthesise(tmp_path, replace(PIPELINE, provider_exists_for=exists_for))
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    [provider] = [id for id in artifacts if "provider" in id and not id.endswith(".assets")]
    for name in NAMES:
        [stack] = [artifact for id, artifact in artifacts.items() if id.startswith(f"gleanerpipeline{name}")
                   and artifact["type"] == "aws:cloudformation:stack"]  # fmt: skip
        assert (provider in stack["dependencies"]) == (name not in exists_for)
        assert stack["properties"]["stackName"] == f"gleaner-pipeline-{name}"


def test_a_provider_for_an_unknown_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="preview"):
        _synthesise(tmp_path, replace(PIPELINE, provider_exists_for=("prod", "preview")))


@pytest.mark.slow
def test_the_templates_pass_cfn_lint(assembly: Path) -> None:
    command = [str(Path(sys.executable).with_name("cfn-lint")), *map(str, assembly.glob("*.template.json"))]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"owner": "octo-org/gleaner"},
        {"owner": "*"},
        {"owner": ""},
        {"repository": "octo-org/gleaner"},
        {"repository": "*"},
        {"repository": "gleaner:environment:prod"},
        {"branch": "*"},
        {"branch": ""},
        {"owner_id": 0},
        {"repository_id": -1},
    ],
)
def test_names_that_are_none_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"GitHub|branch|positive"):
        replace(PIPELINE, **changes)


def _synthesise(path: Path, pipeline: Pipeline) -> Path:
    app = make_app((), stub_code(path), outdir=path / "out")
    PipelineStage(app, pipeline, NAMES)
    app.synth()
    return path / "out" / "assembly-gleaner-pipeline"


def _template(assembly: Path, name: str) -> Template:
    (file,) = assembly.glob(f"gleanerpipeline{name}*.template.json")
    template: Template = json.loads(file.read_text())
    return template


def _trust(template: Template) -> list[dict[str, Any]]:
    statements: list[dict[str, Any]] = one(template, "AWS::IAM::Role")["AssumeRolePolicyDocument"]["Statement"]
    return statements


def _trusts(template: Template, claims: Claims) -> bool:
    """Evaluate the trust policy as IAM does: all keys of a condition must match, each with one of its values.

    A key that the request lacks does not match (IAM user guide: multiple context keys or values).
    """
    return any(
        all(
            claims.get(key.removeprefix(f"{ISSUER}:")) in _as_list(values)
            for key, values in statement["Condition"]["StringEquals"].items()
        )
        for statement in _trust(template)
    )


def _text(value: Any) -> str:
    """An ARN of the template with letters for the partition, the region and the account."""
    return "".join(_parts(value))


def _parts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case {"Ref": name}:
            yield {"AWS::Partition": "P", "AWS::Region": "R", "AWS::AccountId": "A"}[name]
        case {"Fn::Join": [separator, parts]}:
            yield separator.join(map(_text, parts))
        case _:
            raise ValueError(value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
