"""The environments: one typed record of values each. What differs between them differs here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from infra.prices import MODELS, WEB_ANSWER, Model

_MODEL = "gpt-5.4-mini"


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
    # None: shares what the account has. A number is taken from the account's limit, of which Lambda keeps 100 for
    # functions without one, and which is 10 in new accounts: raise it first, or the deployment fails (docs/09).
    reserved_concurrency: int | None = None
    snap_start: bool = False  # versions start from a snapshot, which is kept at a price (docs/11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """Requests that the API lets through."""

    rate_per_second: float
    burst: int
    quota_per_day: int  # of one API key
    open_rate_per_second: int = 5  # of each route that wants no credentials


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """When keywords are pruned, and which."""

    every_hours: int
    flexible_minutes: int  # the run may begin this much later
    max_age_days: float  # not used for so long,
    min_usage: int  # and used less often than this
    hard_max_age_days: float  # or not used for so long, however often before


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The share of questions that must meet a criterion, and over what it is judged.

    A period with fewer questions of the criterion is not judged, since a share of a few says nothing. CloudWatch takes
    periods of more than an hour in whole hours, seven days of them at most, and one day of shorter ones.
    """

    percent: float  # at least
    minutes: int  # of a period
    questions: int = 1  # that a period must have
    periods: int = 1  # of so many, the last ones,
    misses: int = 1  # so many must be below the bar


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBar:
    """The share of requests that may fail, and over what it is judged: a period of fewer failures is not.

    So a service that nobody uses much rings as well when it is down, and one failure among few requests does not.
    """

    percent: float  # at most
    failures: int  # that a period must have
    minutes: int  # of a period


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """When the alarms ring, and to whom. docs/09 says what each criterion measures."""

    email: str | None  # None: alarms show on the dashboard only
    server_errors: FailureBar
    knowledge_base_searched: Bar  # SC-001
    answered_on_first_attempt: Bar  # SC-002
    keywords_after_web: Bar  # SC-003
    fast_answers: Bar  # SC-005: the share of questions that take
    fast_answer_seconds: float  # at most so long
    helped_by_keywords: Bar  # SC-006
    retries_recovered: Bar  # SC-007


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
    keep_data: bool  # tables, secret, API keys, users and logs outlive their stacks, which are protected
    log_retention_days: int
    pruning: Pruning
    alarms: Alarms
    query_deadline_seconds: float = 25.0
    web_answer_max_age_days: int = 30
    pinecone_index_host: str | None = None  # None: a parameter of the first deployment
    openai_model: str = _MODEL
    openai_prices: Model | None = MODELS[_MODEL]  # of that model; None: costs are not estimated
    openai_base_url: str | None = None  # None: OpenAI's own
    perplexity_model: str = "perplexity/sonar"
    web_answer_price: float = WEB_ANSWER  # USD, when Perplexity does not state it
    perplexity_base_url: str | None = None  # None: Perplexity's own


_HOUR, _DAY = 60, 24 * 60  # minutes
_ALARMS = Alarms(
    email=None,
    # An hour brings a few questions to a service that is little used; where there are many and all of them fail, 5 % of
    # the last hour is reached in three minutes.
    server_errors=FailureBar(percent=5, failures=2, minutes=_HOUR),
    # What must always happen is judged soon: one miss is below this bar, however many questions there are.
    knowledge_base_searched=Bar(percent=100, minutes=5),
    keywords_after_web=Bar(percent=100, minutes=5),
    # One miss among 20 keeps 95 %. A service that keeps 98 % is below it in one hour of 20 questions of 17, and seldom
    # in two of three.
    answered_on_first_attempt=Bar(percent=95, minutes=_HOUR, questions=20, periods=3, misses=2),
    fast_answers=Bar(percent=95, minutes=_HOUR, questions=20, periods=3, misses=2),
    fast_answer_seconds=10,
    # Few questions need a retry, or more than the knowledge base holds: a day brings a sample.
    retries_recovered=Bar(percent=80, minutes=_DAY, questions=20),
    helped_by_keywords=Bar(percent=20, minutes=_DAY, questions=50, periods=3, misses=2),
)
_PRUNING = Pruning(every_hours=24, flexible_minutes=60, max_age_days=90, min_usage=3, hard_max_age_days=365)
_PRUNE_FUNCTION = Function(memory_mb=256, timeout_seconds=300)

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
    query=Function(memory_mb=1024, timeout_seconds=29, snap_start=True),
    prune=Function(memory_mb=256, timeout_seconds=900),
    throttle=Throttle(rate_per_second=50, burst=100, quota_per_day=100_000),
    authorizer=Authorizer.COGNITO,
    docs_routes=False,
    keep_data=True,
    log_retention_days=365,
    pruning=_PRUNING,
    alarms=_ALARMS,
)

ENVIRONMENTS = (DEV, STAGING, PROD)
