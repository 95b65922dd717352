"""Tells a caller of the model which parts of tool calls have arrived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from gleaner.clients._growing_call import GrowingCall
from gleaner.clients._tool_names import read_name
from gleaner.model import PartialCall, ToolSpec


class StoppedByCaller(Exception):
    """The caller wants no more of the answer: `reason` is what it raised."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(type(reason).__name__)
        self.reason = reason


class StreamAbandoned(Exception):
    """Nobody waits for the answer any more."""


class PartialCalls:
    """The parts of the calls of one turn. Within an attempt, the arguments of a call only ever grow."""

    def __init__(self, listener: Callable[[PartialCall], float | None], tools: Sequence[ToolSpec]) -> None:
        self._listener = listener
        self._tools = tools
        self._attempt = 0
        self._sent: dict[int, str] = {}  # arguments by position
        self._names: dict[str, str] = {}  # of tools, by what the model wrote
        self._is_open = False
        self.patience = 0.0  # seconds for which the listener needs nothing more
        self._lock = threading.Lock()  # the stream is read in a thread of its own

    def begin(self) -> None:
        """Begin with the answer to another request. What came before is void."""
        with self._lock:
            self._attempt += 1
            self._sent = {}
            self._is_open = True
            self.patience = 0.0

    def end(self) -> None:
        """Let nothing more through. Whatever is being told has been told when this returns."""
        with self._lock:
            self._is_open = False

    def require_open(self) -> None:
        """Raises StreamAbandoned if nothing more is let through."""
        if not self._is_open:
            raise StreamAbandoned

    def tell(self, position: int, call: GrowingCall) -> None:
        """Tell what has arrived of the call at `position`. Raises StoppedByCaller or StreamAbandoned."""
        arguments, before = call.readable_arguments, self._sent.get(position, "")
        # Whole arguments that contradict their beginning are left to the turn, which decides.
        if not call.name or len(arguments) <= len(before) or not arguments.startswith(before):
            return
        tool = self._names.get(call.name) or self._names.setdefault(call.name, read_name(call.name, self._tools))
        part = PartialCall(attempt=self._attempt, position=position, tool=tool, arguments=arguments)
        with self._lock:
            self.require_open()
            self._sent[position] = arguments
            try:
                self.patience = self._listener(part) or 0.0
            except BaseException as reason:
                raise StoppedByCaller(reason) from reason
