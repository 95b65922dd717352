"""The runbook has an entry for each alarm, and names only graphs and saved queries that exist."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from infra.constructs.saved_queries import saved_queries
from infra.environment import Environment
from infra.environments import DEV
from infra.layer_build import ROOT
from tests.infra.synthesis import ALL, ALL_NAMES, Synthesis, one, properties

RUNBOOK = ROOT / "docs" / "13-runbook.md"
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


def _alarm_descriptions(synthesised: Synthesis, name: str) -> list[str]:
    templates = synthesised.of(name)
    alarms = [alarm for template in templates for alarm in properties(template, "AWS::CloudWatch::Alarm")]
    return [alarm["AlarmDescription"] for alarm in alarms]
