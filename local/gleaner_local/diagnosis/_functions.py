"""Checks the deployed query function: its version in use and its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "query function"
_ALIAS = "live"
MARK = "API_KEYS_SECRET_ARN"  # the variable that the query function alone has


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFunction:
    """The version of the query function that the API invokes."""

    name: str
    version: str
    state: str
    last_update: str
    snapshot: str | None  # whether its snapshot is on; None when it takes none
    variables: Mapping[str, str]

    def check(self, *, mend: str) -> Finding:
        """Whether this version can be invoked."""
        which = f"{self.name} version {self.version} (`{_ALIAS}`)"
        if self.state == "Pending":
            return problem(SUBJECT, f"{which} is still being made ready.", "Wait, and check again.")
        if self.state not in ("Active", "Inactive"):  # inactive: asleep, the next request wakes it
            return problem(SUBJECT, f"{which} is {self.state}.", mend)
        if self.last_update != "Successful":
            return problem(SUBJECT, f"The last update of {which} is {self.last_update}.", mend)
        if self.snapshot == "Off":
            return problem(SUBJECT, f"{which} has no snapshot to start from.", mend)
        return ok(SUBJECT, f"{which} is {self.state}{', started from a snapshot' if self.snapshot else ''}.")


def read_live(client: Any, names: Sequence[str]) -> LiveFunction | None:
    """The query function among `names`, as `client`, of Lambda, knows it. Raises what the client raises."""
    for name in names:
        variables = client.get_function_configuration(FunctionName=name).get("Environment", {}).get("Variables", {})
        if MARK in variables:
            return _live(client, name)
    return None


def _live(client: Any, name: str) -> LiveFunction:
    found = client.get_function_configuration(FunctionName=name, Qualifier=_ALIAS)
    snap_start = found.get("SnapStart", {})
    return LiveFunction(
        name=name,
        version=found["Version"],
        state=found.get("State", "Active"),
        last_update=found.get("LastUpdateStatus", "Successful"),
        snapshot=snap_start.get("OptimizationStatus") if snap_start.get("ApplyOn") == "PublishedVersions" else None,
        variables=found["Environment"]["Variables"],
    )
