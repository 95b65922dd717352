"""What `gleaner serve` suggests to try once it has started."""

from __future__ import annotations

from pathlib import Path

import pytest

from gleaner_local.commands.presentation import show_started


@pytest.mark.parametrize(
    ("is_empty", "has_handbook", "suggested", "not_suggested"),
    [
        (True, False, ["gleaner ingest PATH", "What is Starlette?"], ["duplicate keywords", "YOUR DOCUMENTS"]),
        (False, True, ["duplicate keywords", "How long may a query be?"], ["ingest PATH", "YOUR DOCUMENTS"]),
        (False, False, ["A QUESTION ABOUT YOUR DOCUMENTS"], ["duplicate keywords", "How long may a query be?"]),
    ],
)
def test_questions_are_suggested_that_the_documents_can_answer(
    capsys: pytest.CaptureFixture[str],
    is_empty: bool,
    has_handbook: bool,
    suggested: list[str],
    not_suggested: list[str],
) -> None:
    show_started("http://127.0.0.1:1", Path("data"), deadline_seconds=25, is_empty=is_empty, has_handbook=has_handbook)
    printed = capsys.readouterr().out
    assert all(text in printed for text in suggested)
    assert not any(text in printed for text in not_suggested)
