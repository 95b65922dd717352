"""Has a deployed environment look again at all documents of a knowledge base, whatever was loaded of them."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any, NamedTuple

from gleaner.runtime.deadline import Deadline
from gleaner.stores.documents import place_of
from gleaner_local.ingestion.bucket_files import STORE_SECONDS, Place

# Beyond that a state machine lists the bucket: these take this machine some minutes.
MAX_KEYS = 100_000
_PAGE = 1_000


class Resync(NamedTuple):
    """How many documents the queue was told to look at; None if the state machine `execution` tells it."""

    documents: int | None
    execution: str = ""


class Backfill:
    """The state machine of an environment that lists its bucket into the queue."""

    def __init__(self, client: Any, arn: str) -> None:
        self._client = client
        self._arn = arn

    def start(self, prefix: str) -> str:
        """Start it for the objects below `prefix`; returns the ARN of the run. Raises BotoCoreError, ClientError."""
        started = self._client.start_execution(stateMachineArn=self._arn, input=json.dumps({"prefix": prefix}))
        return str(started["executionArn"])


def resync(place: Place, backfill: Backfill, *, max_keys: int = MAX_KEYS) -> Resync:
    """Put all objects of the knowledge base into the queue, and documents that are known but have no object any more.

    The latter are those whose deletion was not heard of. With more than `max_keys` objects, the state machine puts the
    objects alone there. Raises ObjectStoreUnavailable, StoreUnavailable, QueueUnavailable, BotoCoreError, ClientError.
    """
    prefix = place.key_of("")
    keys = [facts.key for facts in islice(place.objects.list(prefix), max_keys + 1)]
    if len(keys) > max_keys:
        return Resync(None, backfill.start(prefix))
    return Resync(place.queue.send([*keys, *_find_known(place).difference(keys)]))


def _find_known(place: Place) -> set[str]:
    """The keys of all documents that the table knows."""
    keys: set[str] = set()
    after = None
    while True:
        page = place.states.list(place.kb_id, limit=_PAGE, after=after, deadline=Deadline.after(STORE_SECONDS))
        keys.update(place.key_of(entry.source_file_path) for entry in page)
        if len(page) < _PAGE:
            return keys
        after = place_of(page[-1])
