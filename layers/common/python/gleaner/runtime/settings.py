"""The settings of the query function, read once from a mapping of environment variables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gleaner.addresses import is_web_address
from gleaner.errors import ConfigurationError
from gleaner.guards.blocked_hosts import BlockedHosts, to_ascii_host
from gleaner.model import CALLER_PATTERN, KB_ID_PATTERN
from gleaner.runtime.authorization import Authorization, read_authorization
from gleaner.runtime.document_storage import DocumentStorage, read_document_storage
from gleaner.runtime.learning_policy import LearningPolicy, read_learning_policy
from gleaner.runtime.pricing import ModelPrices, Prices
from gleaner.runtime.quota import Quota, read_quota
from gleaner.runtime.sign_in import SignIn, read_sign_in
from gleaner.runtime.variables import read_positive, read_switch, read_url, require

_KEYS = ("OPENAI_API_KEY", "PINECONE_API_KEY")  # required unless the keys are in a secret
_SECRET = "API_KEYS_SECRET_ARN"  # noqa: S105 - the name of a variable
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_UNLISTED = ("all", "none", "edit")
_MAX_PRICE = 1_000_000  # USD; the store cannot count what some greater ones come to
_FORMER_ACCESS = "KNOWLEDGE_BASE_ACCESS"
_KB_ID_FORMAT = "1 to 63 lowercase letters, digits, - and _, starting with a letter or digit"
_REQUIRED = (
    "PINECONE_INDEX_HOST",
    "KEYWORDS_TABLE",
    "CONVERSATIONS_TABLE",
    "TOOL_CALLS_TABLE",
    "IDEMPOTENCY_TABLE",
    "ACCESS_TABLE",
    "USAGE_TABLE",
    "DOCUMENTS_TABLE",
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """The configuration of the query function. It has no repr, because it may hold keys."""

    api_keys_secret_arn: str | None  # the secret that holds the keys instead of the variables
    openai_api_key: str
    openai_base_url: str | None
    openai_model: str
    openai_max_completion_tokens: int
    openai_api: str | None  # responses or chat; None: whichever the service speaks
    openai_reasoning_effort: str | None
    pinecone_api_key: str
    pinecone_index_host: str
    perplexity_api_key: str | None  # None disables web search
    perplexity_base_url: str
    perplexity_model: str
    keywords_table: str
    conversations_table: str
    tool_calls_table: str
    idempotency_table: str
    access_table: str
    usage_table: str
    documents: DocumentStorage
    dynamodb_endpoint_url: str | None
    prices: Prices
    quota: Quota
    default_kb_id: str
    query_deadline_seconds: float
    stream_deadline_seconds: float  # of questions whose answers stream: no gateway waits for the whole of them
    web_answer_max_age_days: float
    web_blocked_hosts: BlockedHosts  # whose pages web answers neither cite nor teach
    learning_policy: LearningPolicy
    cors_origins: tuple[str, ...]
    unlisted_may_use_all: bool  # callers that the access table does not list: all knowledge bases, or none
    unlisted_may_edit: bool  # whether such callers may also upload and remove documents
    chat_page: bool  # whether a page on which people ask is served at /
    sign_in: SignIn  # on this page
    authorization: Authorization | None  # of MCP clients, at a Cognito user pool; None: they send another credential
    docs_routes: bool  # whether /openapi.json and /swagger are served
    admin_callers: frozenset[str]  # as `cognito:<sub>`, `iam:<ARN>` or `key:<API key id>`

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Settings:
        """Read the settings from environment variables.

        Raises ConfigurationError that names all missing variables, or the first malformed one.
        """
        _refuse_former_access(env)
        secret = env.get(_SECRET) or None
        require(env, _REQUIRED if secret else (*_KEYS, *_REQUIRED))
        prices = Prices(model=_read_model_prices(env), web_search=_read_price(env, "WEB_SEARCH_PRICE"))
        return cls(
            api_keys_secret_arn=secret,
            openai_api_key=_read_key(env, "OPENAI_API_KEY") or "",
            openai_base_url=read_url(env, "OPENAI_BASE_URL"),
            openai_model=env.get("OPENAI_MODEL") or "gpt-6-luna",
            openai_max_completion_tokens=int(read_positive(env, "OPENAI_MAX_COMPLETION_TOKENS", 4096)),
            openai_api=_read_choice(env, "OPENAI_API", ("auto", "responses", "chat"), none="auto"),
            openai_reasoning_effort=_read_choice(env, "OPENAI_REASONING_EFFORT", _EFFORTS),
            pinecone_api_key=_read_key(env, "PINECONE_API_KEY") or "",
            pinecone_index_host=read_index_host(env) or "",
            perplexity_api_key=_read_key(env, "PERPLEXITY_API_KEY"),
            perplexity_base_url=read_url(env, "PERPLEXITY_BASE_URL") or "https://api.perplexity.ai",
            perplexity_model=env.get("PERPLEXITY_MODEL") or "perplexity/sonar",
            keywords_table=env["KEYWORDS_TABLE"],
            conversations_table=env["CONVERSATIONS_TABLE"],
            tool_calls_table=env["TOOL_CALLS_TABLE"],
            idempotency_table=env["IDEMPOTENCY_TABLE"],
            access_table=env["ACCESS_TABLE"],
            usage_table=env["USAGE_TABLE"],
            documents=read_document_storage(env),
            dynamodb_endpoint_url=read_url(env, "AWS_ENDPOINT_URL_DYNAMODB"),
            prices=prices,
            quota=read_quota(env, counts_money=prices.count_money),
            default_kb_id=read_default_kb_id(env),
            query_deadline_seconds=(query_seconds := read_positive(env, "QUERY_DEADLINE_SECONDS", 25.0)),
            stream_deadline_seconds=read_positive(env, "STREAM_DEADLINE_SECONDS", max(60.0, query_seconds)),
            web_answer_max_age_days=read_positive(env, "WEB_ANSWER_MAX_AGE_DAYS", 30.0),
            web_blocked_hosts=_read_blocked_hosts(env),
            learning_policy=read_learning_policy(env),
            cors_origins=_read_origins(env),
            unlisted_may_use_all=(unlisted := _read_choice(env, "UNLISTED_CALLERS", _UNLISTED, none="all")) != "none",
            unlisted_may_edit=unlisted == "edit",
            chat_page=read_switch(env, "CHAT_PAGE"),
            sign_in=read_sign_in(env),
            authorization=read_authorization(env),
            docs_routes=read_switch(env, "DOCS_ROUTES"),
            admin_callers=_read_admins(env),
        )


def read_default_kb_id(env: Mapping[str, str]) -> str:
    """Return the knowledge base that is used where none is named. Raises ConfigurationError."""
    value = env.get("DEFAULT_KB_ID") or "default_kb"
    if not re.fullmatch(KB_ID_PATTERN, value):
        raise ConfigurationError(f"DEFAULT_KB_ID must be {_KB_ID_FORMAT}.")
    return value


def read_index_host(env: Mapping[str, str]) -> str | None:
    """Return the host of the vector index, with or without https://, or None if not set. Raises ConfigurationError."""
    value = env.get("PINECONE_INDEX_HOST")
    if not value:
        return None
    address = value if "//" in value else f"https://{value}"
    if not is_web_address(address) or not ("." in value or "localhost" in value):
        raise ConfigurationError("PINECONE_INDEX_HOST must be the host of an index, as printed by `index create`.")
    return value


