"""The price of a question by part, in USD for a thousand of its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.cost_questions import Kind, Measurement
from harness.prompt_tokens import InputTokens, count
from infra.environments import DEV
from infra.prices import (
    AWS,
    MODELS,
    PINECONE_EMBED_MILLION_TOKENS,
    PINECONE_READ_MILLION,
    PINECONE_RECORD_UNITS,
    PINECONE_SEARCH_UNITS,
    PINECONE_SEARCHES,
    PINECONE_WRITE_MILLION,
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
    """A measured question with its input tokens, by what the provider's cache holds before it."""

    measurement: Measurement
    alone: InputTokens  # the cache is empty
    after_others: InputTokens  # other questions were asked shortly before
    with_callable_tools_only: InputTokens  # the same if each call offered only the tools that may be called

    def without_caching(self) -> InputTokens:
        """If nothing was cached."""
        return InputTokens(other=self.alone.total())

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


Asked = Callable[[CostedQuestion], InputTokens]  # chooses the input tokens of a question


def usd(questions: Sequence[CostedQuestion], asked: Asked) -> dict[str, float]:
    """The mean price of a thousand of these questions by part."""
    cache_write = MODEL.input if MODEL.cache_write is None else MODEL.cache_write
    inputs = [asked(item) for item in questions]
    parts = {
        "model: input": [tokens.other * MODEL.input / _MILLION for tokens in inputs],
        "model: input written to its cache": [tokens.written * cache_write / _MILLION for tokens in inputs],
        "model: input read from its cache": [tokens.read * MODEL.cached_input / _MILLION for tokens in inputs],
        "model: output": [item.measurement.output_tokens * MODEL.output / _MILLION for item in questions],
        "web search": [WEB_ANSWER if item.measurement.kind is Kind.WEB else 0.0 for item in questions],
        "Pinecone": [_index(item) for item in questions],
        "DynamoDB": [_store(item) for item in questions],
        "Lambda": [
            AWS.invocation_million / _MILLION + item.seconds() * MEMORY_GB * AWS.gb_second for item in questions
        ],
        "API Gateway": [AWS.api_request_million / _MILLION for _ in questions],
        "AWS WAF": [AWS.web_acl_request_million / _MILLION for _ in questions],
        "logs and traces": [LOG_BYTES * AWS.log_gb / _GIGABYTE + AWS.trace_million / _MILLION for _ in questions],
    }
    return {part: QUESTIONS * fmean(values) for part, values in parts.items()}


def cached_share(questions: Sequence[CostedQuestion], asked: Asked) -> float:
    """The share of the input tokens that is read from the provider's cache."""
    inputs = [asked(item) for item in questions]
    return sum(tokens.read for tokens in inputs) / sum(tokens.total() for tokens in inputs)


def _index(item: CostedQuestion) -> float:
    tokens = count(item.measurement.query) * PINECONE_EMBED_MILLION_TOKENS
    search = PINECONE_SEARCH_UNITS * PINECONE_READ_MILLION + tokens
    # The record holds little more than the question.
    record = PINECONE_RECORD_UNITS * PINECONE_WRITE_MILLION + tokens
    learned = record if item.measurement.kind is Kind.WEB else 0.0
    return (PINECONE_SEARCHES * search + learned) / _MILLION


def _store(item: CostedQuestion) -> float:
    return (item.read_units() * AWS.read_million + item.write_units() * AWS.write_million) / _MILLION
