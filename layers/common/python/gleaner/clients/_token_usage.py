"""Reads the token counts of an answer, whose names differ between the APIs."""

from __future__ import annotations

from gleaner.clients._json_values import as_count, as_object
from gleaner.model import JsonObject, TokenUsage


def read_usage(usage: JsonObject, *, input_name: str, output_name: str) -> TokenUsage:
    """The counts; those of parts are cut to the whole, since a price must never become negative."""
    input_tokens = as_count(usage.get(input_name))
    prompt = as_object(usage.get(f"{input_name}_details"))
    completion = as_object(usage.get(f"{output_name}_details"))
    cached = min(as_count(prompt.get("cached_tokens")), input_tokens)
    return TokenUsage(
        input_tokens=input_tokens,
        cached_input_tokens=cached,
        cache_write_tokens=min(as_count(prompt.get("cache_write_tokens")), input_tokens - cached),
        output_tokens=as_count(usage.get(output_name)),
        reasoning_tokens=as_count(completion.get("reasoning_tokens")),
    )
