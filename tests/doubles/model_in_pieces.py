"""A client of the model whose turns arrive in pieces, whatever its service does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gleaner.clients.chat_model import ChatModel
from gleaner.model import ModelTurn, PartialCall


@dataclass
class ModelInPieces:
    """Passes a whole turn on as a stream does: the arguments of each call grow by `size` characters a part."""

    model: ChatModel
    size: int = 5
    attempts: int = 1  # of which all but the last break off after three quarters
    stream_count: int = 0  # requests for which a stream was wanted
    stopped: list[str] = field(default_factory=list)  # arguments at which a stream was ended

    def complete(self, *args: Any, on_partial: Callable[[PartialCall], None] | None = None, **more: Any) -> ModelTurn:
        """See ChatModel."""
        turn = self.model.complete(*args, **more)
        if on_partial is not None:
            self.stream_count += 1
            for attempt in range(self.attempts):
                self._play(turn, attempt, on_partial)
        return turn

    def _play(self, turn: ModelTurn, attempt: int, on_partial: Callable[[PartialCall], None]) -> None:
        for position, call in enumerate(turn.tool_calls):
            length = len(call.arguments) if attempt == self.attempts - 1 else len(call.arguments) * 3 // 4
            for end in [*range(self.size, length, self.size), length]:
                partial = PartialCall(
                    attempt=attempt, position=position, tool=call.name, arguments=call.arguments[:end]
                )
                try:
                    on_partial(partial)
                except Exception:
                    self.stopped.append(partial.arguments)
                    raise
