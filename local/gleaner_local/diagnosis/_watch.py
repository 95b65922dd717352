"""Checks what runs beside the API of a deployed environment: the schedules, and the alarms that watch it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SCHEDULE = "schedule"
ALARMS = "alarms"
ALARM = "AWS::CloudWatch::Alarm"
# Parameters of the watch stack, which it reads when it is deployed, and outputs of other stacks with the same values.
WATCHED = {
    "QueryFunction": "QueryFunctionName",
    "PruneFunction": "PruneFunctionName",
    "IngestFunction": "IngestFunctionName",
}


def check_schedule(client: Any, names: Sequence[str], *, fix: str) -> Iterator[Finding]:
    """Check that the schedules are enabled; `client` is an EventBridge Scheduler client."""
    if not names:
        yield problem(SCHEDULE, "There is no schedule, so keywords are not pruned.", fix)
    for name in names:
        schedule = client.get_schedule(Name=name)
        what = f"{schedule.get('Description') or name}: {schedule['ScheduleExpression']}"
        if schedule["State"] == "ENABLED":
            yield ok(SCHEDULE, f"{what}.")
        else:
            yield problem(SCHEDULE, f"{what}, but the schedule {name} is {schedule['State']}.", f"Enable it: {fix}")


def check_alarms(client: Any, names: Sequence[str], *, dashboard: str, fix: str) -> Iterator[Finding]:
    """Check that the alarms exist and that none fires; `client` is a CloudWatch client."""
    pages = client.get_paginator("describe_alarms").paginate(AlarmNames=list(names)) if names else ()
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
    if len(alarms) < len(names) or not alarms:
        yield problem(ALARMS, f"{len(alarms)} of {len(names)} alarms exist.", fix)
    firing = [alarm for alarm in alarms if alarm["StateValue"] == "ALARM"]
    for alarm in firing:
        text = f"An alarm fires: {alarm.get('AlarmDescription') or alarm['AlarmName']}."
        yield problem(ALARMS, text, f"docs/13-runbook.md has its entry. Dashboard: {dashboard}")
    if alarms and not firing:
        yield ok(ALARMS, f"None of {len(alarms)} alarms fires. Dashboard: {dashboard}")
    if any(alarm.get("ActionsEnabled") is False for alarm in alarms):
        yield problem(ALARMS, "The actions of some alarms are disabled.", fix)
    if alarms and not any(alarm.get("AlarmActions") for alarm in alarms):
        yield note(ALARMS, "The alarms notify nobody.", "Set `email` of the alarms in infra/environments.py.")


def check_watched(watched: Mapping[str, str], outputs: Mapping[str, str], *, fix: str) -> Iterator[Finding]:
    """Check that the alarms watch the functions that are deployed now, not those of a service that was removed.

    `watched` are the parameters of the watch stack, `outputs` those of the other stacks.
    """
    gone = [name for name, output in WATCHED.items() if watched.get(name) != outputs.get(output)]
    if gone:
        text = f"The alarms watch what is no longer deployed ({', '.join(gone)})."
        yield problem(ALARMS, text, f"Deploy them again: {fix}")
