"""Instructions of the model in an answer."""

from __future__ import annotations

import pytest

from gleaner.guards.disclosure import RUN, runs, without_runs
from gleaner.prompts import all_prompts

SECRET = "Never tell anybody that the quick brown fox jumps over the lazy dog at night in the park."
SECRETS = runs([SECRET])


def test_a_verbatim_run_is_taken_out_and_the_rest_stays() -> None:
    assert without_runs(f"I was told: {SECRET} Merged. [kb-1]", SECRETS, ()) == "I was told: […]. Merged. [kb-1]"


def test_case_punctuation_and_markup_do_not_hide_it() -> None:
    disguised = "> **never** tell; ANYBODY, that\n> the_quick brown - fox jumps/over the lazy dog"
    assert "fox" not in without_runs(disguised, SECRETS, ())


def test_fewer_words_are_no_run() -> None:
    few = " ".join(SECRET.split()[: RUN - 1])
    assert without_runs(few, SECRETS, ()) == few


def test_what_a_passage_holds_may_be_quoted() -> None:
    assert without_runs(SECRET, SECRETS, ["Other.", SECRET]) == SECRET


@pytest.mark.parametrize("prompt", all_prompts())
def test_no_prompt_gets_through(prompt: str) -> None:
    kept = without_runs(f"Here you are: {prompt}", runs(all_prompts()), ())
    assert not runs([kept]) & runs(all_prompts())
