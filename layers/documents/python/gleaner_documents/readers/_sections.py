"""Collects headings and text, in reading order, into sections with heading paths."""

from __future__ import annotations

from gleaner_documents.model import HEADING_SEPARATOR, Section

# A heading names a passage in a citation; anything longer is text that was marked up as a heading.
MAX_HEADING_CHARS = 200


def shorten(name: str) -> str:
    """A title or heading on one line, of at most `MAX_HEADING_CHARS` characters."""
    line = " ".join(name.split())
    return line if len(line) <= MAX_HEADING_CHARS else line[: MAX_HEADING_CHARS - 1].rstrip() + "…"


class SectionCollector:
    """Takes headings and text in reading order; `sections` holds only sections with text."""

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.first_h1: str | None = None
        self._path: list[tuple[int, str]] = []

    def open_section(self, level: int, text: str) -> None:
        """Open a section under a heading of `level` (1 is the outermost); an empty heading is ignored."""
        name = shorten(text)
        if not name:
            return
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, name))
        if level == 1 and self.first_h1 is None:
            self.first_h1 = name
        if name.endswith("…") and len(text) > MAX_HEADING_CHARS:
            self.add_text(text)  # keeps the words that the shortened heading lost searchable

    def add_text(self, text: str) -> None:
        """Add text under the current heading."""
        body = text.strip("\n").rstrip()
        if body.strip():
            chapter = HEADING_SEPARATOR.join(name for _, name in self._path) or None
            self.sections.append(Section(text=body, chapter=chapter))
