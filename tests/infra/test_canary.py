"""How a new version of the query function takes over, and what rolls it back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.app import make_app
from infra.environment import CANARY_MINUTES, Canary
from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING
from infra.stage import GleanerStage
from tests.infra.synthesis import Synthesis, Template, one, resources, stub_code

CANARIES = pytest.mark.parametrize("name", [one.name for one in ENVIRONMENTS if one.canary is not None])


def test_new_versions_have_to_prove_themselves_in_staging_and_prod() -> None:
    assert (DEV.canary, STAGING.canary, PROD.canary) == (None, Canary(), Canary())


@CANARIES
def test_a_tenth_of_the_requests_goes_to_a_new_version_for_five_minutes(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    ((group_id, group),) = resources(template, "AWS::CodeDeploy::DeploymentGroup").items()
    (application,) = resources(template, "AWS::CodeDeploy::Application")
    assert one(template, "AWS::CodeDeploy::Application")["ComputePlatform"] == "Lambda"
    # CloudFormation accepts these two for a Lambda function (UpdatePolicy attribute, CodeDeployLambdaAliasUpdate).
    (alias,) = resources(template, "AWS::Lambda::Alias").values()
    assert alias["UpdatePolicy"] == {
        "CodeDeployLambdaAliasUpdate": {
            "ApplicationName": {"Ref": application},
            "DeploymentGroupName": {"Ref": group_id},
        }  # and no hooks
    }
    assert group_id in alias["DependsOn"]
    deployed = group["Properties"]
    assert deployed["DeploymentConfigName"] == "CodeDeployDefault.LambdaCanary10Percent5Minutes"
    assert deployed["DeploymentStyle"] == {
        "DeploymentOption": "WITH_TRAFFIC_CONTROL",
        "DeploymentType": "BLUE_GREEN",
    }


@CANARIES
def test_each_alarm_and_a_stop_by_hand_roll_a_version_back(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    group = one(template, "AWS::CodeDeploy::DeploymentGroup")
    assert group["AutoRollbackConfiguration"]["Enabled"]
    assert set(group["AutoRollbackConfiguration"]["Events"]) == {
        "DEPLOYMENT_FAILURE",
        "DEPLOYMENT_STOP_ON_ALARM",
        "DEPLOYMENT_STOP_ON_REQUEST",
    }
    assert group["AlarmConfiguration"]["Enabled"]
    # If CodeDeploy cannot read the alarms, it stops, too.
    assert not group["AlarmConfiguration"].get("IgnorePollAlarmFailure", False)
    assert {one["Name"]["Ref"] for one in group["AlarmConfiguration"]["Alarms"]} == set(_alarms(template))


@CANARIES
def test_alarms_see_the_new_version_alone_and_within_minutes(synthesised: Synthesis, name: str) -> None:
    template = synthesised.service[name]
    alarms = {one["MetricName"]: one for one in _alarms(template).values()}
    assert alarms.keys() == {"Errors", "FailedAnswers", "Duration"}
    (version_id,) = resources(template, "AWS::Lambda::Version")
    version = {"Fn::GetAtt": [version_id, "Version"]}
    (function,) = [
        name
        for name, resource in resources(template, "AWS::Lambda::Function").items()
        if "SnapStart" in resource["Properties"]
    ]
    of_lambda = {
        "ExecutedVersion": version,
        "FunctionName": {"Ref": function},
        "Resource": {"Fn::Join": ["", [{"Ref": function}, ":live"]]},
    }
    dimensions = {
        metric: {one["Name"]: one["Value"] for one in alarm["Dimensions"]} for metric, alarm in alarms.items()
    }
    assert dimensions == {
        "Errors": of_lambda,
        "Duration": of_lambda,
        "FailedAnswers": {"service": "query", "version": version},
    }
    for alarm in alarms.values():
        assert alarm["Period"] == 60
        assert alarm["TreatMissingData"] == "notBreaching"
        assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
        assert "Metrics" not in alarm
        assert alarm["EvaluationPeriods"] <= Canary().minutes  # or it could not fire before the version has taken over
    assert (alarms["Errors"]["Threshold"], alarms["FailedAnswers"]["Threshold"]) == (1, 2)
    slow = alarms["Duration"]
    assert (slow["ExtendedStatistic"], slow["Threshold"]) == ("p90", 20_000)


@CANARIES
def test_the_alarms_of_a_failing_version_do_not_block_the_version_that_repairs_it(
    synthesised: Synthesis, name: str
) -> None:
    """CodeDeploy starts nothing while an alarm fires, and a changed alarm keeps its state. New names are new alarms."""
    template = synthesised.service[name]
    (version,) = resources(template, "AWS::Lambda::Version")
    names = [alarm["AlarmName"]["Fn::Join"][1] for alarm in _alarms(template).values()]
    assert all(parts[-1] == {"Fn::GetAtt": [version, "Version"]} for parts in names)
    assert len({parts[0] for parts in names}) == len(names)


def test_without_a_canary_a_version_takes_over_at_once(synthesised: Synthesis) -> None:
    template = synthesised.service["dev"]
    assert not [one for one in template["Resources"].values() if one["Type"].startswith("AWS::CodeDeploy::")]
    (alias,) = resources(template, "AWS::Lambda::Alias").values()
    assert "UpdatePolicy" not in alias
    assert not _alarms(template)


@pytest.mark.slow
def test_an_emergency_skips_the_canary_of_one_deployment_and_removes_nothing(
    synthesised: Synthesis, tmp_path: Path
) -> None:
    usual, emergency = synthesised.service["staging"], _synthesise(tmp_path, "off")
    changed = {name for name, resource in usual["Resources"].items() if emergency["Resources"].get(name) != resource}
    (alias,) = resources(usual, "AWS::Lambda::Alias")
    assert emergency["Resources"].keys() == usual["Resources"].keys()
    assert changed == {alias}
    without = dict(usual["Resources"][alias])
    del without["UpdatePolicy"]
    assert emergency["Resources"][alias] == without


def test_a_misspelt_switch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'of'"):
        _synthesise(tmp_path, "of")


@pytest.mark.parametrize("values", [{"minutes": 7}, {"failures": 0}, {"slow_seconds": 0}])
def test_a_canary_that_cannot_work_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"CodeDeploy has canaries|needs bars"):
        Canary(**values)


@pytest.mark.parametrize("minutes", CANARY_MINUTES)
def test_a_canary_may_take_as_long_as_codedeploy_has_configurations_for(minutes: int) -> None:
    assert Canary(minutes=minutes).minutes == minutes


def _alarms(template: Template) -> dict[str, dict[str, Any]]:
    """The alarms of the canary, by logical id."""
    alarms = {name: resource["Properties"] for name, resource in resources(template, "AWS::CloudWatch::Alarm").items()}
    return {name: alarm for name, alarm in alarms.items() if "-canary-" in json.dumps(alarm.get("AlarmName", ""))}


def _synthesise(path: Path, switch: str) -> Template:
    """The service stack of staging with the context of `cdk deploy --context canary=SWITCH`."""
    layer = path / "layer" / "python"
    layer.mkdir(parents=True)
    (layer / "nothing.py").write_text("")
    code = stub_code(layer.parent)
    app = make_app([], code, outdir=path / "cdk.out")
    app.node.set_context("canary", switch)
    GleanerStage(app, STAGING, code=code)
    app.synth()
    (file,) = (path / "cdk.out" / "assembly-gleaner-staging").glob("*service*.template.json")
    template: Template = json.loads(file.read_text())
    return template
