"""What the record of an environment holds: the values in which environments may differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from infra.alarm_bars import Alarms
from infra.callbacks import MCP_CALLBACK_URLS, is_callback
from infra.documents import Documents
from infra.front import Domain, Firewall
from infra.limits import PineconeLimits, Quota, Throttle
from infra.prices import MODELS, WEB_ANSWER, Model
from infra.record_checks import check_name, check_record

_MODEL = "gpt-6-luna"

CANARY_MINUTES = (5, 10, 15, 30)  # of CodeDeployDefault.LambdaCanary10Percent...Minutes

# API Gateway waits 29 s for a response that is not streamed. A Regional API may wait longer once the account's quota
# L-E5AE38E3 allows it ("Quotas for configuring and running a REST API" in its developer guide). The guide names no
# maximum; AWS grants up to 300 s (hashicorp/terraform-provider-aws#37859, and answers on re:Post).
_MAX_INTEGRATION_SECONDS = 300

_MAX_FUNCTION_SECONDS = 900  # of Lambda, and of a streamed response of API Gateway

_RESPONSE_SECONDS = 1.0  # from a deadline to the response; the function reserves it, too


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
class Pruning:
    """When keywords are pruned, and which."""

    every_hours: int
    flexible_minutes: int  # a run may start up to this much later
    max_age_days: float  # prune keywords unused for this long
    min_usage: int  # that were used less often than this
    hard_max_age_days: float  # prune any keyword unused for this long


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """How a new version of the query function takes over: a tenth of the requests first, then all of them.

    If it fails in the meantime, all requests go to the version before. What fails is judged in each minute by itself.
    """

    minutes: int = 5  # how long it gets a tenth of the requests; CodeDeploy has 5, 10, 15 and 30
    failures: int = 2  # minimum of answers with a status of 500 or more in a minute
    slow_seconds: float = 20.0  # one in ten invocations may take longer, in each of two minutes of three

    def __post_init__(self) -> None:
        """Raise ValueError for minutes that CodeDeploy does not have, and for bars that would always be met."""
        if self.minutes not in CANARY_MINUTES:
            raise ValueError(f"CodeDeploy has canaries of {CANARY_MINUTES} minutes, not of {self.minutes}.")
        if self.failures < 1 or self.slow_seconds <= 0:
            raise ValueError("A canary needs bars above 0: otherwise it is always rolled back.")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeBases:
    """Which knowledge base is meant where none is named, and who may use which.

    `gleaner callers allow` lists a caller with the knowledge bases that it may use.
    """

    default: str = "default_kb"
    # Callers that are not listed: they may use "all" knowledge bases, "none", or "edit" all of them.
    unlisted_callers: str = "all"

    def __post_init__(self) -> None:
        """Raise ValueError if the function would refuse these values."""
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,62}", self.default):
            raise ValueError("The default knowledge base has 1 to 63 lowercase letters, digits, - and _.")
        if self.unlisted_callers not in ("all", "none", "edit"):
            raise ValueError("unlisted_callers is all, none or edit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One deployment of Gleaner."""

    name: str
    query: Function
    prune: Function
    throttle: Throttle
    quota: Quota = field(default_factory=Quota)
    authorizer: Authorizer
    user_pool_arn: str | None = None  # an existing Cognito pool; None: one is created
    user_pool_url: str | None = None  # the origin of the existing pool's sign-in pages; for the page
    admin_callers: tuple[str, ...] = ()  # besides the admin API key and the admin group of a Cognito pool
    knowledge_bases: KnowledgeBases = KnowledgeBases()
    documents: Documents | None = field(
        default_factory=Documents
    )  # None: no bucket; documents are loaded with `gleaner ingest` alone
    chat_page: bool = False  # whether a page on which people ask is served at /
    page_urls: tuple[str, ...] = ()  # where it is opened besides the API's own URL; each ends with a slash
    # The address that clients use, without a final slash; None: that of the domain, or the API's own. For an API behind
    # a domain or a CDN that this environment does not know.
    public_url: str | None = None
    domain: Domain | None = None  # None: the API has its own address only
    firewall: Firewall | None = None  # None: no AWS WAF
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
    canary: Canary | None = None  # None: a new version of the query function gets all requests at once
    query_deadline_seconds: float = 25.0  # for questions whose answers do not stream
    integration_timeout_seconds: int = 29  # how long API Gateway waits for these; above 29 it needs a quota (docs/09)
    stream_deadline_seconds: float = 60.0  # for questions whose answers stream
    web_answer_max_age_days: int = 30
    pinecone_index_host: str | None = None  # None: given at the first deployment
    pinecone_limits: PineconeLimits = field(default_factory=PineconeLimits)
    openai_model: str = _MODEL
    openai_prices: Model | None = MODELS[_MODEL]  # prices of openai_model; None: no cost estimates
    openai_max_completion_tokens: int = 4096  # that one call of the model may write
    openai_base_url: str | None = None  # None: OpenAI's own
    openai_api: str | None = None  # "responses" or "chat"; None: whichever the service speaks
    openai_reasoning_effort: str | None = None  # None: the function's default
    perplexity_model: str = "perplexity/sonar"
    web_answer_price: float = WEB_ANSWER  # USD, if Perplexity does not report it
    perplexity_base_url: str | None = None  # None: Perplexity's own

    def __post_init__(self) -> None:
        """Raise ValueError for what could not work, for what AWS would refuse, and if nobody could sign in."""
        self._refuse(check_name(self.name))
        self._check_quota()
        if (objection := self.pinecone_limits.check(self.throttle)) is not None:
            raise ValueError(f"{self.name}: {objection}")
        self._check_deadlines()
        if self.chat_page:
            self._check_page()
        if self.alarms.spending is not None and self.openai_prices is None:
            raise ValueError(f"{self.name}: without openai_prices no cost is estimated. Set spending=None, or prices.")
        if self.public_url is not None and not re.fullmatch(r"https://[^?#]*[^?#/]", self.public_url):
            raise ValueError(f"{self.name}: public_url must begin with https:// and not end with a slash.")
        for url in self.mcp_callback_urls:
            if not is_callback(url):
                raise ValueError(f"{self.name}: Cognito does not allow {url} in mcp_callback_urls.")
        self._refuse(check_record(self))

    @property
    def address(self) -> str | None:
        """The address of the API that this record gives, without a final slash; None if it gives none."""
        return self.public_url or (self.domain.url if self.domain else None)

    @property
    def closes_default_endpoint(self) -> bool:
        """Whether the API answers at its domain only."""
        return self.domain is not None and self.domain.closes_default_endpoint

    @property
    def signs_in_to_mcp(self) -> bool:
        """Whether users sign in through their MCP clients; their pool needs sign-in pages, which a created one has."""
        has_pages = self.user_pool_arn is None or self.user_pool_url is not None
        return self.authorizer is Authorizer.COGNITO and has_pages and bool(self.mcp_callback_urls)

    def _refuse(self, objections: Iterator[str]) -> None:
        for objection in objections:
            raise ValueError(f"{self.name}: {objection}")

    def _check_deadlines(self) -> None:
        """Whoever waits must wait longer than the one it waits for, so that callers get the error that says most."""
        function, gateway = self.query.timeout_seconds, self.integration_timeout_seconds
        if not 1 <= gateway <= _MAX_INTEGRATION_SECONDS:
            raise ValueError(f"{self.name}: integration_timeout_seconds must be 1 to {_MAX_INTEGRATION_SECONDS}.")
        if not gateway <= function <= _MAX_FUNCTION_SECONDS:
            limits = f"{gateway} (integration_timeout_seconds) to {_MAX_FUNCTION_SECONDS}"
            raise ValueError(f"{self.name}: query.timeout_seconds must be {limits}.")
        for deadline, limit, waiting in (
            ("query_deadline_seconds", gateway, "integration_timeout_seconds"),
            ("stream_deadline_seconds", function, "query.timeout_seconds"),
        ):
            if not 0 < getattr(self, deadline) <= limit - _RESPONSE_SECONDS:
                raise ValueError(f"{self.name}: {deadline} must be above 0, and {waiting} a second longer at least.")

    def _check_quota(self) -> None:
        of_keys, questions = self.throttle.quota_per_day, self.quota.questions_per_day
        if of_keys is not None and self.authorizer is not Authorizer.API_KEY:
            raise ValueError(f"{self.name}: Throttle.quota_per_day limits API keys, which callers lack. Set a Quota.")
        if of_keys is not None and not of_keys > (questions or 0):
            raise ValueError(f"{self.name}: Throttle.quota_per_day must be above questions_per_day of the Quota.")
        if self.quota.limits_usd and self.openai_prices is None:
            raise ValueError(f"{self.name}: a quota of USD needs openai_prices, by which they are counted.")
        spending = self.alarms.spending
        if spending is not None and (objection := spending.check(self.quota)) is not None:
            raise ValueError(f"{self.name}: {objection}")

    def _check_page(self) -> None:
        if self.authorizer is Authorizer.IAM:
            raise ValueError(f"{self.name}: the page cannot sign requests with AWS credentials. Set chat_page=False.")
        if (self.user_pool_arn is None) != (self.user_pool_url is None):
            raise ValueError(f"{self.name}: the page needs both user_pool_arn and user_pool_url of an existing pool.")
        for url in self.page_urls:
            if not re.fullmatch(r"(https://|http://localhost\b)[^?#]*/", url):
                raise ValueError(f"{self.name}: {url} in page_urls must begin with https:// and end with a slash.")