def _read_key(env: Mapping[str, str], name: str) -> str | None:
    value = env.get(name) or None
    if value and not (value.isascii() and value.isprintable()):
        raise ConfigurationError(f"{name} must be printable ASCII, because it is sent as a header. Copy the key again.")
    return value


def _read_choice(env: Mapping[str, str], name: str, values: Sequence[str], *, none: str | None = None) -> str | None:
    """One of `values`; None if the variable is not set or has the value `none`. Raises ConfigurationError."""
    value = env.get(name) or none
    if value not in (None, *values):
        raise ConfigurationError(f"{name} must be one of {', '.join(values)}.")
    return None if value == none else value


def _read_blocked_hosts(env: Mapping[str, str]) -> BlockedHosts:
    hosts = [to_ascii_host(host) for host in env.get("WEB_BLOCKED_HOSTS", "").split()]
    # A host with a typo blocks nothing: the intended one would go on teaching.
    valid = [host for host in hosts if host is not None and _HOST.fullmatch(host)]
    if len(valid) != len(hosts):
        raise ConfigurationError(
            "WEB_BLOCKED_HOSTS must be hosts such as example.org, without https:// and paths, separated by spaces."
        )
    return BlockedHosts(frozenset(valid))


def _read_origins(env: Mapping[str, str]) -> tuple[str, ...]:
    origins = tuple(env.get("CORS_ORIGINS", "").split())
    if not all(origin == "*" or _is_origin(origin) for origin in origins):
        raise ConfigurationError(
            "CORS_ORIGINS must be * or origins such as https://app.example.org, separated by spaces."
        )
    return origins


def _is_origin(value: str) -> bool:
    """Return whether a browser could send it as an origin: lowercase scheme, host and port, without a path."""
    return is_web_address(value) and value == value.lower() and value.count("/") == len("//")


def _read_admins(env: Mapping[str, str]) -> frozenset[str]:
    callers = frozenset(env.get("ADMIN_CALLERS", "").split())
    if not all(re.fullmatch(CALLER_PATTERN, caller) for caller in callers):
        raise ConfigurationError(
            "ADMIN_CALLERS must be callers such as key:ID, cognito:SUB or iam:ARN, separated by spaces."
        )
    return callers


def _refuse_former_access(env: Mapping[str, str]) -> None:
    """Raises ConfigurationError if a variable still limits callers: without a reader it would limit nobody."""
    if env.get(_FORMER_ACCESS) not in (None, "", "{}"):
        raise ConfigurationError(
            f"{_FORMER_ACCESS} is not read any more. List its callers with `gleaner callers allow`, then remove it."
        )


def _read_model_prices(env: Mapping[str, str]) -> ModelPrices | None:
    """Read the USD per million tokens, or return None if the variable is not set."""
    name = "OPENAI_PRICES"
    text = env.get(name)
    if not text:
        return None
    try:
        prices = ModelPrices(**json.loads(text))
        valid = all(_is_price(price) for price in (prices.input, prices.cached_input, prices.output))
        valid = valid and (prices.cache_write is None or _is_price(prices.cache_write))
    except (ValueError, TypeError):
        valid = False
    if not valid:
        example = '{"input": 0.1, "cached_input": 0.01, "cache_write": 0.125, "output": 0.5}'
        raise ConfigurationError(f"{name} must be JSON such as {example}, in USD per million tokens.")
    return prices


def _read_price(env: Mapping[str, str], name: str) -> float | None:
    """Read a price in USD, or return None if the variable is not set."""
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
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MAX_PRICE
