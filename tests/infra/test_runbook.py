"""The runbook has an entry for each alarm, and names only graphs and saved queries that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import fields

import pytest

from gleaner_local.diagnosis.environment import to_placeholder
from infra.constructs.saved_queries import saved_queries
from infra.deploy import Deployment
from infra.environment import Environment, Function
from infra.environments import DEV, PROD
from infra.layer_build import ROOT
from infra.limits import Quota
from tests.infra.synthesis import ALL, ALL_NAMES, Synthesis, one, properties, resources

RUNBOOK = ROOT / "docs" / "13-runbook.md"
HANDBOOK = ROOT / "docs" / "09-deploying-and-operating.md"
POINTER = re.compile(r"See docs/13-runbook\.md: (\w+)$")
PARTS = ("Meaning", "Look at", "Do", "Go back")


def entries() -> Mapping[str, str]:
    """The text of each entry, by the name of its alarm."""
    sections = re.split(r"^## ", RUNBOOK.read_text(), flags=re.MULTILINE)[1:]
    named = [(re.match(r"`(\w+)`: what if .*\?\n", section), section) for section in sections]
    return {match[1]: section for match, section in named if match}


@pytest.mark.parametrize("environment", ALL, ids=ALL_NAMES)
def test_every_alarm_has_an_entry(synthesised: Synthesis, environment: Environment) -> None:
    for alarm in _alarm_descriptions(synthesised, environment.name):
        pointer = POINTER.search(alarm)
        assert pointer, f"The alarm names no entry: {alarm}"
        assert pointer[1] in entries()


def test_every_entry_has_an_alarm(synthesised: Synthesis) -> None:
    alarms = [alarm for name in ALL_NAMES for alarm in _alarm_descriptions(synthesised, name)]
    assert set(entries()) == {pointer[1] for alarm in alarms if (pointer := POINTER.search(alarm))}


@pytest.mark.parametrize("name", entries())
def test_an_entry_says_what_to_look_at_what_to_do_and_how_to_go_back(synthesised: Synthesis, name: str) -> None:
    text = entries()[name]
    assert tuple(re.findall(r"^- \*\*(.+?)\*\*: ", text, re.MULTILINE)) == PARTS
    dashboard = json.dumps(one(synthesised.watch["dev"], "AWS::CloudWatch::Dashboard")).replace("\\", "")
    titles = re.findall(r'"title":"([^"]*)"', dashboard)
    graphs = re.findall(r'graph "([^"]*)"', text)
    assert graphs
    for graph in graphs:
        assert any(title.startswith(graph) for title in titles), graph
    queries = re.findall(r"saved query `(\w+)`", text)
    assert name in queries  # its own
    assert set(queries) <= saved_queries(DEV).keys()


def test_every_saved_query_is_in_the_runbook() -> None:
    assert saved_queries(DEV).keys() <= set(re.findall(r"saved query `(\w+)`", RUNBOOK.read_text()))


def test_the_fields_that_the_runbook_names_are_those_of_the_access_log(synthesised: Synthesis) -> None:
    stage = one(synthesised.service["dev"], "AWS::ApiGateway::Stage")
    fields = json.loads(stage["AccessLogSetting"]["Format"])
    (row,) = re.findall(r"^\| access log \|(.*)\|$", RUNBOOK.read_text(), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) <= fields.keys()


def test_names_in_commands_are_outputs_of_the_stacks(synthesised: Synthesis) -> None:
    text = RUNBOOK.read_text()
    outputs = {to_placeholder(name) for template in synthesised.of("prod") for name in template["Outputs"]}
    names = set(re.findall(r"--(?:function-name|queue-url) ([^`\s]+)", text))
    of_service = {"QUERY_FUNCTION_NAME", "PRUNE_FUNCTION_NAME", "DEAD_LETTERS_URL"}
    of_documents = {"INGEST_FUNCTION_NAME", "DOCUMENT_DEAD_LETTERS_URL", "UNDELIVERED_DOCUMENTS_URL"}
    assert of_service | of_documents == names & outputs == names
    parameters = properties(synthesised.service["prod"], "AWS::SSM::Parameter")
    (path,) = re.findall(r"get-parameters-by-path --path (\S+)", text)
    assert any(one["Name"].startswith(path.replace("ENV", "prod") + "/") for one in parameters)


def test_no_command_points_the_alias_to_a_version_that_cloudformation_deletes(synthesised: Synthesis) -> None:
    versions = resources(synthesised.service["dev"], "AWS::Lambda::Version").values()
    assert versions and all(version.get("DeletionPolicy", "Delete") == "Delete" for version in versions)
    assert "update-alias" not in RUNBOOK.read_text()


def test_the_fast_way_back_is_a_command_that_is_understood() -> None:
    section = RUNBOOK.read_text().partition("## How do I go back to the version before?\n")[2].partition("\n## ")[0]
    (command,) = re.findall(r"^make deploy (.*)$", section, re.MULTILINE)
    values = dict(word.partition("=")[::2] for word in shlex.split(command))
    assert values == {"ENV": "prod", "STACK": "service", "CDK_FLAGS": "--exclusively --context canary=off"}
    flags = values["CDK_FLAGS"].split()
    deployment = Deployment(environment="prod", stack="service", index_host=None, arguments=flags)
    assert deployment.served()[0] == "gleaner-prod/service" and deployment.served()[-3:] == flags
    assert not deployment.watch()


def test_a_reservation_of_the_record_is_given_back() -> None:
    section = RUNBOOK.read_text().partition("## How do I stop everything at once?\n")[2].partition("\n## ")[0]
    given = re.findall(r"--reserved-concurrent-executions (\S+)", section)
    assert given == ["0", "RESERVED_CONCURRENCY"]
    assert "reserved_concurrency" in {one.name for one in fields(Function)} and "`reserved_concurrency`" in section


def test_a_rollback_that_fails_has_a_way_out() -> None:
    for text in (entries()["Canary"], HANDBOOK.read_text().partition("\n## What if a rollback fails?\n")[2]):
        assert "UPDATE_ROLLBACK_FAILED" in text.partition("\n## ")[0]
        assert "continue-update-rollback" in text.partition("\n## ")[0]


def test_a_quota_that_is_used_up_names_fields_of_the_record() -> None:
    heading = "## What if the environment has used up its quota of the day?\n"
    section = RUNBOOK.read_text().partition(heading)[2].partition("\n## ")[0]
    assert "429 `quota-exceeded`" in section and "make deploy ENV=prod" in section
    named = set(re.findall(r"`(environment_\w+)`", section))
    assert named == {one.name for one in fields(Quota) if one.name.startswith("environment_")}


def test_the_first_deployment_says_that_alarms_need_an_address() -> None:
    assert PROD.alarms.email is None
    steps = HANDBOOK.read_text().partition("## What are the steps of the first deployment?\n")[2].partition("\n## ")[0]
    deploy = (ROOT / "README.md").read_text().partition("## Deploy\n")[2].partition("\n## ")[0]
    for text in (steps, deploy):
        assert "`email`" in text and "`infra/environments.py`" in text


def _alarm_descriptions(synthesised: Synthesis, name: str) -> list[str]:
    templates = synthesised.of(name)
    alarms = [alarm for template in templates for alarm in properties(template, "AWS::CloudWatch::Alarm")]
    return [alarm["AlarmDescription"] for alarm in alarms]
