"""A client of Pinecone's control plane, which creates and describes indexes; the service uses only the data plane."""

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
_CALL_SECONDS = 25.0  # includes one retry
_MAX_REASON_CHARS = 300
_PINECONE = "api.pinecone.io"
UNAUTHORIZED, _NOT_FOUND, _CONFLICT = 401, 404, 409
_FINAL_STATES = ("InitializationFailed", "Terminating", "Disabled")
# With these metrics, scores of similar text are between 0 and 1, as the service expects.
_METRICS = ("cosine", "dotproduct")


class ControlFailed(CallFailed):
    """A request to the control plane failed; the message says in one line why and does not show the key."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status  # HTTP status, if there was a response


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconeIndex:
    """An index as the control plane describes it."""

    name: str
    host: str | None  # None until it is assigned
    ready: bool
    state: str
    models: Mapping[str, str]  # the fields that the index embeds itself -> their embedding models
    metric: str | None  # None for the default of the model
    place: str  # cloud and region; empty if it is not serverless

    def find_mismatch(self) -> str | None:
        """The reason why this index cannot hold Gleaner's records, or None."""
        if not self.models:
            return "it does not take records of text that it embeds itself"
        if set(self.models) != {TEXT_FIELD}:
            return f"it embeds the field `{', '.join(self.models)}`, but the text of a record is in `{TEXT_FIELD}`"
        if self.metric not in (None, *_METRICS):
            return f"its metric is {self.metric}, but scores must be from 0 to 1, as with {_METRICS[0]}"
        return None

    @property
    def model(self) -> str:
        """The model that embeds the text; empty if there is none."""
        return self.models.get(TEXT_FIELD, "")


class PineconeControl:
    """The indexes of the project that a key belongs to. Methods raise ControlFailed."""

    def __init__(self, *, api_key: str, host: str | None = None) -> None:
        """`host` is the control plane's address; None means Pinecone's own. Sends no request."""
        self._api_key = api_key
        self._host = host

    def describe(self, name: str) -> PineconeIndex | None:
        """The index of this name, or None."""
        try:
            return _from_sdk(self._call(lambda client: client.indexes.describe(name)))
        except ControlFailed as failure:
            if failure.status == _NOT_FOUND:
                return None
            raise

    def find_by_host(self, host: str) -> PineconeIndex | None:
        """The index that is served at `host`, or None if the key's project has none there."""
        indexes = self._call(lambda client: client.indexes.list().to_list())
        return next((_from_sdk(index) for index in indexes if _is_served_at(index, host)), None)

    def create(self, name: str, *, cloud: str, region: str, model: str) -> None:
        """Start creating a serverless index for Gleaner's records; keeps an existing one. It is not ready on return."""
        embed = {"model": model, "metric": _METRICS[0], "field_map": {"text": TEXT_FIELD}}
        try:
            self._call(
                lambda client: client.indexes.create_for_model(
                    name=name, cloud=cloud, region=region, embed=embed, timeout=-1
                )
            )
        except ControlFailed as failure:
            if failure.status != _CONFLICT:  # created meanwhile by somebody else or by the first try of this request
                raise

    def wait_until_ready(self, name: str, *, seconds: float, pause: float) -> PineconeIndex:
        """Wait for the index to become ready: polls every `pause` seconds, for at most `seconds`."""
        give_up = time.monotonic() + seconds
        while True:
            index = self.describe(name)
            if index is not None and index.ready and index.host:
                return index
            state = index.state if index else "not there yet"
            if time.monotonic() > give_up or state in _FINAL_STATES:
                raise ControlFailed(f"The index {name} is not ready ({state}). Run the command again to keep waiting.")
            time.sleep(pause)

    def _call(self, request: Callable[[Pinecone], Result]) -> Result:
        from pinecone import ApiError, Pinecone, PineconeConnectionError, PineconeError, RetryConfig

        retries = RetryConfig(max_retries=1, max_wait=2.0)
        try:
            client = Pinecone(api_key=self._api_key, host=self._host, timeout=_REQUEST_SECONDS, retry_config=retries)
            return run_within(_CALL_SECONDS, lambda: request(client))
        except ApiError as error:
            raise ControlFailed(
                self._explain_failure(error.status_code, error.message), status=error.status_code
            ) from error
        except PineconeConnectionError as error:
            raise ControlFailed(self._explain_unreachable()) from error
        except (PineconeError, TimeoutError) as error:
            raise ControlFailed(f"Pinecone gave no usable answer ({type(error).__name__}). Try again later.") from error

    def _explain_unreachable(self) -> str:
        check = "the network, and PINECONE_CONTROLLER_HOST" if self._host else "the network"
        return f"{self._host or _PINECONE} cannot be reached. Check {check}."

    def _explain_failure(self, status: int, message: str) -> str:
        if status == UNAUTHORIZED:
            return f"Pinecone refuses the key (HTTP {status})."
        # The service's message says which model or region is unknown.
        reason = " ".join(message.replace(self._api_key, "...").split())[:_MAX_REASON_CHARS]
        return f"Pinecone answered HTTP {status}: {reason}"


def _from_sdk(index: IndexModel) -> PineconeIndex:
    from pinecone import ManagedDeployment, SemanticTextField

    semantic_fields = {
        name: field for name, field in index.schema.fields.items() if isinstance(field, SemanticTextField)
    }
    deployment = index.deployment
    return PineconeIndex(
        name=index.name,
        host=index.host,
        ready=index.status.ready,
        state=index.status.state,
        models={name: field.model for name, field in semantic_fields.items()},
        metric=next((field.metric for field in semantic_fields.values()), None),
        place=f"{deployment.cloud} {deployment.region}" if isinstance(deployment, ManagedDeployment) else "",
    )


def _is_served_at(index: IndexModel, host: str) -> bool:
    return _normalize_host(host) in {_normalize_host(own) for own in (index.host, index.private_host) if own}


def _normalize_host(host: str) -> str:
    return host.rpartition("//")[2].rstrip("/").lower()
