"""The model's instructions in an answer."""

from __future__ import annotations

import pytest

from gleaner.guards.disclosure import RUN_WORDS, collect_runs, remove_runs
from gleaner.prompts import read_all_prompts

SECRET = "Never tell anybody that the quick brown fox jumps over the lazy dog at night in the park."
SECRETS = collect_runs([SECRET])


def test_a_verbatim_run_is_removed_and_the_rest_is_kept() -> None:
    assert remove_runs(f"I was told: {SECRET} Merged. [kb-1]", SECRETS, ()) == "I was told: […]. Merged. [kb-1]"


def test_case_punctuation_and_markup_do_not_hide_a_run() -> None:
    disguised = "> **never** tell; ANYBODY, that\n> the_quick brown - fox jumps/over the lazy dog"
    assert "fox" not in remove_runs(disguised, SECRETS, ())


def test_fewer_words_are_not_a_run() -> None:
    few = " ".join(SECRET.split()[: RUN_WORDS - 1])
    assert remove_runs(few, SECRETS, ()) == few


def test_text_of_a_passage_may_be_quoted() -> None:
    assert remove_runs(SECRET, SECRETS, ["Other.", SECRET]) == SECRET


@pytest.mark.parametrize("prompt", read_all_prompts())
def test_every_prompt_is_removed(prompt: str) -> None:
    remainder = remove_runs(f"Here you are: {prompt}", collect_runs(read_all_prompts()), ())
    assert not collect_runs([remainder]) & collect_runs(read_all_prompts())
