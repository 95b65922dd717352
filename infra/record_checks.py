"""What AWS or the functions would refuse of a record, after parts of it are deployed.

A check yields what is wrong, each with its remedy. The functions' own rules stand here once more, because the
infrastructure does not import what it deploys; a test compares both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from infra.bounds import check_positive, check_whole

if TYPE_CHECKING:
    from infra.environment import Canary, Environment, Function, Pruning

# Some of those that CloudWatch Logs has ("PutRetentionPolicy" of its API). infra/retention.py has their names.
LOG_RETENTION_DAYS = (1, 7, 30, 90, 365)

# CloudFormation names a function `<stack>-<logical id>-<12 characters>`, and cuts what exceeds Lambda's 64 characters:
# the stack's name keeps 25 of them (KensioSoftware/yulin#1113, from names that CloudFormation made). The permissions of
# the pipeline's role need `gleaner-<environment>-` of it.
_MAX_NAME = 25 - len("gleaner--")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# The prefix of a user pool's domain holds the name ("Using the Amazon Cognito prefix domain" in its developer guide).
_NOT_IN_PREFIX = ("aws", "amazon", "cognito")
# Stacks of the pipeline are `gleaner-pipeline-provider` and `gleaner-pipeline-<environment>`.
_OF_PIPELINE = ("pipeline", "provider")

_MEMORY = (128, 10_240)  # MB ("Lambda quotas" in its developer guide)
_MAX_SECONDS = 900  # of a function (ditto)
_MAX_FLEXIBLE = 1440  # minutes (FlexibleTimeWindow in EventBridge Scheduler's API reference)
_MAX_ADDRESSES = 100  # CallbackURLs and LogoutURLs of a client (CreateUserPoolClient in Cognito's API reference)
_MAX_ADDRESS = 1024  # characters of each of them (ditto)
_MAX_RESOURCE = 256 - len("/mcp")  # characters of Identifier (CreateResourceServer in Cognito's API reference)
# The form of the API reference of Cognito (UserPoolIdType), with the parts of every ARN.
_POOL = re.compile(r"arn:aws[a-z-]*:cognito-idp:([a-z0-9-]+):\d{12}:userpool/\1_[0-9a-zA-Z]+")

# What the query function takes: gleaner.runtime.settings, .learning_policy and .sign_in, gleaner.model.
_LEARNING = ("shared", "caller", "off")
_APIS = ("responses", "chat")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_CALLER = re.compile(r"(cognito|iam|key):\S*[^\s,]")
_KB_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*")
_POOL_ORIGIN = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?")
_INDEX_HOST = re.compile(r"https?://[^\s/]+/?")  # of the stack's parameter: infra/constructs/index_host.py


def check_name(name: str) -> Iterator[str]:
    """Say what is wrong with the name of an environment, of which most names in AWS are made."""
    if not _NAME.fullmatch(name) or len(name) > _MAX_NAME:
        yield f"name must have 1 to {_MAX_NAME} lower-case letters, digits and single hyphens, a letter first."
    if name in _OF_PIPELINE or name.startswith("pipeline-"):
        yield "stacks of the pipeline have this name. Choose another."
    if any(word in name for word in _NOT_IN_PREFIX):
        yield f"Cognito takes no name with {', '.join(_NOT_IN_PREFIX)} in the domain of a pool. Choose another."


def check_record(record: Environment) -> Iterator[str]:
    """Say what AWS or the functions would refuse."""
    yield from _check_function("query", record.query)
    yield from _check_function("prune", record.prune)
    yield from record.throttle.check()
    yield from record.alarms.check()
    yield from _check_pruning(record.pruning)
    if record.documents is not None:
        yield from record.documents.check()
    if record.canary is not None:
        yield from _check_canary(record.canary, record.query)
    if record.log_retention_days not in LOG_RETENTION_DAYS:
        yield f"log_retention_days must be one of {', '.join(map(str, LOG_RETENTION_DAYS))}."
    yield from _check_sign_in(record)
    yield from _check_callers(record)
    yield from _check_learning(record)
    yield from _check_models(record)
    yield from _check_prices(record)


def _check_function(name: str, function: Function) -> Iterator[str]:
    yield from check_whole(f"{name}.memory_mb", function.memory_mb, *_MEMORY)
    yield from check_whole(f"{name}.timeout_seconds", function.timeout_seconds, 1, _MAX_SECONDS)
    if function.reserved_concurrency is not None:  # Lambda takes 0, with which a function never runs
        yield from check_whole(f"{name}.reserved_concurrency", function.reserved_concurrency, 1)


def _check_pruning(pruning: Pruning) -> Iterator[str]:
    yield from check_whole("pruning.every_hours", pruning.every_hours, 1)
    yield from check_whole("pruning.flexible_minutes", pruning.flexible_minutes, 1, _MAX_FLEXIBLE)
    yield from check_whole("pruning.min_usage", pruning.min_usage, 1)  # the function takes no 0
    yield from check_positive("pruning.max_age_days", pruning.max_age_days)
    yield from check_positive("pruning.hard_max_age_days", pruning.hard_max_age_days)


def _check_canary(canary: Canary, query: Function) -> Iterator[str]:
    # Lambda ends an invocation at its timeout, so none could be slower.
    if canary.slow_seconds >= query.timeout_seconds:
        yield f"canary.slow_seconds must be below query.timeout_seconds, which are {query.timeout_seconds}."


def _check_sign_in(record: Environment) -> Iterator[str]:
    if record.user_pool_arn is not None and not _POOL.fullmatch(record.user_pool_arn):
        example = "arn:aws:cognito-idp:REGION:ACCOUNT:userpool/REGION_ID"
        yield f"user_pool_arn is not the ARN of a Cognito user pool, as {example}."
    if record.user_pool_url is not None:
        if record.user_pool_arn is None:
            yield "user_pool_url is that of an existing pool. Set user_pool_arn, too."
        if not _POOL_ORIGIN.fullmatch(record.user_pool_url):
            yield "user_pool_url must be https:// and a host in lower case, without a path or a final slash."
    address = record.address
    if address is not None and not (_is_web_address(address) and address.isascii() and len(address) <= _MAX_RESOURCE):
        yield f"the address {address} must be an ASCII URL of up to {_MAX_RESOURCE} characters. Set another public_url."
    own = (not record.closes_default_endpoint) + (record.domain is not None)  # addresses of the page besides these
    for name, urls, most in (
        ("mcp_callback_urls", record.mcp_callback_urls, _MAX_ADDRESSES),
        ("page_urls", record.page_urls, _MAX_ADDRESSES - own),
    ):
        if len(urls) > most:
            yield f"{name} has {len(urls)} addresses, but Cognito takes {most} besides the API's own. Remove some."
        if any(len(url) > _MAX_ADDRESS or re.search(r"\s", url) for url in urls):
            yield f"{name}: Cognito takes addresses of up to {_MAX_ADDRESS} characters without spaces."


def _check_callers(record: Environment) -> Iterator[str]:
    for caller in record.admin_callers:
        if not _CALLER.fullmatch(caller):
            yield f"{caller!r} in admin_callers must be key:ID, cognito:SUB or iam:ARN."
    for origin in record.cors_origins:
        if origin != "*" and not _is_origin(origin):
            yield f"{origin!r} in cors_origins must be * or an origin in lower case, as https://app.example.org."
    for host in record.web_blocked_hosts:
        if not _HOST.fullmatch(_to_ascii(host)):
            yield f"{host!r} in web_blocked_hosts must be a host, as example.org, without https:// and a path."


def _check_learning(record: Environment) -> Iterator[str]:
    for name, mode in chain([("learning", record.learning)], record.learning_by_kb.items()):
        if mode not in _LEARNING:
            yield f"learning: {name} must be {', '.join(_LEARNING)}, not {mode!r}."
    for kb_id in record.learning_by_kb:
        if not _KB_ID.fullmatch(kb_id):
            yield f"{kb_id!r} in learning_by_kb must have 1 to 63 lowercase letters, digits, - and _."


def _check_models(record: Environment) -> Iterator[str]:
    for name, value, values in (
        ("openai_api", record.openai_api, _APIS),
        ("openai_reasoning_effort", record.openai_reasoning_effort, _EFFORTS),
    ):
        if value is not None and value not in values:
            yield f"{name} must be {', '.join(values)}, or None, not {value!r}."
    for name in ("openai_base_url", "perplexity_base_url"):
        url = getattr(record, name)
        if url is not None and not _is_web_address(url):
            yield f"{name} must be an http or https URL."
    if record.pinecone_index_host is not None and not _INDEX_HOST.fullmatch(record.pinecone_index_host):
        yield "pinecone_index_host must be https:// and the host of the index, without a path."
    yield from check_whole("openai_max_completion_tokens", record.openai_max_completion_tokens, 1)
    yield from check_positive("web_answer_max_age_days", record.web_answer_max_age_days)


def _check_prices(record: Environment) -> Iterator[str]:
    prices = {"web_answer_price": record.web_answer_price}
    if (model := record.openai_prices) is not None:
        prices |= {f"openai_prices.{name}": getattr(model, name) for name in ("input", "cached_input", "output")}
        prices |= {} if model.cache_write is None else {"openai_prices.cache_write": model.cache_write}
    for name, price in prices.items():
        if not 0 <= price < float("inf"):
            yield f"{name} must be a price in USD, not {price}."


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid host or port
        return False
    return has_host and parts.scheme in ("http", "https") and value.isprintable() and " " not in value


def _is_origin(value: str) -> bool:
    return _is_web_address(value) and value == value.lower() and value.count("/") == len("//")


def _to_ascii(host: str) -> str:
    """A host in lower case, with other scripts as Punycode; an empty text if it is no host."""
    name = host.rstrip(".").lower()
    try:
        return name if name.isascii() else name.encode("idna").decode()
    except UnicodeError:
        return ""
