"""Estimates the cost of an answer from the configured prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gleaner.model import TokenUsage

_MILLION = 1_000_000
# What a question with one web search uses (docs/11 has the figures), rounded up: its answer is longer than those there.
_EXPECTED = TokenUsage(input_tokens=10_000, output_tokens=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrices:
    """USD per million tokens of the language model."""

    input: float
    cached_input: float  # for input tokens from the provider's prompt cache
    output: float
    cache_write: float | None = None  # for input tokens written to that cache; None: the price of input


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The configured prices. None means unknown: then there is no estimate."""

    model: ModelPrices | None = None
    web_search: float | None = None  # USD per search, for searches without a stated cost

    @property
    def count_money(self) -> bool:
        """Whether questions have a known cost that is not always 0, as that of a model on this machine may be."""
        if self.model is None or self.web_search is None:
            return False
        return max(self.model.input, self.model.cached_input, self.model.output, self.web_search) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The usage of a question and its estimated cost."""

    usage: TokenUsage
    web_searches: int  # only those that were answered
    estimated_usd: float | None  # None if a price is unknown


def estimate_cost(usage: TokenUsage, searches: Sequence[float | None], prices: Prices) -> Cost:
    """Estimate the cost of a question; `searches` holds the stated USD of each answered web search, or None."""
    model = _price_tokens(usage, prices.model)
    web = [prices.web_search if stated is None else stated for stated in searches]
    costs = [cost for cost in (model, *web) if cost is not None]
    is_complete = len(costs) == 1 + len(web)
    return Cost(usage=usage, web_searches=len(searches), estimated_usd=round(sum(costs), 8) if is_complete else None)


def expected_usd(prices: Prices) -> float:
    """What a dear question costs, before it is asked; 0 if a price is unknown."""
    return estimate_cost(_EXPECTED, (None,), prices).estimated_usd or 0.0


def _price_tokens(usage: TokenUsage, prices: ModelPrices | None) -> float | None:
    if prices is None:
        return None
    # Input tokens include those that the provider read from its cache and those that it wrote to it.
    uncached = usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens
    cache_write = prices.input if prices.cache_write is None else prices.cache_write
    costs = (
        uncached * prices.input,
        usage.cache_write_tokens * cache_write,
        usage.cached_input_tokens * prices.cached_input,
        usage.output_tokens * prices.output,
    )
    return sum(costs) / _MILLION
