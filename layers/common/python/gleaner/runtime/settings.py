"""The settings of the query function, read once from a mapping of environment variables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gleaner.errors import ConfigurationError
from gleaner.model import KB_ID_PATTERN
from gleaner.runtime.pricing import ModelPrices, Prices
from gleaner.runtime.variables import is_web_address, positive, require, url

_KEYS = ("OPENAI_API_KEY", "PINECONE_API_KEY")  # unless a secret holds them
_SECRET = "API_KEYS_SECRET_ARN"  # noqa: S105 - the name of a variable
# The authorizer's kind of caller, and the caller's id there; nobody is so named who is not established by one.
_CALLER = re.compile(r"(cognito|iam|key):\S*[^\s,]")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ANONYMOUS = "anonymous"
_KB_ID = "1 to 63 small letters, digits, - and _, a letter or digit first"
_REQUIRED = (
    "PINECONE_INDEX_HOST",
    "KEYWORDS_TABLE",
    "CONVERSATIONS_TABLE",
    "TOOL_CALLS_TABLE",
    "IDEMPOTENCY_TABLE",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """How the query function is configured. Has no repr: it may hold keys."""

    api_keys_secret_arn: str | None  # of the secret that holds the keys; then the variables do not
    openai_api_key: str
    openai_base_url: str | None
    openai_model: str
    openai_max_completion_tokens: int
    openai_api: str | None  # responses or chat; None: whichever the service speaks
    openai_reasoning_effort: str | None
    pinecone_api_key: str
    pinecone_index_host: str
    perplexity_api_key: str | None  # None: the web is not searched
    perplexity_base_url: str
    perplexity_model: str
    keywords_table: str
    conversations_table: str
    tool_calls_table: str
    idempotency_table: str
    dynamodb_endpoint_url: str | None
    prices: Prices
    default_kb_id: str
    query_deadline_seconds: float
    web_answer_max_age_days: float
    cors_origins: tuple[str, ...]
    knowledge_base_access: Mapping[str, frozenset[str]]  # by caller; callers not named may use all
    docs_routes: bool  # whether /openapi.json and /swagger are served
    admin_callers: frozenset[str]  # as `cognito:<sub>`, `iam:<ARN>` or `key:<API key id>`

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Read the settings from environment variables.

        Raises ConfigurationError that names every variable that is missing, or the one that is malformed.
        """
        secret = env.get(_SECRET) or None
        require(env, _REQUIRED if secret else (*_KEYS, *_REQUIRED))
        return cls(
            api_keys_secret_arn=secret,
            openai_api_key=_key(env, "OPENAI_API_KEY") or "",
            openai_base_url=url(env, "OPENAI_BASE_URL"),
            openai_model=env.get("OPENAI_MODEL") or "gpt-6-luna",
            openai_max_completion_tokens=int(positive(env, "OPENAI_MAX_COMPLETION_TOKENS", 4096)),
            openai_api=_one_of(env, "OPENAI_API", ("auto", "responses", "chat"), none="auto"),
            openai_reasoning_effort=_one_of(env, "OPENAI_REASONING_EFFORT", _EFFORTS),
            pinecone_api_key=_key(env, "PINECONE_API_KEY") or "",
            pinecone_index_host=index_host(env) or "",
            perplexity_api_key=_key(env, "PERPLEXITY_API_KEY"),
            perplexity_base_url=url(env, "PERPLEXITY_BASE_URL") or "https://api.perplexity.ai",
            perplexity_model=env.get("PERPLEXITY_MODEL") or "perplexity/sonar",
            keywords_table=env["KEYWORDS_TABLE"],
            conversations_table=env["CONVERSATIONS_TABLE"],
            tool_calls_table=env["TOOL_CALLS_TABLE"],
            idempotency_table=env["IDEMPOTENCY_TABLE"],
            dynamodb_endpoint_url=url(env, "AWS_ENDPOINT_URL_DYNAMODB"),
            prices=Prices(model=_model_prices(env), web_search=_price(env, "WEB_SEARCH_PRICE")),
            default_kb_id=default_kb_id(env),
            query_deadline_seconds=positive(env, "QUERY_DEADLINE_SECONDS", 25.0),
            web_answer_max_age_days=positive(env, "WEB_ANSWER_MAX_AGE_DAYS", 30.0),
            cors_origins=_origins(env),
            knowledge_base_access=_access(env),
            docs_routes=_switch(env, "DOCS_ROUTES"),
            admin_callers=_admins(env),
        )


