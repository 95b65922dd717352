"""The price of a question, in USD for a thousand of its kind, by part; and the arithmetic in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.cost_questions import Kind, Measured
from harness.prompt_tokens import count
from infra.environments import DEV
from infra.prices import (
    AWS,
    MODELS,
    PINECONE_EMBED_MILLION_TOKENS,
    PINECONE_READ_MILLION,
    PINECONE_SEARCH_UNITS,
    WEB_ANSWER,
)

QUESTIONS = 1_000
_MILLION = 1_000_000
_GIGABYTE = 1_000_000_000
# Assumed, since nothing here is timed: how long the function waits. The last is its own.
MODEL_SECONDS, WEB_SECONDS, OWN_SECONDS = 2.0, 4.0, 0.1
# A line of metrics has about 1,100 bytes; Lambda's own lines and the access log have the rest.
LOG_BYTES = 2_700
MEMORY_GB = DEV.query.memory_mb / 1024
MODEL = MODELS[DEV.openai_model]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costed:
    """A question with the input tokens of each of its model calls that the provider had in its cache."""

    question: Measured
    cached: tuple[int, ...]
    cached_with_all_tools: tuple[int, ...]  # if every call offered the same tools
    input_with_all_tools: int

    def input_tokens(self) -> int:
        """Of all calls."""
        return sum(len(prompt.tokens()) for prompt in self.question.prompts)

    def read_units(self) -> float:
        """Of the store."""
        return sum(request.read_units for request in self.question.requests)

    def write_units(self) -> float:
        """Of the store."""
        return sum(request.write_units for request in self.question.requests)

    def seconds(self) -> float:
        """That the function runs."""
        web = WEB_SECONDS if self.question.kind is Kind.WEB else 0.0
        return len(self.question.prompts) * MODEL_SECONDS + web + OWN_SECONDS


def usd(costed: Sequence[Costed]) -> dict[str, float]:
    """The mean price of these questions without caching, by part, for a thousand of them."""
    parts = {
        "model: input tokens": [one.input_tokens() * MODEL.input / _MILLION for one in costed],
        "model: output tokens": [one.question.output_tokens * MODEL.output / _MILLION for one in costed],
        "web search": [WEB_ANSWER if one.question.kind is Kind.WEB else 0.0 for one in costed],
        "Pinecone": [_index(one) for one in costed],
        "DynamoDB": [_store(one) for one in costed],
        "Lambda": [AWS.invocation_million / _MILLION + one.seconds() * MEMORY_GB * AWS.gb_second for one in costed],
        "API Gateway": [AWS.api_request_million / _MILLION for _ in costed],
        "logs and traces": [LOG_BYTES * AWS.log_gb / _GIGABYTE + AWS.trace_million / _MILLION for _ in costed],
    }
    return {part: QUESTIONS * fmean(values) for part, values in parts.items()}


def with_caching(costed: Sequence[Costed]) -> float:
    """The price of a thousand of these questions when the provider has in its cache what it can have."""
    return sum(usd(costed).values()) - _saved(fmean(sum(one.cached) for one in costed))


def with_all_tools(costed: Sequence[Costed]) -> float:
    """The same if every call offered the same tools: more tokens, and more of them in the cache."""
    more = fmean(one.input_with_all_tools - one.input_tokens() for one in costed) * MODEL.input
    cached = fmean(sum(one.cached_with_all_tools) for one in costed)
    return sum(usd(costed).values()) + QUESTIONS * more / _MILLION - _saved(cached)


def _saved(cached_tokens: float) -> float:
    return QUESTIONS * cached_tokens * (MODEL.input - MODEL.cached_input) / _MILLION


def _index(one: Costed) -> float:
    embedded = count(one.question.query) * PINECONE_EMBED_MILLION_TOKENS
    return (PINECONE_SEARCH_UNITS * PINECONE_READ_MILLION + embedded) / _MILLION


def _store(one: Costed) -> float:
    return (one.read_units() * AWS.read_million + one.write_units() * AWS.write_million) / _MILLION
