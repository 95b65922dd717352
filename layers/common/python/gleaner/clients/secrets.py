"""The API keys of the remote services, from Secrets Manager."""

from __future__ import annotations

import json
from dataclasses import dataclass

from aws_lambda_powertools.utilities import parameters
from aws_lambda_powertools.utilities.parameters.exceptions import GetParameterError, TransformParameterError

from gleaner.errors import ConfigurationError

_CACHED_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ApiKeys:
    """One key for each service. Has no repr: a key must not reach a log by accident."""

    openai: str
    pinecone: str
    perplexity: str | None  # None: the web is not searched


def fetch_api_keys(secret_arn: str) -> ApiKeys:
    """The keys in the secret: a JSON object with `openai`, `pinecone` and perhaps `perplexity`.

    Cached for some minutes; a failed fetch is not. Raises ConfigurationError, without what the secret holds.
    """
    try:
        value = parameters.get_secret(secret_arn, max_age=_CACHED_SECONDS)
        keys = json.loads(value)
        return ApiKeys(openai=keys["openai"], pinecone=keys["pinecone"], perplexity=keys.get("perplexity") or None)
    except (GetParameterError, TransformParameterError) as error:
        raise ConfigurationError("The secret with the API keys could not be read.") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        # Without its cause: the message of a JSON error quotes the text.
        raise ConfigurationError("The secret with the API keys must be JSON with openai and pinecone.") from None
