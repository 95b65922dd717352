"""List prices in USD, on which cost estimates and tables are based. Check them before budgeting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The prices of a language model for a million tokens."""

    input: float
    cached_input: float
    output: float
    cache_write: float | None = None  # None: as input


# OpenAI, standard processing, as published on 2026-11-28 (developers.openai.com/api/docs/models/gpt-6-luna).
MODELS = {"gpt-6-luna": Model(input=0.10, cached_input=0.01, cache_write=0.125, output=0.50)}

# Perplexity's Agent API, as published on 2026-11-28 (docs.perplexity.ai: pricing, models): a search, and tokens.
WEB_MODELS = {"perplexity/sonar": Model(input=0.25, cached_input=0.0625, output=2.50)}
WEB_SEARCH_TOOL = 0.005
# One web answer of 2,000 input and 400 output tokens, used if the service does not report the price of an answer.
WEB_ANSWER = 0.0065


@dataclass(frozen=True, slots=True, kw_only=True)
class Aws:
    """us-east-1, as published on 2026-11-28; CloudWatch, SnapStart and AWS WAF compared with other pages of 2026."""

    read_million: float = 0.125  # DynamoDB read request units, on demand
    write_million: float = 0.625  # DynamoDB write request units, on demand
    api_request_million: float = 3.50  # API Gateway, REST
    invocation_million: float = 0.20  # Lambda
    gb_second: float = 0.0000133334  # Lambda on arm64
    snap_start_gb_second: float = 0.0000015046  # for each published version
    snap_start_restored_gb: float = 0.0001397998
    log_gb: float = 0.50  # CloudWatch Logs, ingestion
    trace_million: float = 5.00  # X-Ray, recorded traces
    metric_month: float = 0.30  # for each custom metric
    free_metrics: int = 10  # of an account
    alarm_month: float = 0.10  # for each metric under a standard-resolution alarm, also in an expression
    fast_alarm_month: float = 0.30  # for each metric under a high-resolution alarm: a period below a minute
    free_alarm_metrics: int = 10  # of an account, under standard-resolution alarms
    dashboard_month: float = 3.00
    free_dashboards: int = 3  # of an account, with up to 50 metrics each
    secret_month: float = 0.40
    # AWS WAF (aws.amazon.com/waf/pricing), the same in every region; a group of AWS's own rules is one rule.
    web_acl_month: float = 5.00
    web_acl_rule_month: float = 1.00
    web_acl_request_million: float = 0.60  # up to 1,500 capacity units, and 16 KB of a body
    deployment: float = 0.00  # CodeDeploy, for a Lambda function
    queue_request_million: float = 0.40  # SQS, standard queues
    free_queue_requests: int = 1_000_000  # of an account, a month
    put_thousand: float = 0.005  # S3: PUT, POST and LIST
    get_thousand: float = 0.0004  # S3: GET and HEAD
    object_gb_month: float = 0.023  # S3 Standard
    # EventBridge: events of AWS's own services that go to a target are free, such as those of S3 (its page of prices).
    s3_event_million: float = 0.00
    express_run_million: float = 1.00  # Step Functions, besides 0.00001667 for a GB-second


AWS = Aws()

# Pinecone, serverless, Standard and Enterprise plan on AWS us-east-1, as published on 2026-11-04 and 2026-10-07
# (pinecone.io/pricing) and for the model on docs.pinecone.io/models/llama-text-embed-v2.
PINECONE_READ_MILLION = 16.00  # read units
PINECONE_SEARCH_UNITS = 0.25  # for a namespace of up to 0.25 GB; 1 for each GB
PINECONE_SEARCHES = 2  # of one knowledge base search: the documents, and the stored web answers
PINECONE_WRITE_MILLION = 4.00  # write units
PINECONE_RECORD_UNITS = 5  # for the record of a stored web answer: the minimum of a request
PINECONE_EMBED_MILLION_TOKENS = 0.16  # for an integrated embedding model
PINECONE_STORAGE_GB_MONTH = 0.33


@dataclass(frozen=True, slots=True, kw_only=True)
class PineconePlan:
    """A plan: what it costs at least, and what it allows in a month and a minute. None: as much as is paid for."""

    month_usd: float
    embedding_tokens: int | None = None  # a month, for each model
    read_units: int | None = None  # a month
    write_units: int | None = None  # a month
    storage_gb: int | None = None
    passage_tokens_a_minute: int
    query_tokens_a_minute: int


# docs.pinecone.io/reference/api/database-limits/rate-limits and object-limits, pinecone.io/pricing, November 2026.
PINECONE_PLANS = {
    "Starter": PineconePlan(
        month_usd=0.0,
        embedding_tokens=5_000_000,
        read_units=1_000_000,
        write_units=2_000_000,
        storage_gb=2,
        passage_tokens_a_minute=250_000,
        query_tokens_a_minute=50_000,
    ),
    "Builder": PineconePlan(
        month_usd=20.0,
        embedding_tokens=10_000_000,
        read_units=2_000_000,
        write_units=5_000_000,
        storage_gb=10,
        passage_tokens_a_minute=250_000,
        query_tokens_a_minute=50_000,
    ),
    "Standard": PineconePlan(month_usd=50.0, passage_tokens_a_minute=1_000_000, query_tokens_a_minute=250_000),
    "Enterprise": PineconePlan(month_usd=500.0, passage_tokens_a_minute=1_000_000, query_tokens_a_minute=250_000),
}
