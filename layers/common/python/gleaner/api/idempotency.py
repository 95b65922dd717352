"""Idempotency keys: a repeated request gets the first answer and costs nothing."""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyPersistenceLayerError,
    IdempotencyValidationError,
)
from pydantic import BaseModel

from gleaner.api._idempotency_records import IdempotencyRecords
from gleaner.api.request import RequestContext
from gleaner.errors import IdempotencyKeyReused, RequestInProgress, StoreUnavailable
from gleaner.model import JsonObject
from gleaner.stores import schema

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)
Recheck = Callable[[JsonObject], None]  # raises when a stored answer may no longer be sent

REPLAYED = "Idempotent-Replayed"  # the header of a stored answer that is sent again
_STORED_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Produced(Generic[M]):
    """The answer to a request, and whether a repeated request gets it: a degraded one is asked for again."""

    answer: M
    is_kept: bool


class _NotKept(Exception):
    """Raised within Powertools' decorator, which then deletes its record."""


class StoredAnswerFound(Exception):
    """The request was answered before; `body` is that answer as JSON text, sent unchanged.

    It was valid when it was written. A later version may require fields that it lacks, and must replay it anyway.
    """

    def __init__(self, body: str) -> None:
        super().__init__("a stored answer is sent again")
        self.body = body


class IdempotentRunner:
    """Runs each request once per idempotency key and stores its answer, in a table of its own."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._records = IdempotencyRecords(
            table_name=table,
            key_attr=schema.IDEMPOTENCY.partition_key,
            expiry_attr=schema.IDEMPOTENCY.ttl_attribute or "",
            boto3_client=client,
        )

    def run(
        self,
        key: str | None,
        request: RequestContext,
        route: str,
        body: BaseModel,
        produce: Callable[[], Produced[M]],
        recheck: Recheck,
    ) -> M:
        """Return the answer that `produce` returns.

        Raises StoredAnswerFound if the caller sent this key, route and body before. Errors and answers that are not to
        be kept are not stored: the request may be sent again. Raises IdempotencyKeyReused, RequestInProgress,
        StoreUnavailable, and whatever `produce` raises, or `recheck` for a stored answer.
        """
        if key is None:
            return produce().answer
        # Keys are scoped to the caller: the same key from another caller is another request, and so is one of a caller
        # with other groups, who may not read any more what the stored answer rests on.
        record = {
            "key": "\x1f".join((request.caller.id, route, key, *sorted(request.caller.find_groups()))),
            "body": _fingerprint(body),
        }
        try:
            return self._run_once(record, request, produce)
        except StoredAnswerFound as stored:
            recheck(json.loads(stored.body))
            raise

    def _run_once(self, record: dict[str, str], request: RequestContext, produce: Callable[[], Produced[M]]) -> M:
        answers: list[M] = []

        def produce_packed(*, record: dict[str, str]) -> dict[str, str]:  # noqa: ARG001 - the decorator reads it by name
            produced = produce()
            answers.append(produced.answer)
            if not produced.is_kept:
                raise _NotKept
            return {"packed": _pack(answers[0])}

        try:
            packed = self._make_idempotent(produce_packed, request)(record=record)["packed"]
        except _NotKept:
            return answers[0]
        except IdempotencyValidationError as error:
            raise IdempotencyKeyReused("This Idempotency-Key was used with another body. Use a new key.") from error
        except IdempotencyAlreadyInProgressError as error:
            raise RequestInProgress("The first request with this Idempotency-Key is still running.") from error
        except IdempotencyPersistenceLayerError as error:
            if not answers:
                raise StoreUnavailable("The store failed to look up the Idempotency-Key.") from error
            # The answer is paid for and saved in its session: send it although it cannot be replayed.
            logger.exception("an answer was not stored under its idempotency key")
        if answers:
            return answers[0]
        raise StoredAnswerFound(_unpack(packed))

    def _make_idempotent(self, function: Callable[..., dict[str, str]], request: RequestContext) -> Any:
        config = IdempotencyConfig(
            event_key_jmespath="key",
            payload_validation_jmespath="body",
            expires_after_seconds=_STORED_SECONDS,
            hash_function="sha256",
            lambda_context=request.lambda_context,  # a retry may take over from a crashed attempt once its time is up
        )
        return idempotent_function(
            function,
            data_keyword_argument="record",
            persistence_store=self._records.within(request.deadline),
            config=config,
            key_prefix="gleaner",
        )


def _fingerprint(body: BaseModel) -> str:
    # Without defaults, so that a field added by a later version does not change the fingerprint.
    return sha256(body.model_dump_json(exclude_defaults=True).encode()).hexdigest()


def _pack(answer: BaseModel) -> str:
    """Compress the answer: an item of the table holds at most 400 KB."""
    return base64.b64encode(zlib.compress(answer.model_dump_json().encode())).decode()


def _unpack(packed: str) -> str:
    return zlib.decompress(base64.b64decode(packed)).decode()
