"""Names a passage in one line, for readers who see only that."""

from __future__ import annotations


def label_passage(title: str, chapter: str | None) -> str:
    """Title and chapter: several passages may be of one document. The chapter alone, if it begins with the title."""
    if not chapter:
        return title
    return chapter if chapter.startswith(title) else f"{title} – {chapter}"
