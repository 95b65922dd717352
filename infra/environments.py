"""The environments: one typed record of values each. What differs between them differs here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from infra.prices import MODELS, WEB_ANSWER, Model


class Authorizer(Enum):
    """Who establishes the caller before a request reaches the query function."""

    API_KEY = "api_key"
    COGNITO = "cognito"
    IAM = "iam"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """Size and limits of a function."""

    memory_mb: int
    timeout_seconds: int
    reserved_concurrency: int | None = None  # None: shares what the account has
    snap_start: bool = False  # versions start from a snapshot, which is kept at a price (docs/11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Requests that the API lets through."""

    rate_per_second: float
    burst: int
    quota_per_day: int  # of one API key


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """When keywords are pruned, and which."""

    every_hours: int
    flexible_minutes: int  # the run may begin this much later
    max_age_days: float  # not used for so long,
    min_usage: int  # and used less often than this
    hard_max_age_days: float  # or not used for so long, however often before


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """Where the alarms ring, and to whom."""

    email: str | None  # None: alarms show on the dashboard only
    server_errors_percent: float  # of requests, in five minutes
    latency_p95_seconds: float  # SC-005
    answer_first_attempt_percent: float  # SC-002
    helped_by_keywords_percent: float  # SC-006
    retries_recovered_percent: float  # SC-007


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One deployment of Gleaner."""

    name: str
    query: Function
    prune: Function
    throttle: Throttle
    authorizer: Authorizer
    user_pool_arn: str | None = None  # of a Cognito pool that exists; None: one is created
    admin_callers: tuple[str, ...] = ()  # beside the admin API key and the admin group of a Cognito pool
    knowledge_base_access: Mapping[str, Sequence[str]] = field(default_factory=dict)  # callers not named use all
    docs_routes: bool  # whether /openapi.json and /swagger are served
    cors_origins: tuple[str, ...] = ()
    keep_data: bool  # tables, secret and user pool outlive their stack, and tables cannot be deleted by mistake
    log_retention_days: int
    pruning: Pruning
    alarms: Alarms
    query_deadline_seconds: float = 25.0
    web_answer_max_age_days: int = 30
    pinecone_index_host: str | None = None  # None: a parameter of the first deployment
    openai_model: str = "gpt-5.4-mini"
    openai_prices: Model | None = MODELS["gpt-5.4-mini"]  # of that model; None: costs are not estimated
    openai_base_url: str | None = None  # None: OpenAI's own
    perplexity_model: str = "perplexity/sonar"
    web_answer_price: float = WEB_ANSWER  # USD, when Perplexity does not state it
    perplexity_base_url: str | None = None  # None: Perplexity's own


_ALARMS = Alarms(
    email=None,
    server_errors_percent=5,
    latency_p95_seconds=10,
    answer_first_attempt_percent=95,
    helped_by_keywords_percent=20,
    retries_recovered_percent=80,
)
_PRUNING = Pruning(every_hours=24, flexible_minutes=60, max_age_days=90, min_usage=3, hard_max_age_days=365)
_PRUNE_FUNCTION = Function(memory_mb=256, timeout_seconds=300, reserved_concurrency=None)

DEV = Environment(
    name="dev",
    query=Function(memory_mb=512, timeout_seconds=29, snap_start=True),
    prune=_PRUNE_FUNCTION,
    throttle=Throttle(rate_per_second=5, burst=10, quota_per_day=1_000),
    authorizer=Authorizer.API_KEY,
    docs_routes=True,
    cors_origins=("http://localhost:3000",),
    keep_data=False,
    log_retention_days=7,
    pruning=_PRUNING,
    alarms=_ALARMS,
)
STAGING = Environment(
    name="staging",
    query=Function(memory_mb=1024, timeout_seconds=29, snap_start=True),
    prune=_PRUNE_FUNCTION,
    throttle=Throttle(rate_per_second=20, burst=40, quota_per_day=10_000),
    authorizer=Authorizer.COGNITO,
    docs_routes=False,
    keep_data=False,
    log_retention_days=30,
    pruning=_PRUNING,
    alarms=_ALARMS,
)
PROD = Environment(
    name="prod",
    query=Function(memory_mb=1024, timeout_seconds=29, reserved_concurrency=100, snap_start=True),
    prune=Function(memory_mb=256, timeout_seconds=900, reserved_concurrency=1),
    throttle=Throttle(rate_per_second=50, burst=100, quota_per_day=100_000),
    authorizer=Authorizer.COGNITO,
    docs_routes=False,
    keep_data=True,
    log_retention_days=365,
    pruning=_PRUNING,
    alarms=_ALARMS,
)

ENVIRONMENTS = (DEV, STAGING, PROD)
