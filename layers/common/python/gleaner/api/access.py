"""Finds out which knowledge bases a caller may use, and which groups an operator gave it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gleaner.runtime.deadline import Deadline
from gleaner.stores.access import AccessStore, Grant

CACHED_SECONDS = 60.0  # what an operator revokes is refused everywhere after this time
_MAX_CACHED = 10_000  # callers


class Access:
    """The knowledge bases of callers, read from the access table and remembered for a minute.

    A read that fails is not remembered, and what is too old is not used in its place: nobody gets in for lack of an
    answer.
    """

    def __init__(
        self, store: AccessStore, *, unlisted_may_use_all: bool, clock: Callable[[], float] = time.time
    ) -> None:
        """`clock` returns seconds. Time of day, because a frozen process does not notice how long it is frozen."""
        self._store = store
        self._unlisted = None if unlisted_may_use_all else frozenset[str]()
        self._clock = clock
        self._found: dict[tuple[str, ...], tuple[float, Sequence[Grant]]] = {}  # when, and what

    def find(self, subjects: Sequence[str], *, deadline: Deadline) -> frozenset[str] | None:
        """What a caller may use, known as these `subjects`: its id and its groups. None: everything.

        It is what any of them is granted, or if none is listed, what the environment grants unlisted callers. Raises
        StoreUnavailable or DeadlineExceeded.
        """
        grants = self._grants(subjects, deadline)
        return frozenset().union(*(grant.kb_ids for grant in grants)) if grants else self._unlisted

    def find_groups(self, subjects: Sequence[str], *, deadline: Deadline) -> frozenset[str]:
        """The groups that an operator gave a caller that is known as these `subjects`. Raises what `find` raises."""
        return frozenset().union(*(grant.groups for grant in self._grants(subjects, deadline)))

    def _grants(self, subjects: Sequence[str], deadline: Deadline) -> Sequence[Grant]:
        key, now = tuple(subjects), self._clock()
        read_at, grants = self._found.get(key, (float("-inf"), ()))
        if not 0 <= now - read_at < CACHED_SECONDS:  # a clock that was set back makes an entry old, never young
            grants = self._store.find(subjects, deadline=deadline)
            if len(self._found) >= _MAX_CACHED:
                self._found.clear()
            self._found[key] = now, grants
        return grants
