"""Reads the API keys of the remote services from Secrets Manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from gleaner.clients._deferred_packages import defer_packages
from gleaner.errors import ApiKeysUnavailable
from gleaner.guards.redaction import protect

defer_packages("aws_lambda_powertools.utilities.parameters")  # it would import the providers of other services

from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError  # noqa: E402
from aws_lambda_powertools.utilities.parameters.secrets import SecretsProvider  # noqa: E402

_CACHED_SECONDS = 300  # a rotated key is in use everywhere after this time
_CLIENT = Config(connect_timeout=1, read_timeout=2, retries={"total_max_attempts": 2})


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKeys:
    """One key for each service. Has no repr: a key must not reach a log by accident."""

    openai: str
    pinecone: str
    perplexity: str | None  # None disables web search

    def __post_init__(self) -> None:
        """Register the keys for redaction in every log, record, error and trace."""
        protect((self.openai, self.pinecone, self.perplexity))


# Called at every use: keys are rotated while a process runs. Raises ApiKeysUnavailable.
ReadKeys = Callable[[], ApiKeys]


class ApiKeysSecret:
    """The secret with the API keys: a JSON object with `openai`, `pinecone` and, optionally, `perplexity`."""

    def __init__(self, arn: str, *, cached_seconds: int = _CACHED_SECONDS) -> None:
        """Send nothing yet: objects built before a snapshot of the process must not hold a key."""
        self._arn = arn
        self._cached_seconds = cached_seconds
        # Use the default session: a separate one would load the service descriptions of botocore again.
        self._provider = SecretsProvider(boto3_client=boto3.client("secretsmanager", config=_CLIENT))

    def read(self) -> ApiKeys:
        """Return the keys, cached for some minutes; a failed fetch is not cached.

        Raises ApiKeysUnavailable, whose message does not quote the secret.
        """
        # If the cached value is invalid, fetch it again, so that a corrected secret is in use at once.
        keys = _parse_keys(self._fetch()) or _parse_keys(self._fetch(force=True))
        if keys is None:
            raise ApiKeysUnavailable("The secret with the API keys must be JSON with openai and pinecone.")
        return keys

    def _fetch(self, *, force: bool = False) -> str:
        try:
            return str(self._provider.get(self._arn, max_age=self._cached_seconds, force_fetch=force))
        except GetParameterError as error:
            raise ApiKeysUnavailable(_explain(error)) from error


def _explain(error: GetParameterError) -> str:
    """Why the secret could not be read. Powertools raises its error while it handles that of the client."""
    cause = error.__context__
    if isinstance(cause, ClientError) and cause.response["Error"]["Code"] == "ResourceNotFoundException":
        return "The secret with the API keys has no value yet: `gleaner keys put` writes one."
    return "The secret with the API keys could not be read."


def _parse_keys(value: str) -> ApiKeys | None:
    try:
        keys = json.loads(value)
        openai, pinecone, perplexity = keys["openai"], keys["pinecone"], keys.get("perplexity")
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # the error itself is dropped: a JSON error quotes the text
    if not (openai and pinecone):
        return None
    return ApiKeys(openai=openai, pinecone=pinecone, perplexity=perplexity or None)
