"""The one deadline for everything that a query does: model calls, tools and writes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from gleaner.errors import DeadlineExceeded


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in monotonic time, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Return the seconds left; negative after the deadline."""
        return self.at - time.monotonic()

    def timeout(self, cap: float) -> float:
        """Return the seconds that one remote call may take: the remaining time, capped at `cap`.

        Raises DeadlineExceeded when no time is left, so that no call starts that cannot finish in time.
        """
        seconds = self.remaining()
        if seconds <= 0:
            raise DeadlineExceeded("The time for this query is used up.")
        return min(seconds, cap)

    def part(self, cap: float) -> Deadline:
        """Return the deadline of one part of the work: half of the remaining time, capped at `cap` seconds.

        A part that hangs, such as a throttled write, then leaves time for the rest.
        """
        return Deadline.after(min(cap, self.remaining() / 2))

    def share(self, parts: int) -> Deadline:
        """Return the deadline of the first of `parts` equal parts of the work that is left."""
        return Deadline.after(self.remaining() / parts)
