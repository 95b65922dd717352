"""What the model is asked, before an API gives it its form, and an answer that has none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.errors import ModelUnavailable
from gleaner.model import ChatMessage, ToolSpec


class UnreadableAnswer(ModelUnavailable):
    """An answer that is no turn of the model, such as an error under status 200. A retry may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The conversation so far and the tools. One of `callable_tools` must be called; `tools` holds them all."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    callable_tools: Sequence[ToolSpec]
    max_output_tokens: int
