"""Execution of the tool calls of one turn: in parallel, each with exactly one outcome."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from gleaner.errors import DeadlineExceeded, ServiceUnavailable, ToolCallRejected
from gleaner.model import JsonObject, ToolCall
from gleaner.tools import generate_response, knowledge_base_search, perplexity_search
from gleaner.tools.registry import TOOLS
from gleaner.tools.workspace import Workspace

logger = logging.getLogger(__name__)

_RETRIEVING = frozenset((knowledge_base_search.NAME, perplexity_search.NAME))


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutcome:
    """What became of one call. `executed` is False when it was refused before the tool ran."""

    call: ToolCall
    result: JsonObject
    executed: bool
    error: str | None
    duration_ms: float

    @property
    def succeeded(self) -> bool:
        """Whether the tool ran and gave a result."""
        return self.executed and self.error is None


class Execution:
    """Executes the calls of one query; a call that is repeated word for word gets its first result again."""

    def __init__(
        self,
        workspace: Workspace,
        executor: Executor,
        listener: Callable[[CallOutcome], None],
        *,
        most_calls: int,
    ) -> None:
        self._workspace = workspace
        self._executor = executor
        self._listener = listener
        self._most_calls = most_calls
        self._results: dict[tuple[str, str], CallOutcome] = {}

    def run(self, calls: Sequence[ToolCall], offered: Sequence[str], left: Mapping[str, int]) -> list[CallOutcome]:
        """One outcome for each call, in their order; the answer is taken last, whatever its place.

        `left` says how many calls of a tool may be executed, where that is bounded.
        """
        beyond = self._beyond(calls, left)
        refused = {
            call.id: refusal
            for position, call in enumerate(calls)
            if (refusal := self._refusal(position, call, offered, beyond))
        }
        refused |= self._too_early(calls, refused)
        working = [call for call in calls if call.id not in refused and call.name != generate_response.NAME]
        unique = {(call.name, call.arguments): call for call in reversed(working) if not self._answered_before(call)}
        started = {key: self._executor.submit(self._execute, call) for key, call in unique.items()}
        self._results.update({key: future.result() for key, future in started.items()})
        outcomes = []
        for call in calls:
            if call.id in refused:
                outcome = refused[call.id]
            elif call.name == generate_response.NAME:
                outcome = self._execute(call)
            else:
                outcome = self._repeated(call)
            self._listener(outcome)
            outcomes.append(outcome)
        return outcomes

    def _answered_before(self, call: ToolCall) -> bool:
        first = self._results.get((call.name, call.arguments))
        return first is not None and first.succeeded  # what failed may be tried again

    def _repeated(self, call: ToolCall) -> CallOutcome:
        first = self._results[call.name, call.arguments]
        if first.call.id == call.id:
            return first
        return CallOutcome(call=call, result=first.result, executed=first.executed, error=first.error, duration_ms=0.0)

    def _beyond(self, calls: Sequence[ToolCall], left: Mapping[str, int]) -> set[str]:
        """Ids of the calls that are more than may be executed. A repeated call costs nothing."""
        beyond: set[str] = set()
        distinct: dict[str, set[str]] = {tool: set() for tool in left}
        for call in calls:
            if call.name not in left or self._answered_before(call) or call.arguments in distinct[call.name]:
                continue
            if len(distinct[call.name]) >= left[call.name]:
                beyond.add(call.id)
            else:
                distinct[call.name].add(call.arguments)
        return beyond

    def _too_early(self, calls: Sequence[ToolCall], refused: Mapping[str, CallOutcome]) -> dict[str, CallOutcome]:
        """Refusals of answers that came beside a search whose result the model has not read yet."""
        if all(call.name not in _RETRIEVING or call.id in refused or self._answered_before(call) for call in calls):
            return {}
        reason = "Search and answer came in one turn. Read the search result first, then answer."
        return {
            call.id: _failed(call, reason, "rejected", executed=False, duration_ms=0.0)
            for call in calls
            if call.name == generate_response.NAME
        }

    def _refusal(
        self,
        position: int,
        call: ToolCall,
        offered: Sequence[str],
        beyond: Collection[str],
    ) -> CallOutcome | None:
        reason = None
        if call.name not in TOOLS:
            reason = f"There is no tool {call.name!r}. Offered now: {', '.join(offered)}."
        elif call.name not in offered:
            reason = f"{call.name} is not available at this step. Offered now: {', '.join(offered)}."
        elif position >= self._most_calls:
            reason = f"More than {self._most_calls} calls in one turn. Make fewer."
        elif call.id in beyond:
            reason = f"{call.name} was called as often as one question may. Work with the results there are."
        return None if reason is None else _failed(call, reason, "rejected", executed=False, duration_ms=0.0)

    def _execute(self, call: ToolCall) -> CallOutcome:
        began = time.monotonic()
        tool = TOOLS[call.name]
        try:
            result = tool.run(tool.parse(call.arguments), self._workspace)
        except ToolCallRejected as error:
            return _failed(call, str(error), error.code, executed=False, duration_ms=_since(began))
        except (ServiceUnavailable, DeadlineExceeded) as error:
            logger.warning("tool failed", extra={"tool": call.name, "reason": str(error)})
            self._workspace.degraded.add(f"{call.name} failed")
            return _failed(call, str(error), "unavailable", executed=True, duration_ms=_since(began))
        return CallOutcome(call=call, result=result, executed=True, error=None, duration_ms=_since(began))


def _failed(call: ToolCall, reason: str, code: str, *, executed: bool, duration_ms: float) -> CallOutcome:
    result = {"error": {"message": reason, "code": code}}
    return CallOutcome(call=call, result=result, executed=executed, error=reason, duration_ms=duration_ms)


def _since(began: float) -> float:
    return (time.monotonic() - began) * 1000
