"""Waits while the index takes no more requests or tokens, as long as a run may."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

from gleaner.errors import KnowledgeBaseBusy, KnowledgeBaseTimedOut, KnowledgeBaseUnavailable
from gleaner.runtime.deadline import Deadline

# Limits count requests a second or tokens a minute, and Pinecone does not say when the next ones are free.
_FIRST_SECONDS, _MAX_SECONDS = 2.0, 60.0
_MAX_ASKED_SECONDS = 3_600.0  # longer than any limit of a minute; who is asked to wait for more had better come back
_JITTER = 0.25  # of a wait, at most, so that several runs do not go on at once


class Waiting:
    """What a patient knowledge base waits with: twice as long each time, or as long as the service asked.

    `max_seconds` is how long a run may wait in all, and `max_seconds_each` for one request; None: until the service
    takes more, or somebody presses Ctrl-C. No wait ends after `deadline`. A request that failed for another reason than
    limits is sent again after `max_failures` failures at most, but not if the answer did not come in time.
    """

    def __init__(
        self,
        *,
        say: Callable[[float], None],
        max_seconds: float | None = None,
        max_seconds_each: float | None = None,
        deadline: Deadline | None = None,
        max_failures: int = 0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`say` is told before each wait how many seconds it takes."""
        self._say = say
        self._max_seconds = math.inf if max_seconds is None else max_seconds
        self._max_seconds_each = math.inf if max_seconds_each is None else max_seconds_each
        self._deadline = deadline
        self._max_failures = max_failures
        self._failures = 0  # of the request, and the waits after them
        self._waited_for_request = 0.0
        self._sleep = sleep
        self.waited_seconds = 0.0

    def __call__(self, error: KnowledgeBaseUnavailable, waits: int) -> None:
        """Wait for the time after `waits` waits for the same request.

        Raises `error` if that exceeds a maximum, or another KnowledgeBaseBusy if the service asks for over an hour.
        """
        if waits == 0:
            self._waited_for_request, self._failures = 0.0, 0
        asked = self._read_asked(error)
        seconds = min(_MAX_SECONDS, _FIRST_SECONDS * 2.0 ** min(waits, 10))
        seconds = max(seconds, asked) * (1 + random.uniform(0, _JITTER))  # noqa: S311 - not security
        if (
            self.waited_seconds + seconds > self._max_seconds
            or self._waited_for_request + seconds > self._max_seconds_each
            or (self._deadline is not None and seconds > self._deadline.remaining())
        ):
            raise error
        self._say(seconds)
        self._sleep(seconds)
        self.waited_seconds += seconds
        self._waited_for_request += seconds

    def _read_asked(self, error: KnowledgeBaseUnavailable) -> float:
        """The seconds that the service asked to wait. Raises an error if the request is not to be sent again."""
        if not isinstance(error, KnowledgeBaseBusy):
            self._failures += 1
            if self._failures > self._max_failures or isinstance(error, KnowledgeBaseTimedOut):
                raise error
            return 0.0
        if (error.retry_after or 0.0) > _MAX_ASKED_SECONDS:
            raise KnowledgeBaseBusy(
                "The knowledge base takes no more requests for now (HTTP 429) and asks to wait for more than an hour.",
                retry_after=error.retry_after,
            ) from error
        return error.retry_after or 0.0
