"""The price of a question by part, in USD for a thousand of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.cost_questions import Kind, Measurement
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
# How long the function waits for each call, and its own time. Assumed, because nothing here is timed.
MODEL_SECONDS, WEB_SECONDS, OWN_SECONDS = 2.0, 4.0, 0.1
# A line of metrics has about 1,100 bytes; the rest are Lambda's own lines and the access log.
LOG_BYTES = 2_700
MEMORY_GB = DEV.query.memory_mb / 1024
MODEL = MODELS[DEV.openai_model]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostedQuestion:
    """A measured question with the cached input tokens of each of its model calls."""

    measurement: Measurement
    cached: tuple[int, ...]
    cached_with_all_tools: tuple[int, ...]  # if every call offered the same tools
    input_with_all_tools: int

    def input_tokens(self) -> int:
        """The input tokens of all calls."""
        return sum(len(prompt.tokens()) for prompt in self.measurement.prompts)

    def read_units(self) -> float:
        """The read units of the store."""
        return sum(request.read_units for request in self.measurement.requests)

    def write_units(self) -> float:
        """The write units of the store."""
        return sum(request.write_units for request in self.measurement.requests)

    def seconds(self) -> float:
        """How long the function runs."""
        web = WEB_SECONDS if self.measurement.kind is Kind.WEB else 0.0
        return len(self.measurement.prompts) * MODEL_SECONDS + web + OWN_SECONDS


def usd(questions: Sequence[CostedQuestion]) -> dict[str, float]:
    """The mean price of a thousand of these questions by part, without caching."""
    parts = {
        "model: input tokens": [item.input_tokens() * MODEL.input / _MILLION for item in questions],
        "model: output tokens": [item.measurement.output_tokens * MODEL.output / _MILLION for item in questions],
        "web search": [WEB_ANSWER if item.measurement.kind is Kind.WEB else 0.0 for item in questions],
        "Pinecone": [_index(item) for item in questions],
        "DynamoDB": [_store(item) for item in questions],
        "Lambda": [
            AWS.invocation_million / _MILLION + item.seconds() * MEMORY_GB * AWS.gb_second for item in questions
        ],
        "API Gateway": [AWS.api_request_million / _MILLION for _ in questions],
        "logs and traces": [LOG_BYTES * AWS.log_gb / _GIGABYTE + AWS.trace_million / _MILLION for _ in questions],
    }
    return {part: QUESTIONS * fmean(values) for part, values in parts.items()}


def with_caching(questions: Sequence[CostedQuestion]) -> float:
    """The price of a thousand of these questions if the provider caches all it can."""
    return sum(usd(questions).values()) - _savings(fmean(sum(item.cached) for item in questions))


def with_all_tools(questions: Sequence[CostedQuestion]) -> float:
    """The same if every call offered the same tools: more tokens, but more of them cached."""
    extra = fmean(item.input_with_all_tools - item.input_tokens() for item in questions) * MODEL.input
    cached = fmean(sum(item.cached_with_all_tools) for item in questions)
    return sum(usd(questions).values()) + QUESTIONS * extra / _MILLION - _savings(cached)


def _savings(cached_tokens: float) -> float:
    return QUESTIONS * cached_tokens * (MODEL.input - MODEL.cached_input) / _MILLION


def _index(item: CostedQuestion) -> float:
    tokens = count(item.measurement.query) * PINECONE_EMBED_MILLION_TOKENS
    return (PINECONE_SEARCH_UNITS * PINECONE_READ_MILLION + tokens) / _MILLION


def _store(item: CostedQuestion) -> float:
    return (item.read_units() * AWS.read_million + item.write_units() * AWS.write_million) / _MILLION
