"""What the record of an environment holds: the values in which environments may differ."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from infra.callbacks import MCP_CALLBACK_URLS, is_callback
from infra.prices import MODELS, WEB_ANSWER, Model

_MODEL = "gpt-6-luna"


class Authorizer(Enum):
    """How a caller is authenticated before a request reaches the query function."""

    API_KEY = "api_key"
    COGNITO = "cognito"
    IAM = "iam"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """Size and limits of a function."""

    memory_mb: int
    timeout_seconds: int
    # None: the function shares the account's concurrency. A number is reserved from the account's limit, of which
    # Lambda keeps 100 for other functions. New accounts have 10: raise it first, or the deployment fails (docs/09).
    reserved_concurrency: int | None = None
    snap_start: bool = False  # versions start from a snapshot, whose storage is billed (docs/11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttle:
    """The request rates that the API allows."""

    rate_per_second: float
    burst: int
    quota_per_day: int  # for each API key
    open_rate_per_second: int = 5  # for each route that needs no credentials
    page_rate_per_second: int = 50  # for the files of the page, of which a first visit needs about 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """When keywords are pruned, and which."""

    every_hours: int
    flexible_minutes: int  # a run may start up to this much later
    max_age_days: float  # prune keywords unused for this long
    min_usage: int  # that were used less often than this
    hard_max_age_days: float  # prune any keyword unused for this long


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The share of questions that must meet a criterion, and the periods over which it is evaluated.

    A period with too few questions is not evaluated, because their share would mean little. CloudWatch requires whole
    hours for periods of more than an hour, and evaluates at most seven days of them, or one day of shorter periods.
    """

    percent: float  # at least
    minutes: int  # length of a period
    questions: int = 1  # minimum in a period
    periods: int = 1  # the number of recent periods to evaluate
    misses: int = 1  # periods below the bar before the alarm fires


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureBar:
    """The share of requests that may fail, and the period over which it is evaluated.

    The minimum of failures lets the alarm of a little-used service fire when it is down, but not for one failure.
    """

    percent: float  # at most
    failures: int  # minimum in a period
    minutes: int  # length of a period


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendingBar:
    """What the answers may cost: the model and the web search, estimated at the prices of the record.

    The alarm of the hour fires soon when something asks much at once, that of the day when it goes on. Both look at the
    last hour or day up to now.
    """

    usd_per_day: float
    usd_per_hour: float

    def __post_init__(self) -> None:
        """Raise ValueError if one of the alarms could never fire before the other, or would always fire."""
        if not 0 < self.usd_per_hour <= self.usd_per_day <= 24 * self.usd_per_hour:
            raise ValueError("usd_per_day must be between usd_per_hour and 24 times that, and both above 0.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarms:
    """When alarms fire and whom they notify. docs/09 says what each criterion measures."""

    email: str | None  # None: alarms show on the dashboard only
    server_errors: FailureBar
    knowledge_base_searched: Bar  # SC-001
    answered_on_first_attempt: Bar  # SC-002
    keywords_after_web: Bar  # SC-003
    fast_answers: Bar  # SC-005: the share of answers in time
    fast_answer_seconds: float  # SC-005: the time limit
    helped_by_keywords: Bar  # SC-006
    retries_recovered: Bar  # SC-007
    spending: SpendingBar | None = None  # None: what answers cost raises no alarm


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One deployment of Gleaner."""

    name: str
    query: Function
    prune: Function
    throttle: Throttle
    authorizer: Authorizer
    user_pool_arn: str | None = None  # an existing Cognito pool; None: one is created
    user_pool_url: str | None = None  # the origin of the existing pool's sign-in pages; for the page
    admin_callers: tuple[str, ...] = ()  # besides the admin API key and the admin group of a Cognito pool
    knowledge_base_access: Mapping[str, Sequence[str]] = field(default_factory=dict)  # unlisted callers use all
    chat_page: bool = False  # whether a page on which people ask is served at /
    page_urls: tuple[str, ...] = ()  # where it is opened besides the API's own URL; each ends with a slash
    public_url: str | None = None  # the API behind a custom domain, without a final slash; for MCP clients
    # Where MCP clients receive the sign-in of a user of the pool; none: `/mcp` takes ID tokens, as the other routes do.
    mcp_callback_urls: tuple[str, ...] = MCP_CALLBACK_URLS
    docs_routes: bool  # whether /openapi.json and /swagger are served
    cors_origins: tuple[str, ...] = ()
    web_blocked_hosts: tuple[str, ...] = ()  # whose pages web answers neither cite nor teach
    learning: str = "shared"  # who finds what a question learned from the web: "shared", "caller" or "off"
    learning_by_kb: Mapping[str, str] = field(default_factory=dict)  # knowledge bases with another mode
    learning_forget_with_session: bool = False  # delete shared answers, too, with the session that taught them
    keep_data: bool  # tables, secret, API keys, users and logs outlive their stacks, which are protected
    log_retention_days: int
    pruning: Pruning
    alarms: Alarms
    query_deadline_seconds: float = 25.0
    stream_deadline_seconds: float = 60.0  # for questions whose answers stream
    web_answer_max_age_days: int = 30
    pinecone_index_host: str | None = None  # None: given at the first deployment
    openai_model: str = _MODEL
    openai_prices: Model | None = MODELS[_MODEL]  # prices of openai_model; None: no cost estimates
    openai_base_url: str | None = None  # None: OpenAI's own
    openai_api: str | None = None  # "responses" or "chat"; None: whichever the service speaks
    openai_reasoning_effort: str | None = None  # None: the function's default
    perplexity_model: str = "perplexity/sonar"
    web_answer_price: float = WEB_ANSWER  # USD, if Perplexity does not report it
    perplexity_base_url: str | None = None  # None: Perplexity's own

    def __post_init__(self) -> None:
        """Raise ValueError if nobody could sign in on the page or in an MCP client, or an alarm could never fire."""
        if self.chat_page:
            self._check_page()
        if self.alarms.spending is not None and self.openai_prices is None:
            raise ValueError(f"{self.name}: without openai_prices no cost is estimated. Set spending=None, or prices.")
        if self.public_url is not None and not re.fullmatch(r"https://[^?#]*[^?#/]", self.public_url):
            raise ValueError(f"{self.name}: public_url must begin with https:// and not end with a slash.")
        for url in self.mcp_callback_urls:
            if not is_callback(url):
                raise ValueError(f"{self.name}: Cognito does not allow {url} in mcp_callback_urls.")

    @property
    def signs_in_to_mcp(self) -> bool:
        """Whether users sign in through their MCP clients; their pool needs sign-in pages, which a created one has."""
        has_pages = self.user_pool_arn is None or self.user_pool_url is not None
        return self.authorizer is Authorizer.COGNITO and has_pages and bool(self.mcp_callback_urls)

    def _check_page(self) -> None:
        if self.authorizer is Authorizer.IAM:
            raise ValueError(f"{self.name}: the page cannot sign requests with AWS credentials. Set chat_page=False.")
        if (self.user_pool_arn is None) != (self.user_pool_url is None):
            raise ValueError(f"{self.name}: the page needs both user_pool_arn and user_pool_url of an existing pool.")
        for url in self.page_urls:
            if not re.fullmatch(r"(https://|http://localhost\b)[^?#]*/", url):
                raise ValueError(f"{self.name}: {url} in page_urls must begin with https:// and end with a slash.")
