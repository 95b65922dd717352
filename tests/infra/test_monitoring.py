"""The dashboard and the alarms."""

from __future__ import annotations

import json

from infra.criteria import shares
from infra.environments import DEV, Environment
from tests.infra.synthesis import EVERY, Synthesis, one, properties, resources


@EVERY
def test_every_criterion_has_a_widget_and_its_bar_an_alarm(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    alarms = {alarm["AlarmDescription"]: alarm for alarm in properties(template, "AWS::CloudWatch::Alarm")}
    dashboard = json.dumps(one(template, "AWS::CloudWatch::Dashboard"))
    assert all(f"SC-00{number}" in dashboard for number in range(1, 9))
    for share in shares(environment):
        text = f"{share.code}: {share.title}, at least {share.at_least_percent or 0:g} %"
        if share.at_least_percent is None:
            assert text not in alarms
        else:
            assert alarms[text]["Threshold"] == share.at_least_percent / 100
            assert alarms[text]["ComparisonOperator"] == "LessThanThreshold"
            assert alarms[text]["MetricName"] == share.metric


def test_slow_answers_ring(synthesised: Synthesis) -> None:
    (alarm,) = [
        alarm
        for alarm in properties(synthesised.service["prod"], "AWS::CloudWatch::Alarm")
        if alarm["AlarmDescription"].startswith("SC-005")
    ]
    assert alarm["Threshold"] == 10_000
    assert alarm["ExtendedStatistic"] == "p95"
    assert alarm["Namespace"] == "Gleaner/prod"


@EVERY
def test_failures_ring(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm")
    watched = {alarm["MetricName"]: alarm["Threshold"] for alarm in alarms}
    nothing = {"Throttles": 0, "Errors": 0, "ApproximateNumberOfMessagesVisible": 0}
    assert nothing.items() <= watched.items()
    assert watched["5XXError"] == environment.alarms.server_errors_percent / 100


@EVERY
def test_one_failed_run_of_pruning_rings(synthesised: Synthesis, environment: Environment) -> None:
    alarms = properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm")
    once = [alarm for alarm in alarms if alarm["EvaluationPeriods"] == alarm["DatapointsToAlarm"] == 1]
    assert {alarm["MetricName"] for alarm in once} == {"Errors", "ApproximateNumberOfMessagesVisible"}


@EVERY
def test_silence_is_no_alarm(synthesised: Synthesis, environment: Environment) -> None:
    for alarm in properties(synthesised.service[environment.name], "AWS::CloudWatch::Alarm"):
        assert alarm["TreatMissingData"] == "notBreaching"


def test_alarms_reach_the_address_of_the_record(synthesised: Synthesis) -> None:
    template = synthesised.service["email"]
    (topic,) = resources(template, "AWS::SNS::Topic")
    subscription = one(template, "AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "on-call@example.com")
    for alarm in properties(template, "AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == [{"Ref": topic}]


def test_without_an_address_there_is_no_topic(synthesised: Synthesis) -> None:
    assert DEV.alarms.email is None
    assert not resources(synthesised.service["dev"], "AWS::SNS::Topic")
