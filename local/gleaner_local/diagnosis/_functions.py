"""Checks the deployed query function: its live version and its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gleaner_local.diagnosis.finding import Finding, note, ok, problem

SUBJECT = "query function"
_ALIAS = "live"
_PERCENT = 100
_WAKE = "Request /api/health until it is Active. The weekly schedule must be enabled: see `schedule` below."
MARK = "API_KEYS_SECRET_ARN"  # only the query function has this variable


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFunction:
    """The version of the query function that the API invokes."""

    name: str
    version: str
    state: str
    reason: str = ""  # of the state, as Lambda words it
    last_update: str
    snapshot: str | None  # status of SnapStart ("On" or "Off"); None when it is not configured
    shares: Mapping[str, float] = field(default_factory=dict)  # of the requests, by another version; 0 to 1
    variables: Mapping[str, str]  # as the function sees them

    def check(self, *, fix: str) -> Finding:
        """Check that this version can be invoked; `fix` says how to repair it."""
        version = f"{self.name} version {self.version} (`{_ALIAS}`)"
        state = f"{self.state} ({self.reason.rstrip('.')})" if self.reason else self.state
        if self.state == "Pending":
            return problem(SUBJECT, f"{version} is still being prepared: {state}.", "Wait, then check again.")
        if self.state == "Inactive" and self.snapshot is not None:
            # After 14 days without an invocation: "Lambda SnapStart and function states" of Lambda's developer guide.
            text = f"{version} sleeps: {state}. Its first callers get errors until Lambda has a snapshot again."
            return problem(SUBJECT, text, _WAKE)
        if self.state not in ("Active", "Inactive"):  # without a snapshot, it starts with the next request
            return problem(SUBJECT, f"{version} is {state}.", fix)
        if self.last_update != "Successful":
            return problem(SUBJECT, f"The last update of {version} is {self.last_update}.", fix)
        if self.snapshot == "Off":
            return problem(SUBJECT, f"{version} has no snapshot to start from.", fix)
        return ok(SUBJECT, f"{version} is {state}{', started from a snapshot' if self.snapshot else ''}.")

    def check_shares(self) -> Iterator[Finding]:
        """Say which other versions get requests: a canary, or what was left of one."""
        for version, share in self.shares.items():
            text = f"Version {version} gets {share * _PERCENT:g} % of the requests."
            yield note(SUBJECT, text, "If no deployment is in progress, docs/09 says how to end this.")


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
    alias = client.get_alias(FunctionName=name, Name=_ALIAS)
    return LiveFunction(
        name=name,
        version=configuration["Version"],
        state=configuration.get("State", "Active"),
        reason=configuration.get("StateReason", ""),
        last_update=configuration.get("LastUpdateStatus", "Successful"),
        snapshot=snap_start.get("OptimizationStatus") if snap_start.get("ApplyOn") == "PublishedVersions" else None,
        shares=(alias.get("RoutingConfig") or {}).get("AdditionalVersionWeights", {}),
        # Lambda adds the region ("Defined runtime environment variables" of its developer guide).
        variables=configuration["Environment"]["Variables"] | {"AWS_REGION": client.meta.region_name},
    )
