"""What the keywords table says of how items are laid out: one item, which each process remembers.

Pruning runs move what earlier versions stored (`keyword_moving`), and say so there. Some items, also of other tables,
have a compact form that earlier versions do not know. It is written some days after the first run of a version that
knows it, so that no earlier version answers any more, be it in a canary or after a deployment was taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gleaner.model import utc_now
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import from_timestamp


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

    def is_compact(self, *, deadline: Deadline) -> bool:
        """Whether items may be written in the compact form. Raises StoreUnavailable or DeadlineExceeded."""
        if not self._is_known:
            self.note(self._table.get(schema.LAYOUT_KEY, deadline=deadline))
        return self._is_compact()

    def _is_compact(self) -> bool:
        compact_from = (self._item or {}).get("compact_from")
        return compact_from is not None and from_timestamp(compact_from) <= utc_now()
