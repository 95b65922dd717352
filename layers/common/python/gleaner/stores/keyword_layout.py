"""What the keywords table says of how items are laid out: one item, which each process remembers.

Pruning runs move what earlier versions stored (`keyword_moving`), and say so there. Some items, also of other tables,
have a compact form that earlier versions do not know. It is written some days after the first run of a version that
knows it, so that no earlier version answers any more, be it in a canary or after a deployment was taken back. Each run
prolongs it by some days, so that it ends where an earlier version took over for longer, and begins anew later.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.items import to_timestamp

COMPACT_FOR = timedelta(days=3)  # after each run; where none came for longer, an earlier version may have taken over
_NEVER = "~"  # sorts after every time


class KeywordLayout:
    """The layout of an environment. Thread-safe: what is noted later says no less."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._is_known = False
        self._item: Mapping[str, Any] | None = None

    @property
    def has_former_entries(self) -> bool:
        """Whether keywords of an earlier version may be left, which have look-up entries only."""
        return self._item is None

    def keys_to_read(self) -> list[schema.Key]:
        """The key of the item for `note`, which is to be read beside others, or none if nothing new can be in it."""
        return [] if self._is_compact() else [schema.LAYOUT_KEY]

    def note(self, item: Mapping[str, Any] | None) -> None:
        """Remember the item as it was read; None if there is none, or if it was not read because it is known."""
        self._is_known = True
        self._item = item or self._item

    @property
    def is_announced(self) -> bool:
        """Whether items are compact, or will be if runs go on."""
        return self._read("compact_until", "") >= to_timestamp(utc_now())

    def is_compact(self, *, deadline: Deadline) -> bool:
        """Whether items may be written in the compact form. Raises StoreUnavailable or DeadlineExceeded."""
        if not self._is_known:
            self.note(self._table.get(schema.LAYOUT_KEY, deadline=deadline))
        return self._is_compact()

    def announce(self, compact_from: datetime, *, until: datetime, deadline: Deadline) -> None:
        """Have items be compact from then on, until a time that runs prolong. Raises as `is_compact`."""
        self._write(
            "SET #compact_from = :from, #compact_until = :until", {":from": compact_from, ":until": until}, deadline
        )

    def prolong(self, until: datetime, *, deadline: Deadline) -> None:
        """Have items be compact until then, if that was announced. Raises as `is_compact`."""
        self._write("SET #compact_until = :until", {":until": until}, deadline)

    def _write(self, expression: str, values: Mapping[str, Any], deadline: Deadline) -> None:
        # Not created here: that the item exists says that no keyword of an earlier version is left.
        update = self._table.update(
            schema.LAYOUT_KEY, expression=expression, condition="attribute_exists(#pk)", values=values
        )
        with suppress(ConditionFailed):
            self._table.write(update, deadline=deadline)

    def _is_compact(self) -> bool:
        return self._read("compact_from", _NEVER) <= to_timestamp(utc_now()) <= self._read("compact_until", "")

    def _read(self, name: str, default: str) -> str:
        return str((self._item or {}).get(name, default))
