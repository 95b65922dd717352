"""The records of idempotency keys in DynamoDB, with retries inside the deadline of a request."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyItemAlreadyExistsError
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.stores.failures import retry_after

_ATTEMPTS = 16  # the deadline ends them earlier


class IdempotencyRecords(DynamoDBPersistenceLayer):
    """Powertools' records. Its client does not retry, so that a throttled moment would refuse the request."""

    _deadline: Deadline

    def within(self, deadline: Deadline) -> IdempotencyRecords:
        """The same records for one request: each write is tried at least once, and again until `deadline`."""
        records = copy.copy(self)
        records._deadline = deadline
        return records

    def _put_record(self, data_record: DataRecord) -> None:
        put = super()._put_record
        tries = 0

        def put_own() -> None:
            nonlocal tries
            tries += 1
            try:
                put(data_record)
            except IdempotencyItemAlreadyExistsError as error:
                # A write whose answer was lost may have been done: what it finds then is its own record.
                if tries == 1 or not _is_same(error.old_data_record, data_record):
                    raise

        self._retried(put_own)

    def _update_record(self, data_record: DataRecord) -> None:
        update = super()._update_record
        self._retried(lambda: update(data_record))

    def _delete_record(self, data_record: DataRecord) -> None:
        delete = super()._delete_record
        self._retried(lambda: delete(data_record))

    def _retried(self, write: Callable[[], Any]) -> None:
        with_retries(write, retry_after=retry_after, deadline=self._deadline, attempts=_ATTEMPTS)


def _is_same(stored: DataRecord | None, own: DataRecord) -> bool:
    """Whether the record in the store is the one that this request put: its time in milliseconds tells."""
    if stored is None or stored.in_progress_expiry_timestamp is None or own.in_progress_expiry_timestamp is None:
        return False
    return int(stored.in_progress_expiry_timestamp) == int(own.in_progress_expiry_timestamp)
