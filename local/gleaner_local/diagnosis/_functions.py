"""Checks the deployed query function: its live version and its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gleaner_local.diagnosis.finding import Finding, ok, problem

SUBJECT = "query function"
_ALIAS = "live"
MARK = "API_KEYS_SECRET_ARN"  # only the query function has this variable


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFunction:
    """The version of the query function that the API invokes."""

    name: str
    version: str
    state: str
    last_update: str
    snapshot: str | None  # status of SnapStart ("On" or "Off"); None when it is not configured
    variables: Mapping[str, str]

    def check(self, *, fix: str) -> Finding:
        """Check that this version can be invoked; `fix` says how to repair it."""
        version = f"{self.name} version {self.version} (`{_ALIAS}`)"
        if self.state == "Pending":
            return problem(SUBJECT, f"{version} is still being prepared.", "Wait, then check again.")
        if self.state not in ("Active", "Inactive"):  # an inactive function starts with the next request
            return problem(SUBJECT, f"{version} is {self.state}.", fix)
        if self.last_update != "Successful":
            return problem(SUBJECT, f"The last update of {version} is {self.last_update}.", fix)
        if self.snapshot == "Off":
            return problem(SUBJECT, f"{version} has no snapshot to start from.", fix)
        return ok(SUBJECT, f"{version} is {self.state}{', started from a snapshot' if self.snapshot else ''}.")


def read_live(client: Any, names: Sequence[str]) -> LiveFunction | None:
    """Find the query function among `names`; `client` is a Lambda client, whose errors pass through."""
    for name in names:
        variables = client.get_function_configuration(FunctionName=name).get("Environment", {}).get("Variables", {})
        if MARK in variables:
            return _read_version(client, name)
    return None


def _read_version(client: Any, name: str) -> LiveFunction:
    configuration = client.get_function_configuration(FunctionName=name, Qualifier=_ALIAS)
    snap_start = configuration.get("SnapStart", {})
    return LiveFunction(
        name=name,
        version=configuration["Version"],
        state=configuration.get("State", "Active"),
        last_update=configuration.get("LastUpdateStatus", "Successful"),
        snapshot=snap_start.get("OptimizationStatus") if snap_start.get("ApplyOn") == "PublishedVersions" else None,
        variables=configuration["Environment"]["Variables"],
    )
