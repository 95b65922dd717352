"""What an answer costs, estimated from the prices that are configured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.model import TokenUsage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """USD for a million tokens of the language model."""

    input: float
    cached_input: float  # of input tokens that the provider found in its cache
    output: float
    cache_write: float | None = None  # of input tokens that the provider put into its cache; None: as input


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices that are known; None: not known, and then what it concerns has no estimate."""

    model: ModelPrices | None = None
    web_search: float | None = None  # USD for one search, when the service does not state what it took


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a question used, and its estimated price."""

    usage: TokenUsage
    web_searches: int  # that the web search answered
    estimated_usd: float | None  # None: a price that it needs is not known


def cost_of(usage: TokenUsage, searches: Sequence[float | None], prices: Prices) -> Cost:
    """The cost of a question; `searches`: for each answered web search the USD that the service stated, if it did."""
    model = _tokens_usd(usage, prices.model)
    web = [prices.web_search if stated is None else stated for stated in searches]
    known = [part for part in (model, *web) if part is not None]
    complete = len(known) == 1 + len(web)
    return Cost(usage=usage, web_searches=len(searches), estimated_usd=round(sum(known), 8) if complete else None)


def _tokens_usd(usage: TokenUsage, prices: ModelPrices | None) -> float | None:
    if prices is None:
        return None
    # The provider counts tokens read from its cache, and tokens written to it, among the input.
    uncached = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
    cache_write = prices.input if prices.cache_write is None else prices.cache_write
    parts = (
        uncached * prices.input,
        usage.cache_write_tokens * cache_write,
        usage.cached_input_tokens * prices.cached_input,
        usage.output_tokens * prices.output,
    )
    return sum(parts) / _MILLION
