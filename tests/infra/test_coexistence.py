"""Environments share an account and a region, and one environment may be in several regions of an account."""

from __future__ import annotations

import json
from typing import Any

from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from tests.infra.synthesis import ALL, Synthesis, Template

# Types whose names are unique in an account, in all of its regions. A CloudWatch dashboard belongs to no region.
OF_THE_ACCOUNT = {
    *("AWS::IAM::Role", "AWS::IAM::ManagedPolicy", "AWS::IAM::User", "AWS::IAM::Group", "AWS::IAM::InstanceProfile"),
    *("AWS::CloudWatch::Dashboard", "AWS::S3::Bucket", "AWS::CloudFront::CachePolicy"),
}
# What stands for something else in each region, or in each stack.
OF_A_REGION = ("AWS::Region", "AWS::StackId", "AWS::StackName")


def test_environments_of_one_account_and_region_have_no_name_in_common(synthesised: Synthesis) -> None:
    owners: dict[str, str] = {}
    for environment in ALL:
        for template in synthesised.of(environment.name):
            for name in (*_names(template), *_exports(template)):
                assert owners.setdefault(name, environment.name) == environment.name, name
    # The names that there are, so that this test is known to see them.
    assert {name.partition(" ")[0] for name in owners} == {
        *("AWS::SSM::Parameter", "AWS::CloudWatch::Dashboard", "AWS::Logs::LogGroup", "AWS::ApiGateway::DomainName"),
        "export",
    }


def test_one_environment_fits_into_several_regions_of_an_account(synthesised: Synthesis) -> None:
    names = [name for template in synthesised.all_templates() for name in _names(template)]
    of_the_account = [name for name in names if name.partition(" ")[0] in OF_THE_ACCOUNT]
    assert len(of_the_account) == len(ALL)
    assert not [name for name in of_the_account if not any(f'"{own}"' in name for own in OF_A_REGION)]


def test_the_prefix_of_sign_in_pages_is_unique_among_all_accounts(synthesised: Synthesis) -> None:
    for environment in ALL:
        for resource in synthesised.service[environment.name]["Resources"].values():
            if resource["Type"] == "AWS::Cognito::UserPoolDomain":
                domain = json.dumps(resource["Properties"]["Domain"])
                assert f"gleaner-{environment.name}-" in domain
                assert '"AWS::StackId"' in domain


def test_no_template_names_an_account_or_a_region(synthesised: Synthesis) -> None:
    for template in synthesised.all_templates():
        values = json.dumps(template)
        for own_pool in ("111122223333", "eu-central-1_abc", "eu-central-1"):  # of the records with a pool of their own
            values = values.replace(own_pool, "")
        assert not [text for text in ("us-east-1", "eu-west-1", "us-west-2", "000000000000") if text in values]


def _names(template: Template) -> list[str]:
    """The physical names that a template chooses itself: the primary identifiers that it gives in full.

    An identifier that refers to another resource of the stack belongs to that, such as a group to its user pool.
    """
    names = []
    for resource in template["Resources"].values():
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource["Type"]).schema
        properties = resource.get("Properties", {})
        identifier = [properties.get(path.rpartition("/")[2]) for path in schema.get("primaryIdentifier", ())]
        if identifier and None not in identifier and not _refers(identifier, set(template["Resources"])):
            names.append(f"{resource['Type']} {json.dumps(identifier)}")
    return names


def _exports(template: Template) -> list[str]:
    outputs = template.get("Outputs", {}).values()
    return [f"export {json.dumps(output['Export']['Name'])}" for output in outputs if "Export" in output]


def _refers(value: Any, resources: set[str]) -> bool:
    """Whether a value is made of that of another resource, of this stack or of the one that it imports from."""
    if isinstance(value, list):
        return any(_refers(one, resources) for one in value)
    if not isinstance(value, dict):
        return False
    if "Fn::GetAtt" in value or "Fn::ImportValue" in value or value.get("Ref") in resources:
        return True
    return any(_refers(one, resources) for one in value.values())
