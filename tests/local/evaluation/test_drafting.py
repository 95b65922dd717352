"""Draft cases of documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from gleaner_local.evaluation.drafting import Drafts, draft_cases


def draft(tmp_path: Path, **files: str) -> Drafts:
    for name, text in files.items():
        (tmp_path / f"{name}.md").write_text(text)
    return draft_cases([tmp_path])


def test_one_long_sentence_loses_no_other_draft(tmp_path: Path) -> None:
    drafts = draft(
        tmp_path, a="word " * 12_000, b="## Fees\n\nA berth costs 40 crowns a night.\n", c=f"## {'x' * 60_000}\n"
    )
    long, short = drafts.cases
    assert long.query == long.note == ("word " * 60).strip()
    assert short.must_say == (("40 crowns",),)


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("1. Generate a key of 32 bytes first.", ["32 bytes"]),
        ("(2) Generate a key of 32 bytes first.", ["32 bytes"]),
        ("There are 42 of them in the box.", ["42"]),
        ("Es sind 42 von ihnen in der Kiste.", ["42"]),
        ("Open http://127.0.0.1:8418/status?n=7 in any browser now.", []),
        ("A berth costs 1,240.50 Euro and 19 % tax.", ["1,240.50 Euro", "19 %"]),
        ("Set `MAX_AGE` to 30 days in GPT-4 and v2.", ["MAX_AGE", "30 days"]),
        ("Set `**` as the mark of all files.", []),
    ],
)
def test_facts_are_numbers_with_their_unit_and_names_in_code(tmp_path: Path, sentence: str, facts: list[str]) -> None:
    [case] = draft(tmp_path, a=f"## Fees\n\n{sentence}\n").cases
    assert [choices for (choices,) in case.must_say] == facts


def test_sections_with_the_same_heading_are_named(tmp_path: Path) -> None:
    text = "## Fees\n\nA berth costs 40 crowns a night.\n"
    drafts = draft(tmp_path, a=text + text, b="## Empty\n\nNothing.\n")
    assert (drafts.cases, len(drafts.ambiguous), drafts.silent) == ([], 2, 1)
    assert drafts.ambiguous[0].endswith("a.md: Fees")
