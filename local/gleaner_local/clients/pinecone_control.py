"""Pinecone's control plane, which makes and describes indexes. The service itself needs the data plane only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gleaner.clients.pinecone_records import TEXT_FIELD
from gleaner.clients.time_limit import run_within
from gleaner_local.clients.http_api import CallFailed

if TYPE_CHECKING:
    from pinecone import IndexModel, Pinecone

Result = TypeVar("Result")

_REQUEST_SECONDS = 10
_CALL_SECONDS = 25.0  # one retry included
_REASON_CHARS = 300
_PINECONE = "api.pinecone.io"
UNAUTHORIZED, _NOT_FOUND, _CONFLICT = 401, 404, 409
_NEVER_READY = ("InitializationFailed", "Terminating", "Disabled")
# With them the scores of text that is alike lie between 0 and 1, as the service takes them to.
_METRICS = ("cosine", "dotproduct")


class ControlFailed(CallFailed):
    """The control plane did not do what was asked; the message says in one line why, without the key."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # of the HTTP answer, where there was one


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconeIndex:
    """An index as the control plane describes it."""

    name: str
    host: str | None  # None until it has one
    ready: bool
    state: str
    models: Mapping[str, str]  # the fields whose text the index embeds itself, and with what
    metric: str | None  # None: the model's own
    place: str  # cloud and region; empty when it is not serverless

    def unfit(self) -> str | None:
        """Why Gleaner's records cannot live in this index; None when they can."""
        if not self.models:
            return "it does not take records of text that it embeds itself"
        if set(self.models) != {TEXT_FIELD}:
            return f"it embeds the field `{', '.join(self.models)}`, and the text of a record is in `{TEXT_FIELD}`"
        if self.metric not in (None, *_METRICS):
            return f"its metric is {self.metric}, and scores must be from 0 to 1, as those of {_METRICS[0]}"
        return None

    @property
    def model(self) -> str:
        """What embeds the text; empty when it does not."""
        return self.models.get(TEXT_FIELD, "")


class PineconeControl:
    """The indexes of the project that a key belongs to. Methods raise ControlFailed."""

    def __init__(self, *, api_key: str, host: str | None = None) -> None:
        """`host` is the control plane's address; None is Pinecone's own. Sends nothing yet."""
        self._api_key = api_key
        self._host = host

    def describe(self, name: str) -> PineconeIndex | None:
        """The index of this name, or None."""
        try:
            return _described(self._ask(lambda client: client.indexes.describe(name)))
        except ControlFailed as failure:
            if failure.status == _NOT_FOUND:
                return None
            raise

    def with_host(self, host: str) -> PineconeIndex | None:
        """The index that is served at `host`, or None when the key's project has none there."""
        indexes = self._ask(lambda client: client.indexes.list().to_list())
        return next((_described(index) for index in indexes if _served_at(index, host)), None)

    def create(self, name: str, *, cloud: str, region: str, model: str) -> None:
        """Begin to make a serverless index for Gleaner's records; it is not ready yet. One that is there stays."""
        embed = {"model": model, "metric": _METRICS[0], "field_map": {"text": TEXT_FIELD}}
        try:
            self._ask(
                lambda client: client.indexes.create_for_model(
                    name=name, cloud=cloud, region=region, embed=embed, timeout=-1
                )
            )
        except ControlFailed as failure:
            if failure.status != _CONFLICT:  # somebody else, or the first try of this request, was faster
                raise

    def wait_until_ready(self, name: str, *, seconds: float, pause: float) -> PineconeIndex:
        """The index once it answers; asks every `pause` seconds, for `seconds` at most."""
        give_up = time.monotonic() + seconds
        while True:
            index = self.describe(name)
            if index is not None and index.ready and index.host:
                return index
            state = index.state if index else "not there yet"
            if time.monotonic() > give_up or state in _NEVER_READY:
                raise ControlFailed(f"The index {name} is not ready ({state}). Run the command again to wait on.")
            time.sleep(pause)

    def _ask(self, call: Callable[[Pinecone], Result]) -> Result:
        from pinecone import ApiError, Pinecone, PineconeConnectionError, PineconeError, RetryConfig

        retries = RetryConfig(max_retries=1, max_wait=2.0)
        try:
            client = Pinecone(api_key=self._api_key, host=self._host, timeout=_REQUEST_SECONDS, retry_config=retries)
            return run_within(_CALL_SECONDS, lambda: call(client))
        except ApiError as error:
            raise ControlFailed(self._reason(error.status_code, error.message), status=error.status_code) from error
        except PineconeConnectionError as error:
            raise ControlFailed(self._unreachable()) from error
        except (PineconeError, TimeoutError) as error:
            raise ControlFailed(f"Pinecone gave no usable answer ({type(error).__name__}). Try again later.") from error

    def _unreachable(self) -> str:
        check = "the network, and PINECONE_CONTROLLER_HOST" if self._host else "the network"
        return f"{self._host or _PINECONE} cannot be reached. Check {check}."

    def _reason(self, status: int, message: str) -> str:
        if status == UNAUTHORIZED:
            return f"Pinecone refuses the key (HTTP {status})."
        # The service's own words say which model or region it does not know.
        said = " ".join(message.replace(self._api_key, "...").split())[:_REASON_CHARS]
        return f"Pinecone answered HTTP {status}: {said}"


def _described(index: IndexModel) -> PineconeIndex:
    from pinecone import ManagedDeployment, SemanticTextField

    embedded = {name: field for name, field in index.schema.fields.items() if isinstance(field, SemanticTextField)}
    at = index.deployment
    return PineconeIndex(
        name=index.name,
        host=index.host,
        ready=index.status.ready,
        state=index.status.state,
        models={name: field.model for name, field in embedded.items()},
        metric=next((field.metric for field in embedded.values()), None),
        place=f"{at.cloud} {at.region}" if isinstance(at, ManagedDeployment) else "",
    )


def _served_at(index: IndexModel, host: str) -> bool:
    return _bare(host) in {_bare(own) for own in (index.host, index.private_host) if own}


def _bare(host: str) -> str:
    return host.rpartition("//")[2].rstrip("/").lower()
