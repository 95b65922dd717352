"""What the parts that this machine serves cost."""

from __future__ import annotations

from gleaner.runtime.quota import Limits
from gleaner.runtime.settings import Settings
from gleaner_local.service.parts import Part, function_settings, local_variables, with_defaults


def settings_of(env: dict[str, str]) -> Settings:
    """What the query function reads where this machine serves the model and the web."""
    function_env = with_defaults(env)
    for part in (Part.MODEL, Part.WEB):
        function_env |= local_variables(part, function_env)
    return function_settings(function_env)


def test_prices_that_the_operator_set_hold_for_the_extractive_model() -> None:
    prices = {"OPENAI_PRICES": '{"input": 1, "cached_input": 0.5, "output": 2}', "WEB_SEARCH_PRICE": "0.01"}
    settings = settings_of(prices | {"USD_PER_DAY": "0.02"})
    assert settings.prices.model is not None
    assert (settings.prices.model.input, settings.prices.model.output, settings.prices.web_search) == (1, 2, 0.01)
    assert settings.quota.caller == Limits(usd=0.02)


def test_it_costs_nothing_without_them_and_no_money_is_counted() -> None:
    settings = settings_of({})
    assert settings.prices.web_search == 0
    assert not settings.prices.count_money
