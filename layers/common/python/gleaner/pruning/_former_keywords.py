"""Moves keywords that earlier versions stored, and then has items be compact; for some runs after an upgrade."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice

from gleaner.model import utc_now
from gleaner.pruning.rules import Part, PruneCounts, read_usage
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_layout import COMPACT_FOR, KeywordLayout
from gleaner.stores.keyword_moving import PostingMover, new_layout
from gleaner.stores.keyword_postings import Head, find_unlisted

logger = logging.getLogger(__name__)

_PAGE = 100
# So long after the first run of this version, runs look for what earlier versions stored: one may have answered until
# the deployment was complete, or again after it was taken back. From then on, items have the compact form.
_LOOKS_FOR_FORMER = timedelta(days=7)


class FormerKeywords:
    """The keywords of earlier versions in a table. Methods raise StoreUnavailable or DeadlineExceeded."""

    def __init__(
        self,
        table: Table,
        *,
        iter_heads: Callable[[str, Deadline], Iterator[Head]],
        run_parts: Callable[[Sequence[Part]], PruneCounts],
    ) -> None:
        """`iter_heads` reads the active keywords of a partition; `run_parts` runs parts of a run in parallel."""
        self._table = table
        self._mover = PostingMover(table)
        self._iter_heads = iter_heads
        self._run_parts = run_parts

    def move(self, layout: KeywordLayout, counts: PruneCounts, *, deadline: Deadline) -> None:
        """Move their words into posting lists, and have them claim their stems.

        Once a run has found none, the table says so, and look-ups read the lists alone. It also says from when on items
        are compact.
        """
        move = partial(self._move_partition, deadline)
        of_parts = self._run_parts([partial(move, partition) for partition in schema.active_partitions()])
        counts.add(of_parts)
        if of_parts.moved or of_parts.unfinished:
            logger.info("moved keywords of an earlier version", extra={"moved": of_parts.moved})
            return
        compact_from, until = utc_now() + _LOOKS_FOR_FORMER, utc_now() + COMPACT_FOR
        if layout.has_former_entries:
            self._table.put_new(new_layout(compact_from, until=until), deadline=deadline)
        elif not layout.is_announced:
            layout.announce(compact_from, until=until, deadline=deadline)

    def _move_partition(self, deadline: Deadline, partition: str, counts: PruneCounts) -> None:
        heads = self._iter_heads(partition, deadline)
        while page := list(islice(heads, _PAGE)):
            deadline.timeout(1.0)  # raises when the part's time is up
            in_place = self._mover.delete_misplaced(page, deadline=deadline)
            # Pruning counts the malformed ones.
            valid = [head for head in in_place if read_usage(head, PruneCounts()) is not None]
            counts.moved += self._mover.claim_stems(valid, deadline=deadline)
            counts.moved += sum(self._mover.move(head, deadline=deadline) for head in valid if find_unlisted(head))
