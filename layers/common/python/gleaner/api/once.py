"""Idempotency keys: a request that is sent again gets the first answer and costs nothing."""

from __future__ import annotations

import base64
import json
import logging
import zlib
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, TypeVar

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
Recheck = Callable[[JsonObject], None]  # raises when a kept answer must not go out any more

_KEPT_SECONDS = 24 * 3600


class KeptAnswer(Exception):
    """The request was answered before, with `body`: JSON text that goes out as it is.

    It was valid when it was made. A later version may want fields that it lacks, and must replay it all the same.
    """

    def __init__(self, body: str) -> None:
        super().__init__("an answer that was kept goes out again")
        self.body = body


class Once:
    """Answers by idempotency key, kept in a table of their own."""

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
        produce: Callable[[], M],
        recheck: Recheck,
    ) -> M:
        """What `produce` gives. Raises KeptAnswer when the caller sent the same key, route and body before.

        Errors are not kept: the request may be sent again. Raises IdempotencyKeyReused, RequestInProgress,
        StoreUnavailable, and what `produce` raises, or `recheck` of an answer that was kept.
        """
        if key is None:
            return produce()
        produced: list[M] = []

        def run(*, record: dict[str, str]) -> dict[str, str]:  # noqa: ARG001 - read by the decorator, by name
            produced.append(produce())
            return {"packed": _pack(produced[0])}

        config = IdempotencyConfig(
            event_key_jmespath="key",
            payload_validation_jmespath="body",
            expires_after_seconds=_KEPT_SECONDS,
            hash_function="sha256",
            lambda_context=request.lambda_context,  # a crashed try can be taken over when its time is up
        )
        # The key is the caller's own: another caller's request with the same key is another request.
        record = {"key": "\x1f".join((request.caller.id, route, key)), "body": _fingerprint(body)}
        once: Any = idempotent_function(
            run,
            data_keyword_argument="record",
            persistence_store=self._records.within(request.deadline),
            config=config,
            key_prefix="gleaner",
        )
        try:
            packed = once(record=record)["packed"]
        except IdempotencyValidationError as error:
            raise IdempotencyKeyReused("This Idempotency-Key was used with another body. Use a new key.") from error
        except IdempotencyAlreadyInProgressError as error:
            raise RequestInProgress("The first request with this Idempotency-Key is still running.") from error
        except IdempotencyPersistenceLayerError as error:
            if produced:  # paid for and kept in its session: it goes out although it cannot be replayed
                logger.exception("an answer was not kept under its idempotency key")
                return produced[0]
            raise StoreUnavailable("The store failed to look up the Idempotency-Key.") from error
        if produced:
            return produced[0]
        kept = _unpack(packed)
        recheck(json.loads(kept))
        raise KeptAnswer(kept)


def _fingerprint(body: BaseModel) -> str:
    # Without defaults: a field that a later version adds must not make the same request another one.
    return sha256(body.model_dump_json(exclude_defaults=True).encode()).hexdigest()


def _pack(answer: BaseModel) -> str:
    """Compressed, since an item of the table holds 400 KB at the most."""
    return base64.b64encode(zlib.compress(answer.model_dump_json().encode())).decode()


def _unpack(packed: str) -> str:
    return zlib.decompress(base64.b64decode(packed)).decode()
