"""Says when it is worth while to check an answer that is being written: each time, all of it is read anew."""

from __future__ import annotations

import re
from itertools import islice

from gleaner.guards.disclosure import RUN_WORDS
from gleaner.sentences import ANYWHERE, CLOSERS, TERMINATORS, THAI

# The whole text is checked anew when it has grown by this share, so that long answers take linear time.
_MIN_GROWTH = 1 / 8
_MIN_GROWTH_CHARS = 20
# What may end a sentence, in the JSON of a string: an escape may be a line break or any other sign.
_MAY_END = re.compile(rf"[{TERMINATORS}][{CLOSERS}\\]*+(?=\s)|[{ANYWHERE}]|;(?=\s)|\\[nu]|(?<=[{THAI}])[ \u00a0]")
_MAX_END = 20  # characters of an end that is not complete
_RUN = re.compile(rf"(?:[\W_]*+[^\W_]++){{{RUN_WORDS}}}")
_WORD = re.compile(r"[^\W_]+")
_MAX_RUN = 2_000  # characters in which twelve words are looked for


class Looks:
    """When to look at the JSON of one answer, which only grows.

    This decides how soon a sentence is shown, never whether it may be. A look is due once twelve words follow what may
    be an end, as the gate demands, and after it was in vain, as soon as the text has grown.
    """

    def __init__(self) -> None:
        self._next_length = 0
        self._scanned = 0
        self._end: int | None = None  # of what may be a sentence that was not released

    def are_due(self, arguments: str) -> bool:
        """Whether a sentence may have become certain since the last look."""
        if len(arguments) < self._next_length:
            return False
        if self._end is None:
            end = _MAY_END.search(arguments, self._scanned)
            if end is None:
                self._scanned = max(self._scanned, len(arguments) - _MAX_END)
                return False
            self._end = end.end()
        return len(arguments) - self._end > _MAX_RUN or _RUN.match(arguments, self._end) is not None

    def words_missing(self, arguments: str) -> int:
        """How many words must still come before a look is due, at least, as far as `are_due` has seen."""
        if self._end is None:
            return RUN_WORDS
        words = _WORD.finditer(arguments, self._end)
        return RUN_WORDS - sum(1 for _ in islice(words, RUN_WORDS))

    def note(self, arguments: str, *, has_shown: bool) -> None:
        """Remember a look, and whether it released something: then the next end counts."""
        self._next_length = len(arguments) + max(_MIN_GROWTH_CHARS, int(len(arguments) * _MIN_GROWTH))
        if has_shown and self._end is not None:
            words = list(_WORD.finditer(arguments, max(self._end, len(arguments) - _MAX_RUN)))[-RUN_WORDS:]
            self._scanned = words[0].start() if words else self._end
            self._end = None
