"""What a question is estimated to cost."""

from __future__ import annotations

import pytest

from gleaner.model import TokenUsage
from gleaner.runtime.pricing import ModelPrices, Prices, estimate_cost

USAGE = TokenUsage(
    input_tokens=1_000_000, cached_input_tokens=600_000, cache_write_tokens=100_000, output_tokens=50_000
)


@pytest.mark.parametrize(
    ("cache_write", "usd"),
    [
        (None, 0.4 * 2 + 0.6 * 0.5 + 0.05 * 8),  # written tokens cost as much as others
        (2.5, 0.3 * 2 + 0.1 * 2.5 + 0.6 * 0.5 + 0.05 * 8),
    ],
)
def test_input_is_priced_by_what_the_cache_did_with_it(cache_write: float | None, usd: float) -> None:
    prices = Prices(model=ModelPrices(input=2, cached_input=0.5, output=8, cache_write=cache_write))
    assert estimate_cost(USAGE, (), prices).estimated_usd == pytest.approx(usd)


def test_an_unknown_price_gives_no_estimate() -> None:
    assert estimate_cost(USAGE, (), Prices()).estimated_usd is None
    model = ModelPrices(input=2, cached_input=0.5, output=8)
    assert estimate_cost(USAGE, (None,), Prices(model=model)).estimated_usd is None