def default_kb_id(env: Mapping[str, str]) -> str:
    """The knowledge base that is meant where none is named. Raises ConfigurationError."""
    value = env.get("DEFAULT_KB_ID") or "default_kb"
    if not re.fullmatch(KB_ID_PATTERN, value):
        raise ConfigurationError(f"DEFAULT_KB_ID must be {_KB_ID}.")
    return value


def index_host(env: Mapping[str, str]) -> str | None:
    """The host of the vector index, with or without https://; None when none is named. Raises ConfigurationError."""
    value = env.get("PINECONE_INDEX_HOST")
    if not value:
        return None
    address = value if "//" in value else f"https://{value}"
    if not is_web_address(address) or not ("." in value or "localhost" in value):
        raise ConfigurationError("PINECONE_INDEX_HOST must be the host of an index, such as `index create` prints.")
    return value


def _key(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name) or None
    if value and not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{name} must be printable ASCII, as a header carries it. Copy the key again.")
    return value


def _one_of(env: Mapping[str, str], name: str, values: Sequence[str], *, none: str | None = None) -> str | None:
    """One of `values`; None without the variable, or if it has the value `none`. Raises ConfigurationError."""
    value = env.get(name) or none
    if value not in (None, *values):
        raise ConfigurationError(f"{name} must be one of {', '.join(values)}.")
    return None if value == none else value


def _switch(env: Mapping[str, str], name: str) -> bool:
    value = env.get(name) or "off"
    if value not in ("on", "off"):
        raise ConfigurationError(f"{name} must be on or off.")
    return value == "on"


def _origins(env: Mapping[str, str]) -> tuple[str, ...]:
    origins = tuple(env.get("CORS_ORIGINS", "").split())
    if not all(origin == "*" or _is_origin(origin) for origin in origins):
        raise ConfigurationError("CORS_ORIGINS must be * or origins such as https://app.example.org, spaces between.")
    return origins


def _is_origin(value: str) -> bool:
    """Whether a browser would send it: scheme, host and port, in small letters and without a path."""
    return is_web_address(value) and value == value.lower() and value.count("/") == len("//")


def _admins(env: Mapping[str, str]) -> frozenset[str]:
    callers = frozenset(env.get("ADMIN_CALLERS", "").split())
    if not all(_CALLER.fullmatch(caller) for caller in callers):
        raise ConfigurationError(
            "ADMIN_CALLERS must be callers such as key:ID, cognito:SUB or iam:ARN, spaces between."
        )
    return callers


def _access(env: Mapping[str, str]) -> dict[str, frozenset[str]]:
    name = "KNOWLEDGE_BASE_ACCESS"
    try:
        value = json.loads(env.get(name) or "{}")
        access = {caller: frozenset(kb_ids) for caller, kb_ids in value.items() if isinstance(kb_ids, list)}
    except (ValueError, AttributeError, TypeError):
        access, value = {}, None
    if value is None or len(access) != len(value):
        raise ConfigurationError(f'{name} must be JSON such as {{"key:abc": ["default_kb"]}}.')
    # A caller who is misspelt here would be limited to nothing, and so could use all.
    wrong = [caller for caller in access if caller != _ANONYMOUS and not _CALLER.fullmatch(caller)]
    if wrong:
        raise ConfigurationError(f"{name} must name callers such as key:ID, cognito:SUB, iam:ARN or {_ANONYMOUS}.")
    if not all(isinstance(kb, str) and re.fullmatch(KB_ID_PATTERN, kb) for kb_ids in access.values() for kb in kb_ids):
        raise ConfigurationError(f"A knowledge base in {name} must be {_KB_ID}.")
    return access


def _model_prices(env: Mapping[str, str]) -> ModelPrices | None:
    """USD for a million tokens; without the variable, None."""
    name = "OPENAI_PRICES"
    text = env.get(name)
    if not text:
        return None
    try:
        prices = ModelPrices(**json.loads(text))
        valid = all(_is_price(price) for price in (prices.input, prices.cached_input, prices.output))
    except (ValueError, TypeError):
        valid = False
    if not valid:
        example = '{"input": 0.75, "cached_input": 0.075, "output": 4.5}'
        raise ConfigurationError(f"{name} must be JSON such as {example}, in USD for a million tokens.")
    return prices


def _price(env: Mapping[str, str], name: str) -> float | None:
    """USD; without the variable, None."""
    text = env.get(name)
    if not text:
        return None
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not _is_price(price):
        raise ConfigurationError(f"{name} must be a price in USD.")
    return price


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
