"""The environments, one typed record each. Environments differ in these values only."""

from __future__ import annotations

from dataclasses import replace

from infra.alarm_bars import Alarms, Bar, FailureBar, SpendingBar
from infra.documents import Documents
from infra.environment import Authorizer, Canary, Environment, Function, Pruning
from infra.front import Firewall
from infra.limits import Quota, Throttle
from infra.pipeline import Pipeline

_HOUR, _DAY = 60, 24 * 60  # minutes
_ALARMS = Alarms(
    email=None,
    # Even a little-used service gets a few questions in an hour. On a busy one where all of them fail, 5 % of the last
    # hour is reached in three minutes.
    server_errors=FailureBar(percent=5, failures=2, minutes=_HOUR),
    # These must always happen: one miss breaches the bar, however many questions there are.
    knowledge_base_searched=Bar(percent=100, minutes=5),
    keywords_after_web=Bar(percent=100, minutes=5),
    # One miss in 20 still meets 95 %. A service that meets 98 % falls below it in one of 17 hours with 20 questions,
    # and rarely in two of three.
    answered_on_first_attempt=Bar(percent=95, minutes=_HOUR, questions=20, periods=3, misses=2),
    fast_answers=Bar(percent=95, minutes=_HOUR, questions=20, periods=3, misses=2),
    fast_answer_seconds=10,
    # Few questions need a retry or more than the knowledge base holds, so a sample takes a day.
    retries_recovered=Bar(percent=80, minutes=_DAY, questions=20),
    helped_by_keywords=Bar(percent=20, minutes=_DAY, questions=50, periods=3, misses=2),
)
_PRUNING = Pruning(every_hours=24, flexible_minutes=60, max_age_days=90, min_usage=3, hard_max_age_days=365)
# A streamed answer may take so long. Other answers end with query_deadline_seconds, before API Gateway's 29 seconds.
_QUERY_SECONDS = 180
_PRUNE_FUNCTION = Function(memory_mb=256, timeout_seconds=300)

DEV = Environment(
    name="dev",
    query=Function(memory_mb=512, timeout_seconds=_QUERY_SECONDS, snap_start=True),
    prune=_PRUNE_FUNCTION,
    throttle=Throttle(rate_per_second=5, burst=10, quota_per_day=10_000),
    quota=Quota(questions_per_day=500, usd_per_day=3, environment_questions_per_day=1_000, environment_usd_per_day=5),
    authorizer=Authorizer.API_KEY,
    chat_page=True,
    docs_routes=True,
    cors_origins=("http://localhost:3000",),
    keep_data=False,
    log_retention_days=7,
    pruning=_PRUNING,
    # Half of the quota of a day, so that somebody can act before all questions are refused. A question costs 0.0006
    # USD, or 0.0075 with a web search (docs/11).
    alarms=replace(_ALARMS, spending=SpendingBar(usd_per_day=2.5, usd_per_hour=1)),
)
STAGING = Environment(
    name="staging",
    query=Function(memory_mb=1024, timeout_seconds=_QUERY_SECONDS, snap_start=True),
    prune=_PRUNE_FUNCTION,
    throttle=Throttle(rate_per_second=20, burst=40),
    quota=Quota(questions_per_day=500, usd_per_day=3, environment_questions_per_day=5_000, environment_usd_per_day=25),
    authorizer=Authorizer.COGNITO,
    canary=Canary(),
    docs_routes=False,
    keep_data=False,
    log_retention_days=30,
    pruning=_PRUNING,
    alarms=replace(_ALARMS, spending=SpendingBar(usd_per_day=12.5, usd_per_hour=4)),
)
PROD = Environment(
    name="prod",
    query=Function(memory_mb=1024, timeout_seconds=_QUERY_SECONDS, snap_start=True),
    prune=Function(memory_mb=256, timeout_seconds=900),
    throttle=Throttle(rate_per_second=33, burst=66),  # what a namespace of Pinecone's takes
    quota=Quota(
        questions_per_day=300, usd_per_day=2, environment_questions_per_day=20_000, environment_usd_per_day=100
    ),
    firewall=Firewall(),
    documents=Documents(max_concurrency=5),  # as Standard embeds; half of what a new account runs
    authorizer=Authorizer.COGNITO,
    canary=Canary(),
    docs_routes=False,
    keep_data=True,
    log_retention_days=365,
    pruning=_PRUNING,
    alarms=replace(_ALARMS, spending=SpendingBar(usd_per_day=50, usd_per_hour=10)),
)

ENVIRONMENTS = (DEV, STAGING, PROD)

# The repository whose workflows may deploy, as `Pipeline(owner="octocat", owner_id=583231, repository="gleaner",
# repository_id=1296269)`. None: nobody but you. docs/09 has the steps.
PIPELINE: Pipeline | None = None
