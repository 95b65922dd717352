"""The words for what a provider's refusals changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gleaner.clients._adaptation import Refusal, adapt
from gleaner.clients._dialect import REPLAYED_ITEMS, Api, Dialect, Forcing, first_dialect
from gleaner.clients.dialect_changes import describe_changes

RESPONSES = first_dialect(Api.RESPONSES, list(Api), "a-model", None)
CHAT = first_dialect(Api.CHAT, list(Api), "a-model", None)


@pytest.mark.parametrize(
    ("first", "current", "changes"),
    [
        (RESPONSES, RESPONSES, []),
        (RESPONSES, CHAT, ["chat completions in place of the Responses API"]),
        (CHAT, RESPONSES, ["the Responses API in place of chat completions"]),
        (CHAT, replace(CHAT, effort="none"), ["reasoning effort none in place of unset"]),
        (RESPONSES, replace(RESPONSES, effort=None), ["reasoning effort unset in place of low"]),
        (
            CHAT,
            replace(CHAT, output_limits=CHAT.output_limits[1:]),
            ["max_completion_tokens bounds the output in place of max_tokens"],
        ),
        (CHAT, replace(CHAT, output_limits=()), ["no field bounds the output in place of max_tokens"]),
        (RESPONSES, replace(RESPONSES, omitted=frozenset({"store", "include"})), ["without include, store"]),
        (
            RESPONSES,
            replace(RESPONSES, omitted=frozenset({REPLAYED_ITEMS})),
            ["earlier turns are built from their calls, not sent back as they came"],
        ),
    ],
)
def test_each_change_is_one_phrase(first: Dialect, current: Dialect, changes: list[str]) -> None:
    assert describe_changes(first, current) == changes


@pytest.mark.parametrize("forcing", [forcing for forcing in Forcing if forcing is not Forcing.ALLOWED])
def test_weaker_forcing_has_words(forcing: Forcing) -> None:
    (change,) = describe_changes(RESPONSES, replace(RESPONSES, forcing=forcing))
    assert "call" in change


def test_a_change_of_the_api_and_one_within_it_are_both_described() -> None:
    refusal = Refusal(status=400, code="", param="max_tokens", message="Unsupported parameter: 'max_tokens'")
    adapted = adapt(replace(CHAT, apis=RESPONSES.apis), refusal, ())
    assert adapted is not None
    assert len(describe_changes(RESPONSES, adapted)) == 2
