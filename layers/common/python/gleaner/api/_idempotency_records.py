"""The records of idempotency keys in DynamoDB, retried within the deadline of the request."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyItemAlreadyExistsError
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import DataRecord

from gleaner.runtime.deadline import Deadline
from gleaner.runtime.retries import with_retries
from gleaner.stores.failures import retry_within

_MAX_ATTEMPTS = 16  # the deadline usually ends the retries earlier


class IdempotencyRecords(DynamoDBPersistenceLayer):
    """Powertools' records, with retries: its own client has none, so brief throttling would fail the request."""

    _deadline: Deadline

    def within(self, deadline: Deadline) -> IdempotencyRecords:
        """The same records for one request: each write is attempted at least once and retried until `deadline`."""
        records = copy.copy(self)
        records._deadline = deadline
        return records

    def _put_record(self, data_record: DataRecord) -> None:
        put = super()._put_record
        attempts = 0

        def put_unless_own_exists() -> None:
            nonlocal attempts
            attempts += 1
            try:
                put(data_record)
            except IdempotencyItemAlreadyExistsError as error:
                # If the response to an earlier attempt was lost, the existing record may be our own.
                if attempts == 1 or not _is_same(error.old_data_record, data_record):
                    raise

        self._retry(put_unless_own_exists)

    def _update_record(self, data_record: DataRecord) -> None:
        update = super()._update_record
        self._retry(lambda: update(data_record))

    def _delete_record(self, data_record: DataRecord) -> None:
        delete = super()._delete_record
        self._retry(lambda: delete(data_record))

    def _retry(self, write: Callable[[], Any]) -> None:
        deadline = self._deadline
        retry_after = retry_within(deadline, self.table_name)
        with_retries(write, retry_after=retry_after, deadline=deadline, attempts=_MAX_ATTEMPTS)


def _is_same(stored: DataRecord | None, own: DataRecord) -> bool:
    """Whether the stored record is the one that this request wrote, judged by its expiry in milliseconds."""
    if stored is None or stored.in_progress_expiry_timestamp is None or own.in_progress_expiry_timestamp is None:
        return False
    return int(stored.in_progress_expiry_timestamp) == int(own.in_progress_expiry_timestamp)
