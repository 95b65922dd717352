"""The parts of the service that local mode serves itself: those that the environment does not name."""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Mapping
from enum import StrEnum

from gleaner.errors import DeadlineExceeded, StoreUnavailable
from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.deadline import Deadline
from gleaner.runtime.settings import Settings
from gleaner.stores.access import AccessStore
from gleaner_local.aws import api_gateway, ministack
from gleaner_local.extractive.model import MODEL

LOCAL_KEY = "local"  # the local servers accept any key, but the SDKs require one
_BY_KEY = "key:"  # begins the id of a caller with an API key
_LOOKUP_SECONDS = 5.0

# What this machine computes itself costs nothing, unless the operator sets prices: to see how a quota of money works.
_NO_PRICES = json.dumps({"input": 0, "cached_input": 0, "output": 0})


class Part(StrEnum):
    """A service that the query function calls; its value is the variable that holds the address."""

    MODEL = "OPENAI_BASE_URL"
    INDEX = "PINECONE_INDEX_HOST"
    WEB = "PERPLEXITY_BASE_URL"
    TABLES = "AWS_ENDPOINT_URL_DYNAMODB"


_KEY_VARIABLES = {Part.MODEL: "OPENAI_API_KEY", Part.WEB: "PERPLEXITY_API_KEY"}


def local_parts(env: Mapping[str, str]) -> frozenset[Part]:
    """The parts for which `env` has no address and, if the service has a default address, no key either."""
    return frozenset(
        part for part in Part if not env.get(part) and not (part in _KEY_VARIABLES and env.get(_KEY_VARIABLES[part]))
    )


def with_defaults(env: Mapping[str, str]) -> dict[str, str]:
    """`env`, with local defaults for the function's other variables that it does not set."""
    tables = {name: f"gleaner-{name.removesuffix('_TABLE').lower().replace('_', '-')}" for name in ministack.TABLES}
    defaults = dict.fromkeys(("OPENAI_API_KEY", "PINECONE_API_KEY", "PERPLEXITY_API_KEY"), LOCAL_KEY) | {
        "ADMIN_CALLERS": f"key:{api_gateway.ADMIN_CALLER}",
        "POWERTOOLS_METRICS_NAMESPACE": "Gleaner",
        "UNLISTED_CALLERS": "edit",  # who opens the page of their own machine loads their own documents there
        "CHAT_PAGE": "on",
        "DOCS_ROUTES": "on",
    }
    return dict(env) | {name: value for name, value in (defaults | tables).items() if not env.get(name)}


def local_variables(part: Part, env: Mapping[str, str]) -> dict[str, str]:
    """The variables of the query function for a part that this machine serves, besides its address."""
    if part is Part.MODEL:
        api = env.get("OPENAI_API") or "responses"
        return {"OPENAI_MODEL": MODEL, "OPENAI_API": api, "OPENAI_PRICES": env.get("OPENAI_PRICES") or _NO_PRICES}
    return {"WEB_SEARCH_PRICE": env.get("WEB_SEARCH_PRICE") or "0"} if part is Part.WEB else {}


def function_settings(env: Mapping[str, str]) -> Settings:
    """The settings that the query function would read from `env`; also checks those of the prune function.

    If no index is named yet, its address is a placeholder. Raises ConfigurationError.
    """
    complete_env = {Part.INDEX.value: "http://127.0.0.1"} | {name: value for name, value in env.items() if value}
    PruneSettings.from_env(complete_env)
    return Settings.from_env(complete_env)


class NamedKeys(Container[str]):
    """The API keys of admins, and those that the access table lists: keys that mean somebody."""

    def __init__(self, admin_callers: Collection[str], access: AccessStore) -> None:
        self._admins = admin_callers
        self._access = access

    def __contains__(self, key: object) -> bool:
        """Whether it is one; also if the table cannot be read, as the function says then."""
        if not isinstance(key, str) or not key or not api_gateway.is_usable_key(key):
            return False
        caller = f"{_BY_KEY}{key}"
        try:
            return caller in self._admins or bool(self._access.find([caller], deadline=Deadline.after(_LOOKUP_SECONDS)))
        except (StoreUnavailable, DeadlineExceeded):
            return True
