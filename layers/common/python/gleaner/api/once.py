"""Idempotency keys: a request that is sent again gets the first answer and costs nothing."""

from __future__ import annotations

import base64
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

from gleaner.api.idempotency_records import IdempotencyRecords
from gleaner.api.request import RequestContext
from gleaner.errors import IdempotencyKeyReused, RequestInProgress, StoreUnavailable
from gleaner.stores import schema

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=BaseModel)

_KEPT_SECONDS = 24 * 3600


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
        model: type[M],
    ) -> M:
        """What `produce` gives, or gave when the caller sent the same key, route and body before.

        Errors are not kept: the request may be sent again. Raises IdempotencyKeyReused, RequestInProgress,
        StoreUnavailable, and what `produce` raises.
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
            return _unpack(once(record=record)["packed"], model)
        except IdempotencyValidationError as error:
            raise IdempotencyKeyReused("This Idempotency-Key was used with another body. Use a new key.") from error
        except IdempotencyAlreadyInProgressError as error:
            raise RequestInProgress("The first request with this Idempotency-Key is still running.") from error
        except IdempotencyPersistenceLayerError as error:
            if produced:  # paid for and kept in its session: it goes out although it cannot be replayed
                logger.exception("an answer was not kept under its idempotency key")
                return produced[0]
            raise StoreUnavailable("The store failed to look up the Idempotency-Key.") from error


def _fingerprint(body: BaseModel) -> str:
    return sha256(body.model_dump_json().encode()).hexdigest()


def _pack(answer: BaseModel) -> str:
    """Compressed, since an item of the table holds 400 KB at the most."""
    return base64.b64encode(zlib.compress(answer.model_dump_json().encode())).decode()


def _unpack(packed: str, model: type[M]) -> M:
    return model.model_validate_json(zlib.decompress(base64.b64decode(packed)))
