"""Tells a sink of tool calls: what the model called, what came of it, and which passages it found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gleaner.answering.events import PassagesFound, Sink, ToolCalled, ToolFinished, ignore
from gleaner.guards.redaction import redact, redact_json
from gleaner.model import JsonObject, ToolCall
from gleaner.tools import generate_response
from gleaner.tools.registry import TOOLS
from gleaner.tools.workspace import Workspace

if TYPE_CHECKING:
    from gleaner.answering._execution import CallOutcome

_MAX_SHOWN_CHARS = 4_000  # of arguments, as in the history
# Why in detail names words that the model wrote, and these are unchecked.
_ANSWER_REFUSED = "The answer was not accepted."


class CallEvents:
    """The events of the calls of one question. All come from the thread that runs the question.

    A call of a tool that does not exist makes no event: its name and arguments are words of the model alone.
    """

    def __init__(self, workspace: Workspace, emit: Sink) -> None:
        self._workspace = workspace
        self._emit = emit
        self._call_count = 0  # of earlier turns
        self._open: dict[str, str] = {}  # ids in events of calls without an outcome, by the model's id
        self._passage_count = 0

    def start(self, calls: Sequence[ToolCall]) -> None:
        """Tell which calls the model made in a turn."""
        if self._emit is ignore:
            return
        for position, call in enumerate(calls, start=self._call_count):
            if call.name in TOOLS:
                self._open[call.id] = f"call-{position}"
                arguments = {} if call.name == generate_response.NAME else _read_arguments(call)
                self._emit(ToolCalled(call_id=self._open[call.id], tool=call.name, arguments=arguments))
        self._call_count += len(calls)

    def finish(self, outcome: CallOutcome) -> None:
        """Tell the outcome of a call, after the passages that it found; an outcome is told once."""
        if (call_id := self._open.pop(outcome.call.id, None)) is None:
            return
        self._show_passages()
        self._emit(
            ToolFinished(
                call_id=call_id,
                tool=outcome.call.name,
                result=summarize(outcome, self._workspace),
                error=_describe_error(outcome),
                duration_ms=round(outcome.duration_ms, 1),
            )
        )

    def _show_passages(self) -> None:
        passages = self._workspace.passages()
        if new := passages[self._passage_count :]:
            self._passage_count = len(passages)
            self._emit(PassagesFound(passages=new))


def summarize(outcome: CallOutcome, workspace: Workspace) -> JsonObject:
    """Ids and counts, and the price of a web search, where the search engine states it; empty for a failed call."""
    if outcome.error:
        return {}
    price = workspace.web_prices.get(outcome.result.get("perplexity_result_id", ""))
    priced = {} if price is None else {"cost_usd": price}
    return TOOLS[outcome.call.name].summarize(outcome.result) | priced


def _read_arguments(call: ToolCall) -> JsonObject:
    """The arguments that the tool knows, redacted; none if they are no JSON object or too long to be shown."""
    shown = redact_json(call.arguments)
    try:
        arguments = json.loads(shown, strict=False) if len(shown) <= _MAX_SHOWN_CHARS else None
    except (ValueError, RecursionError):
        arguments = None
    known = TOOLS[call.name].arguments.model_fields
    return {name: value for name, value in arguments.items() if name in known} if isinstance(arguments, dict) else {}


def _describe_error(outcome: CallOutcome) -> str | None:
    if outcome.error is None:
        return None
    return _ANSWER_REFUSED if outcome.call.name == generate_response.NAME else redact(outcome.error)
