"""The parts of the service that local mode serves itself: those that the environment does not name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.settings import Settings
from gleaner_local.aws import api_gateway, ministack
from gleaner_local.extractive.model import MODEL

LOCAL_KEY = "local"  # the local servers accept any key, but the SDKs require one
_BY_KEY = "key:"  # begins the id of a caller with an API key

_NO_PRICES = json.dumps({"input": 0, "cached_input": 0, "output": 0})  # of what this machine computes itself


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
        "CHAT_PAGE": "on",
        "DOCS_ROUTES": "on",
    }
    return dict(env) | {name: value for name, value in (defaults | tables).items() if not env.get(name)}


def local_variables(part: Part, env: Mapping[str, str]) -> dict[str, str]:
    """The variables of the query function for a part that this machine serves, besides its address."""
    if part is Part.MODEL:
        api = env.get("OPENAI_API") or "responses"
        return {"OPENAI_MODEL": MODEL, "OPENAI_API": api, "OPENAI_PRICES": _NO_PRICES}
    return {"WEB_SEARCH_PRICE": "0"} if part is Part.WEB else {}


def function_settings(env: Mapping[str, str]) -> Settings:
    """The settings that the query function would read from `env`; also checks those of the prune function.

    If no index is named yet, its address is a placeholder. Raises ConfigurationError.
    """
    complete_env = {Part.INDEX.value: "http://127.0.0.1"} | {name: value for name, value in env.items() if value}
    PruneSettings.from_env(complete_env)
    return Settings.from_env(complete_env)


def named_keys(settings: Settings) -> frozenset[str]:
    """The API keys that the settings give rights to, or restrict."""
    callers = settings.admin_callers | settings.knowledge_base_access.keys()
    return frozenset(caller.removeprefix(_BY_KEY) for caller in callers if caller.startswith(_BY_KEY))
