"""Writes and deletes the records of stored answers in the vector index, as pruning changes the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gleaner.errors import GleanerError
from gleaner.model import WebAnswer
from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import ConditionFailed, Table
from gleaner.stores.keyword_items import queue_answer, to_answers
from gleaner.stores.schema import PruneQueue

if TYPE_CHECKING:
    from gleaner.clients.answer_index import AnswerIndex

logger = logging.getLogger(__name__)

_MAX_SECONDS = 5.0  # for one request


class AnswerRecords:
    """The records of answers, which are items of the keywords table. Loads the SDK of the index at the first use."""

    def __init__(self, table: Table, connect: Callable[[], AnswerIndex]) -> None:
        self._table = table
        self._connect = connect

    def forget(self, item: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Delete the record of an answer that no keyword refers to. Returns False if the index failed."""
        if item["sk"] != "ANSWER" or item.get("keyword_ids"):
            return True
        try:
            self._index.delete(item["kb_id"], [item["result_id"]], timeout=deadline.timeout(_MAX_SECONDS))
        except GleanerError:
            logger.warning("records of deleted web answers stay in the index until the next run", exc_info=True)
            return False
        return True

    def restore(self, item: Mapping[str, Any], *, deadline: Deadline) -> None:
        """Queue an answer again whose record was deleted although it is still needed."""
        if item["sk"] == "ANSWER" and not item.get("keyword_ids"):
            with suppress(ConditionFailed):
                self._table.transact([queue_answer(self._table, item["result_id"], PruneQueue.UNINDEXED)], deadline=deadline)

    def write(self, item: Mapping[str, Any], *, deadline: Deadline) -> bool:
        """Write the record of a queued answer and take it off the queue. Returns False if the index failed."""
        try:
            for answer in to_answers([item]):
                self._put(answer, deadline)
        except GleanerError:
            logger.warning("web answers stay queued for the index until the next run", exc_info=True)
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

    def _put(self, answer: WebAnswer, deadline: Deadline) -> None:
        self._index.put(answer, timeout=deadline.timeout(_MAX_SECONDS))

    @cached_property
    def _index(self) -> AnswerIndex:
        return self._connect()
