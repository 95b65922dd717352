"""Checks what runs beside the API of a deployed environment: the schedule of pruning, and the alarms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SCHEDULE = "schedule"
ALARMS = "alarms"


def check_schedule(client: Any, names: Sequence[str], *, mend: str) -> Iterator[Finding]:
    """Whether the schedules are enabled, as `client`, of EventBridge Scheduler, knows them."""
    if not names:
        yield problem(SCHEDULE, "There is none, so keywords are not pruned.", mend)
    for name in names:
        found = client.get_schedule(Name=name)
        rate = found["ScheduleExpression"]
        if found["State"] == "ENABLED":
            yield ok(SCHEDULE, f"Keywords are pruned at {rate}.")
        else:
            yield problem(SCHEDULE, f"The schedule {name} ({rate}) is {found['State']}.", f"Enable it: {mend}")


def check_alarms(client: Any, names: Sequence[str], *, dashboard: str, mend: str) -> Iterator[Finding]:
    """Whether the alarms are quiet, as `client`, of CloudWatch, knows them."""
    pages = client.get_paginator("describe_alarms").paginate(AlarmNames=list(names)) if names else ()
    alarms = [alarm for page in pages for alarm in page["MetricAlarms"]]
    if len(alarms) < len(names) or not alarms:
        yield problem(ALARMS, f"{len(alarms)} of {len(names)} exist.", mend)
    ringing = [alarm for alarm in alarms if alarm["StateValue"] == "ALARM"]
    for alarm in ringing:
        seen = f"It rings: {alarm.get('AlarmDescription') or alarm['AlarmName']}."
        yield problem(ALARMS, seen, f"docs/09 says what to do. Dashboard: {dashboard}")
    if alarms and not ringing:
        yield ok(ALARMS, f"{len(alarms)} are quiet. Dashboard: {dashboard}")
    if any(alarm.get("ActionsEnabled") is False for alarm in alarms):
        yield problem(ALARMS, "The actions of some are switched off.", mend)
    if alarms and not any(alarm.get("AlarmActions") for alarm in alarms):
        yield note(ALARMS, "They tell nobody.", "Set `email` of the environment's alarms in infra/environments.py.")
