"""Writes and deletes the records of stored answers in the vector index, as pruning changes the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gleaner.errors import GleanerError
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.keyword_items import is_forgotten, to_answers
from gleaner.stores.schema import answer_key

if TYPE_CHECKING:
    from gleaner.clients.answer_index import AnswerIndex

logger = logging.getLogger(__name__)

_MAX_SECONDS = 5.0  # for one request


class AnswerRecords:
    """The records of answers, which are items of the keywords table. Loads the SDK of the index at the first use."""

    def __init__(self, table: Table, connect: Callable[[], AnswerIndex]) -> None:
        self._table = table
        self._connect = connect

    def delete_orphans(self, *, deadline: Deadline) -> None:
        """Delete the records of answers that were deleted or forgotten."""
        try:
            for kb_id, ids in self._index.ids_by_kb(timeout=deadline.timeout(_MAX_SECONDS)):
                # Consistent, so that the record of an answer that was just learned is not taken for an orphan.
                items = self._table.get_many([answer_key(i) for i in ids], deadline=deadline, consistent=True)
                present = {item["result_id"] for item in items if not is_forgotten(item)}
                if orphans := [answer_id for answer_id in ids if answer_id not in present]:
                    self._index.delete(kb_id, orphans, timeout=deadline.timeout(_MAX_SECONDS))
        except GleanerError:
            logger.warning("records of deleted web answers stay in the index until a later run", exc_info=True)

    def write(self, item: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Write the record of a queued answer and take it off the queue. Returns False if the index failed."""
        try:
            for answer in to_answers([item]):  # none if it was forgotten
                self._index.put(answer, timeout=deadline.timeout(_MAX_SECONDS))
        except GleanerError:
            logger.warning("web answers are not in the index until a later run", exc_info=True)
            return False
        done = self._table.update(
            {"pk": item["pk"], "sk": item["sk"]},
            expression="REMOVE #queue, #last_used_at",
            condition="#queue = :queue",  # it may have been queued for deletion in the meantime
            values={":queue": item["queue"]},
        )
        with suppress(ConditionFailed):
            self._table.transact([done], deadline=deadline)
        return True

    @cached_property
    def _index(self) -> AnswerIndex:
        return self._connect()
