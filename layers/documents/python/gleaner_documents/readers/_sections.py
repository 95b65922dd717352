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
    """Takes headings and text in reading order; every section in `sections` has text.

    A heading over nothing, not even over another heading, is the text of its own section: "3.2 removes the fax button".
    """

    def __init__(self) -> None:
        self.first_h1: str | None = None
        self._sections: list[Section] = []
        self._path: list[tuple[int, str]] = []
        self._bare = False  # nothing has followed the last heading so far
        self._headings = 0

    @property
    def sections(self) -> list[Section]:
        """The sections so far. A page that consists of its title has none."""
        is_title = self._headings == 1 and self.first_h1 is not None
        return [*self._sections, *([] if is_title else self._bare_heading())]

    def open_section(self, level: int, text: str) -> None:
        """Open a section under a heading of `level` (1 is the outermost); an empty heading is ignored."""
        name = shorten(text)
        if not name:
            return
        if self._path and level <= self._path[-1][0]:
            self._sections += self._bare_heading()
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, name))
        self._bare = True
        self._headings += 1
        if level == 1 and self.first_h1 is None:
            self.first_h1 = name
        if name.endswith("…") and len(text) > MAX_HEADING_CHARS:
            self.add_text(text)  # keeps the words that the shortened heading lost searchable

    def add_text(self, text: str) -> None:
        """Add text under the current heading."""
        body = text.strip("\n").rstrip()
        if body.strip():
            self._sections.append(Section(text=body, chapter=self._chapter()))
            self._bare = False

    def _bare_heading(self) -> list[Section]:
        return [Section(text=self._path[-1][1], chapter=self._chapter())] if self._bare else []

    def _chapter(self) -> str | None:
        return HEADING_SEPARATOR.join(name for _, name in self._path) or None
