"""Collects headings and text, in reading order, into sections with heading paths."""

from __future__ import annotations

from gleaner_documents.model import HEADING_SEPARATOR, Section

# A heading names a passage in a citation; anything longer is text that was marked up as a heading.
MAX_HEADING_CHARS = 200
_MAX_PARTS = 6  # of parts within parts, each with a title of its own
_PART_LEVEL = 0.5  # a part stands between the headings of its level and the next one


def shorten(name: str) -> str:
    """A title or heading on one line, of at most `MAX_HEADING_CHARS` characters."""
    line = " ".join(name.split())
    return line if len(line) <= MAX_HEADING_CHARS else line[: MAX_HEADING_CHARS - 1].rstrip() + "…"


class SectionCollector:
    """Takes headings and text in reading order.

    A heading with neither text nor headings below it becomes a section of its own, whose text is the heading.
    """

    def __init__(self) -> None:
        self.first_h1: str | None = None
        self._sections: list[Section] = []
        self._path: list[tuple[float, str]] = []
        self._parts: list[list[tuple[float, str]]] = []  # the path around each open part
        self._is_bare = False  # whether nothing stands under the last heading so far
        self._has_text = False

    @property
    def sections(self) -> list[Section]:
        """The sections so far; empty if there is no text but that of headings."""
        if not self._has_text:
            return []
        return [*self._sections, self._bare_section()] if self._is_bare else self._sections

    def open_section(self, level: int, text: str) -> None:
        """Open a section under a heading of `level` (1 is the outermost); an empty heading is ignored."""
        name = shorten(text)
        if not name:
            return
        self._open(level, text)
        if level == 1 and self.first_h1 is None:
            self.first_h1 = name

    def open_part(self, text: str) -> bool:
        """Open a part of the section with a title of its own; return whether `close_part` has to end it."""
        if len(self._parts) == _MAX_PARTS or not shorten(text):
            self.add_text(text)
            return False
        self._parts.append(list(self._path))
        self._open((self._path[-1][0] if self._path else 0) + _PART_LEVEL, text)
        return True

    def close_part(self) -> None:
        """Return to the headings around the part."""
        self._keep_bare_heading()
        self._path = self._parts.pop()

    def add_text(self, text: str) -> None:
        """Add text under the current heading."""
        body = text.strip("\n").rstrip()
        if body.strip():
            self._sections.append(Section(text=body, chapter=self._chapter()))
            self._is_bare, self._has_text = False, True

    def _open(self, level: float, text: str) -> None:
        if self._path and self._path[-1][0] >= level:
            self._keep_bare_heading()
        name = shorten(text)
        self._path = [entry for entry in self._path if entry[0] < level]
        self._path.append((level, name))
        self._is_bare = True
        if name.endswith("…") and len(text) > MAX_HEADING_CHARS:
            self.add_text(text)  # keeps the words that the shortened heading lost searchable

    def _keep_bare_heading(self) -> None:
        if self._is_bare:
            self._sections.append(self._bare_section())
            self._is_bare = False

    def _bare_section(self) -> Section:
        return Section(text=self._path[-1][1], chapter=self._chapter())

    def _chapter(self) -> str | None:
        return HEADING_SEPARATOR.join(name for _, name in self._path) or None
