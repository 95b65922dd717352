"""Executes the tool calls of one turn in parallel, with exactly one outcome for each."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from functools import cached_property

from gleaner.answering._call_events import CallEvents
from gleaner.errors import DeadlineExceeded, GleanerError, ServiceUnavailable, ToolCallRejected
from gleaner.model import JsonObject, ToolCall
from gleaner.runtime.spans import note, span
from gleaner.tools import generate_response, knowledge_base_search, perplexity_search
from gleaner.tools.registry import TOOLS
from gleaner.tools.workspace import Workspace

logger = logging.getLogger(__name__)

_SEARCHES = frozenset((knowledge_base_search.NAME, perplexity_search.NAME))
_MAX_SHOWN = 100  # characters of an unknown name

_Key = tuple[str, str]  # name and arguments of a call


@dataclass(frozen=True, kw_only=True)
class CallOutcome:
    """The outcome of one call. `executed` is False if the call was rejected before the tool ran."""

    call: ToolCall
    result: JsonObject
    executed: bool
    error: str | None
    duration_ms: float

    @cached_property
    def content(self) -> str:
        """The result as JSON text, for the model and the record."""
        return json.dumps(self.result, ensure_ascii=False)

    @property
    def succeeded(self) -> bool:
        """Whether the tool ran and returned a result."""
        return self.executed and self.error is None


class Execution:
    """Executes the calls of one query; an identical repeated call gets the first result."""

    def __init__(
        self,
        workspace: Workspace,
        executor: Executor,
        listener: Callable[[CallOutcome], None],
        events: CallEvents,
        *,
        max_calls: int,
    ) -> None:
        self._workspace = workspace
        self._executor = executor
        self._listener = listener
        self._events = events
        self._max_calls = max_calls
        self._results: dict[_Key, CallOutcome] = {}

    def run(
        self, calls: Sequence[ToolCall], offered: Sequence[str], calls_left: Mapping[str, int]
    ) -> list[CallOutcome]:
        """Execute the calls and return their outcomes in order; the answer runs last, whatever its position.

        `calls_left` holds how many calls may still be executed, for tools with a limit.
        """
        self._events.start(calls)
        excess_ids = self._find_excess(calls, calls_left)
        rejections = {
            call.id: rejection
            for position, call in enumerate(calls)
            if (rejection := self._reject(position, call, offered, excess_ids))
        }
        rejections |= self._reject_early_answers(calls, rejections)
        accepted = [call for call in calls if call.id not in rejections and call.name != generate_response.NAME]
        unique = {(call.name, call.arguments): call for call in reversed(accepted) if not self._has_result(call)}
        for rejection in rejections.values():
            self._events.finish(rejection)
        self._run_in_parallel(unique)
        outcomes = []
        for call in calls:
            if call.id in rejections:
                outcome = rejections[call.id]
            elif call.name == generate_response.NAME:
                outcome = self._execute(call)
            else:
                outcome = self._take_result(call)
            self._events.finish(outcome)
            self._listener(outcome)
            outcomes.append(outcome)
        return outcomes

    def _run_in_parallel(self, unique: Mapping[_Key, ToolCall]) -> None:
        for key, outcome in self._execute_all(unique):
            self._results[key] = outcome
            self._events.finish(outcome)

    def _execute_all(self, unique: Mapping[_Key, ToolCall]) -> Iterator[tuple[_Key, CallOutcome]]:
        """Yield each outcome as it comes. A single call needs no other thread."""
        if len(unique) == 1:
            yield from ((key, self._execute(call)) for key, call in unique.items())
            return
        futures = {self._executor.submit(self._execute, call): key for key, call in unique.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()

    def _has_result(self, call: ToolCall) -> bool:
        first = self._results.get((call.name, call.arguments))
        return first is not None and first.succeeded  # a failed call may be retried

    def _take_result(self, call: ToolCall) -> CallOutcome:
        first = self._results[call.name, call.arguments]
        if first.call.id == call.id:
            return first
        return CallOutcome(call=call, result=first.result, executed=first.executed, error=first.error, duration_ms=0.0)

    def _find_excess(self, calls: Sequence[ToolCall], calls_left: Mapping[str, int]) -> set[str]:
        """Ids of the calls that exceed the limit of their tool. Repeated calls do not count."""
        excess_ids: set[str] = set()
        distinct: dict[str, set[str]] = {tool: set() for tool in calls_left}
        for call in calls:
            if call.name not in calls_left or self._has_result(call) or call.arguments in distinct[call.name]:
                continue
            if len(distinct[call.name]) >= calls_left[call.name]:
                excess_ids.add(call.id)
            else:
                distinct[call.name].add(call.arguments)
        return excess_ids

    def _reject_early_answers(
        self, calls: Sequence[ToolCall], rejections: Mapping[str, CallOutcome]
    ) -> dict[str, CallOutcome]:
        """Reject answers in the same turn as a search whose result the model has not read yet."""
        if all(call.name not in _SEARCHES or call.id in rejections or self._has_result(call) for call in calls):
            return {}
        reason = "Search and answer came in one turn. Read the search result first, then answer."
        return {
            call.id: _failed(call, reason, "rejected", executed=False, duration_ms=0.0)
            for call in calls
            if call.name == generate_response.NAME
        }

    def _reject(
        self,
        position: int,
        call: ToolCall,
        offered: Sequence[str],
        excess_ids: Collection[str],
    ) -> CallOutcome | None:
        reason = None
        if call.name not in TOOLS:
            reason = f"There is no tool {call.name[:_MAX_SHOWN]!r}. Offered now: {', '.join(offered)}."
        elif call.name not in offered:
            reason = f"{call.name} is not available at this step. Offered now: {', '.join(offered)}."
        elif position >= self._max_calls:
            reason = f"More than {self._max_calls} calls in one turn. Make fewer."
        elif call.id in excess_ids:
            reason = f"{call.name} has reached its limit for one question. Work with the results you have."
        return None if reason is None else _failed(call, reason, "rejected", executed=False, duration_ms=0.0)

    def _execute(self, call: ToolCall) -> CallOutcome:
        with span(f"tool {call.name}", is_remote=False):
            outcome = self._run(call)
            if outcome.error is not None:
                note(outcome=outcome.result["error"]["code"])
            return outcome

    def _run(self, call: ToolCall) -> CallOutcome:
        started_at = time.monotonic()
        tool = TOOLS[call.name]
        try:
            result = tool.run(tool.parse(call.arguments), self._workspace)
        except ToolCallRejected as error:
            return _failed(call, str(error), error.code, executed=False, duration_ms=_milliseconds_since(started_at))
        except (ServiceUnavailable, DeadlineExceeded) as error:
            logger.warning("tool failed", extra={"tool": call.name, "reason": str(error)})
            self._workspace.degraded.add(f"{call.name} failed")
            return _failed(call, str(error), "unavailable", executed=True, duration_ms=_milliseconds_since(started_at))
        except GleanerError:
            raise
        except Exception:
            logger.exception("tool failed unexpectedly", extra={"tool": call.name})
            self._workspace.degraded.add(f"{call.name} failed")
            reason = f"{call.name} failed unexpectedly. Work with the results you have, or try other arguments."
            return _failed(call, reason, "internal", executed=True, duration_ms=_milliseconds_since(started_at))
        return CallOutcome(
            call=call, result=result, executed=True, error=None, duration_ms=_milliseconds_since(started_at)
        )


def _failed(call: ToolCall, reason: str, code: str, *, executed: bool, duration_ms: float) -> CallOutcome:
    result = {"error": {"message": reason, "code": code}}
    return CallOutcome(call=call, result=result, executed=executed, error=reason, duration_ms=duration_ms)


def _milliseconds_since(started_at: float) -> float:
    return (time.monotonic() - started_at) * 1000
