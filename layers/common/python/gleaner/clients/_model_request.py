"""What the model is asked, before an API gives it its form, and answers that are no turn of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.clients._content_filters import is_filter_error
from gleaner.clients._json_values import as_object, parse_json
from gleaner.clients._partial_calls import PartialCalls
from gleaner.errors import AnswerRefused, GleanerError, ModelUnavailable
from gleaner.model import ChatMessage, JsonObject, ToolSpec


class UnreadableAnswer(ModelUnavailable):
    """An answer that is no turn of the model, such as an error under status 200. A retry may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """The conversation so far and the tools. One of `callable_tools` must be called; `tools` holds them all.

    With `partials`, the answer is wanted as a stream.
    """

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolSpec]
    callable_tools: Sequence[ToolSpec]
    max_output_tokens: int
    partials: PartialCalls | None = None


def read_object(body: bytes) -> JsonObject:
    """The JSON object in the body of an answer. Raises UnreadableAnswer if it is no JSON."""
    try:
        return as_object(parse_json(body))
    except ValueError:
        raise UnreadableAnswer("The language model sent an answer that cannot be read.") from None


def read_error(error: object) -> GleanerError:
    """What an error under status 200 means, or a missing answer."""
    if is_filter_error(error):
        return AnswerRefused()
    return UnreadableAnswer("The language model sent an error in place of an answer.")
