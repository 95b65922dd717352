"""One deadline for everything a query does: model calls, tools and writes."""

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
        """The deadline that is `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Seconds left; negative when it has passed."""
        return self.at - time.monotonic()

    def timeout(self, cap: float) -> float:
        """Seconds that one remote call may take: what is left, at most `cap`.

        Raises DeadlineExceeded when nothing is left, so that no call is begun that cannot end in time.
        """
        left = self.remaining()
        if left <= 0:
            raise DeadlineExceeded("The time for this query is used up.")
        return min(left, cap)

    def part(self, cap: float) -> Deadline:
        """The deadline of a part of the work: at most `cap` seconds from now, and half of what is left.

        So a part that hangs, such as a throttled write, leaves time for what follows it.
        """
        return Deadline.after(min(cap, self.remaining() / 2))
