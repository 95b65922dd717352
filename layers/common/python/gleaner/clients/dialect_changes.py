"""Says in plain words how a provider wants to be asked, compared with how it was asked at first."""

from __future__ import annotations

from gleaner.clients._dialect import REPLAYED_ITEMS, Api, Dialect, Forcing, first_dialect

API_NAMES = {Api.RESPONSES: "the Responses API", Api.CHAT: "chat completions"}
_FORCINGS = {
    Forcing.ALLOWED: "all tools are offered, and tool_choice names those that may be called",
    Forcing.REQUIRED: "only the tools that may be called are offered, with tool_choice required",
    Forcing.AUTO: "tool_choice is auto, so the model decides whether to call a tool",
    Forcing.SCHEMA: "calls are asked for as JSON that matches a schema, without tools",
}


def describe_changes(first: Dialect, current: Dialect) -> list[str]:
    """What changed between two dialects, one phrase for each step; empty if nothing did."""
    changes = []
    if current.api is not first.api:
        changes.append(f"{API_NAMES[current.api]} in place of {API_NAMES[first.api]}")
        first = first_dialect(current.api, current.apis, current.model, current.configured_effort)
    if current.forcing is not first.forcing:
        changes.append(_FORCINGS[current.forcing])
    if current.effort != first.effort:
        changes.append(f"reasoning effort {_effort(current)} in place of {_effort(first)}")
    if current.output_limits != first.output_limits:
        limit = current.output_limits[0] if current.output_limits else "no field"
        changes.append(f"{limit} bounds the output in place of {first.output_limits[0]}")
    if fields := sorted(current.omitted - first.omitted - {REPLAYED_ITEMS}):
        changes.append(f"without {', '.join(fields)}")
    if REPLAYED_ITEMS in current.omitted - first.omitted:
        changes.append("earlier turns are built from their calls, not sent back as they came")
    return changes


def _effort(dialect: Dialect) -> str:
    return dialect.effort or "unset"
