"""Finds out which knowledge bases a caller may use and edit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from gleaner.api._caller import Rights
from gleaner.runtime.deadline import Deadline
from gleaner.stores.access import AccessStore

CACHED_SECONDS = 60.0  # what an operator revokes is refused everywhere after this time
_MAX_CACHED = 10_000  # callers


class Access:
    """The knowledge bases of callers, read from the access table and remembered for a minute.

    A read that fails is not remembered, and what is too old is not used in its place: nobody gets in for lack of an
    answer.
    """

    def __init__(
        self,
        store: AccessStore,
        *,
        unlisted_may_use_all: bool,
        unlisted_may_edit: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` returns seconds. Time of day, because a frozen process does not notice how long it is frozen."""
        self._store = store
        nothing = frozenset[str]()
        self._unlisted = Rights(
            kb_ids=None if unlisted_may_use_all else nothing, edited_kb_ids=None if unlisted_may_edit else nothing
        )
        self._clock = clock
        self._found: dict[tuple[str, ...], tuple[float, Rights]] = {}  # when, and what

    def find(self, subjects: Sequence[str], *, deadline: Deadline) -> Rights:
        """What a caller may do, known as these `subjects`: its id and its groups.

        It is what any of them is granted, or if none is listed, what the environment grants unlisted callers. Raises
        StoreUnavailable or DeadlineExceeded.
        """
        key, now = tuple(subjects), self._clock()
        read_at, rights = self._found.get(key, (float("-inf"), self._unlisted))
        if not 0 <= now - read_at < CACHED_SECONDS:  # a clock that was set back makes an entry old, never young
            rights = self._read(subjects, deadline)
            if len(self._found) >= _MAX_CACHED:
                self._found.clear()
            self._found[key] = now, rights
        return rights

    def _read(self, subjects: Sequence[str], deadline: Deadline) -> Rights:
        grants = self._store.find(subjects, deadline=deadline)
        if not grants:
            return self._unlisted
        return Rights(
            kb_ids=frozenset().union(*(grant.kb_ids for grant in grants)),
            edited_kb_ids=frozenset().union(*(grant.edited_kb_ids for grant in grants)),
        )
