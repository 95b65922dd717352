"""The API keys of the remote services, from Secrets Manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import boto3
from aws_lambda_powertools.utilities.parameters import SecretsProvider
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError
from botocore.config import Config

from gleaner.errors import ApiKeysUnavailable
from gleaner.guards.redaction import protect

_CACHED_SECONDS = 300  # after so long a new key is in use everywhere
_CLIENT = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKeys:
    """One key for each service. Has no repr: a key must not reach a log by accident."""

    openai: str
    pinecone: str
    perplexity: str | None  # None: the web is not searched

    def __post_init__(self) -> None:
        """From here on no log, record, error or trace shows them, whatever their form."""
        protect((self.openai, self.pinecone, self.perplexity))


ReadKeys = Callable[[], ApiKeys]  # asked at every use: keys change while a process lives. Raises ApiKeysUnavailable.


class ApiKeysSecret:
    """A secret with the API keys: a JSON object with `openai`, `pinecone` and perhaps `perplexity`."""

    def __init__(self, arn: str, *, cached_seconds: int = _CACHED_SECONDS) -> None:
        """Sends nothing yet: what is made before a snapshot of the process must hold no key."""
        self._arn = arn
        self._cached_seconds = cached_seconds
        # Over the session of the other clients: one of its own would read the descriptions of all services anew.
        self._provider = SecretsProvider(boto3_client=boto3.client("secretsmanager", config=_CLIENT))

    def read(self) -> ApiKeys:
        """The keys, cached for some time; a failed fetch is not cached.

        Raises ApiKeysUnavailable, without what the secret holds.
        """
        keys = _to_keys(self._fetch()) or _to_keys(self._fetch(anew=True))  # once mended it is in use at once
        if keys is None:
            raise ApiKeysUnavailable("The secret with the API keys must be JSON with openai and pinecone.")
        return keys

    def _fetch(self, *, anew: bool = False) -> str:
        try:
            return str(self._provider.get(self._arn, max_age=self._cached_seconds, force_fetch=anew))
        except GetParameterError as error:
            raise ApiKeysUnavailable("The secret with the API keys could not be read.") from error


def _to_keys(value: str) -> ApiKeys | None:
    try:
        keys = json.loads(value)
        openai, pinecone, perplexity = keys["openai"], keys["pinecone"], keys.get("perplexity")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # what is wrong with it is not told: the message of a JSON error quotes the text
    if not (openai and pinecone):
        return None
    return ApiKeys(openai=openai, pinecone=pinecone, perplexity=perplexity or None)
