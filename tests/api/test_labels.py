"""The one line that names a passage."""

from __future__ import annotations

import pytest

from gleaner.api.labels import label_passage


@pytest.mark.parametrize(
    ("title", "chapter", "label"),
    [
        ("Cells", "Mitochondria", "Cells – Mitochondria"),
        ("Cells", "Cells › Mitochondria", "Cells › Mitochondria"),
        ("Cells", "", "Cells"),
        ("Cells", None, "Cells"),
    ],
)
def test_a_passage_is_named_by_title_and_chapter(title: str, chapter: str | None, label: str) -> None:
    assert label_passage(title, chapter) == label
