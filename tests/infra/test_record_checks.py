"""Records that AWS or the functions would refuse are refused before anything is deployed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import App
from hypothesis import example, given
from hypothesis import strategies as st

from gleaner.errors import ConfigurationError
from gleaner.runtime.settings import Settings
from infra.environment import Authorizer, Environment
from infra.environments import DEV, PROD
from infra.front import Domain
from infra.pipeline import Pipeline
from infra.pipeline_stacks import PipelineStage
from infra.prices import Model

POOL = "arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_aBc123"
MANY_URLS = tuple(f"https://ask.example.org/{number}/" for number in range(101))


@pytest.mark.parametrize("name", ["a", "production", "team-7-eu", "a" * 16])
def test_names_of_environments(name: str) -> None:
    assert replace(DEV, name=name).name == name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "letters, digits and single hyphens") for name in ("", "Dev", "1st", "my_env", "a b", "a-", "a--b")),
        ("a" * 17, "1 to 16"),  # CloudFormation keeps 25 characters of the name of a stack in that of a function
        ("pipeline", "Choose another"),  # gleaner-pipeline-<environment>
        ("pipeline-eu", "Choose another"),
        ("provider", "Choose another"),  # gleaner-pipeline-provider
        *((name, "Cognito") for name in ("aws", "my-aws", "laws", "amazon", "cognito")),  # in the prefix of a domain
    ],
)
def test_names_that_aws_or_the_pipeline_would_refuse(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"\A{re.escape(name)}: .*{reason}"):
        replace(DEV, name=name)


def test_an_environment_that_the_role_of_another_one_would_include_is_refused() -> None:
    pipeline = Pipeline(owner="octocat", owner_id=583231, repository="gleaner", repository_id=1296269)
    with pytest.raises(ValueError, match=r"\Adev-eu: .*role for dev "):
        PipelineStage(App(), pipeline, ["dev-eu", "dev"])


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        # UserPoolIdType and ArnType in Cognito's API reference.
        ({"user_pool_arn": "eu-central-1_aBc123"}, "user_pool_arn"),
        ({"user_pool_arn": POOL.replace("userpool/", "identitypool/")}, "user_pool_arn"),
        ({"user_pool_arn": POOL.replace("userpool/eu-central-1", "userpool/us-east-1")}, "user_pool_arn"),
        ({"user_pool_url": "https://login.example.org"}, "user_pool_arn"),
        # The function compares addresses as texts, and writes this one into a Content-Security-Policy.
        ({"user_pool_arn": POOL, "user_pool_url": "https://login.example.org/"}, "user_pool_url"),
        ({"user_pool_arn": POOL, "user_pool_url": "login.example.org"}, "user_pool_url"),
        # CallbackURLsListType: 100 of RedirectUrlType: 1,024 characters.
        ({"mcp_callback_urls": MANY_URLS}, "mcp_callback_urls has 101 .* takes 100"),
        ({"page_urls": MANY_URLS[:100]}, "page_urls has 100 .* takes 99"),  # the API's own address is one, too
        ({"mcp_callback_urls": ("https://ask.example.org/" + "a" * 1001,)}, "1024"),
        ({"page_urls": ("https://ask.example.org/ a/",)}, "page_urls"),
        # Identifier of a resource server, which is the address and /mcp; the function takes no spaces in a URL.
        ({"public_url": "https://ask.example.org/" + "a" * 229}, "up to 252"),
        ({"public_url": "https://ask.example.org/a b"}, "public_url"),
        ({"public_url": "https://:8443"}, "public_url"),
        # What infra/retention.py knows of PutRetentionPolicy's values.
        ({"log_retention_days": 42}, "log_retention_days"),
        # The canary's alarm on invocations that take so long: Lambda ends them at the timeout.
        ({"canary": replace(PROD.canary, slow_seconds=180.0)}, "canary.slow_seconds"),
        ({"openai_prices": Model(input=-1, cached_input=0, output=1)}, "openai_prices.input"),
        ({"openai_prices": Model(input=1, cached_input=0, output=1, cache_write=float("inf"))}, "cache_write"),
        ({"pinecone_index_host": "index.svc.pinecone.io"}, "pinecone_index_host"),  # of the stack's parameter
        ({"pinecone_index_host": "https://index.svc.pinecone.io/x"}, "pinecone_index_host"),
    ],
)
def test_values_that_aws_would_refuse(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=f"prod: .*{named}"):
        replace(PROD, **changes)


@pytest.mark.parametrize(
    ("part", "changes", "named"),
    [
        # "Lambda quotas" in its developer guide.
        ("query", {"memory_mb": 127}, "query.memory_mb .*128 to 10,240"),
        ("prune", {"memory_mb": 10_241}, "prune.memory_mb"),
        ("prune", {"timeout_seconds": 0}, "prune.timeout_seconds .*1 to 900"),
        ("prune", {"timeout_seconds": 901}, "prune.timeout_seconds"),
        ("prune", {"timeout_seconds": 1.5}, "prune.timeout_seconds"),
        ("query", {"reserved_concurrency": 0}, "query.reserved_concurrency"),
        # EventBridge Scheduler's API reference: FlexibleTimeWindow, and rate expressions.
        ("pruning", {"flexible_minutes": 0}, "flexible_minutes .*1 to 1,440"),
        ("pruning", {"flexible_minutes": 1441}, "flexible_minutes"),
        ("pruning", {"every_hours": 0}, "every_hours"),
        # gleaner.pruning.settings.
        ("pruning", {"min_usage": 0}, "min_usage"),
        ("pruning", {"max_age_days": 0}, "pruning.max_age_days"),
        ("pruning", {"hard_max_age_days": float("nan")}, "hard_max_age_days"),
        # API Gateway refuses every request at a rate or burst of 0.
        ("throttle", {"rate_per_second": 0}, "rate_per_second"),
        ("throttle", {"burst": 0}, "burst"),
        ("throttle", {"open_rate_per_second": 0}, "open_rate_per_second"),
        ("throttle", {"page_rate_per_second": 0.5}, "page_rate_per_second"),
        ("alarms", {"fast_answer_seconds": 0}, "fast_answer_seconds"),
        ("alarms", {"email": "on-call"}, "alarms.email"),
    ],
)
def test_parts_that_aws_would_refuse(part: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"\Aprod: .*{named}"):
        replace(PROD, **{part: replace(getattr(PROD, part), **changes)})


# "PutMetricAlarm" in CloudWatch's API reference: Period, EvaluationPeriods and DatapointsToAlarm.
@pytest.mark.parametrize(
    ("bar", "changes", "named"),
    [
        ("fast_answers", {"misses": 4, "periods": 3}, r"fast_answers\.misses .*1 to 3"),
        ("fast_answers", {"misses": 0}, r"fast_answers\.misses"),
        ("fast_answers", {"periods": 0}, r"fast_answers\.periods"),
        ("fast_answers", {"minutes": 0}, r"fast_answers\.minutes"),
        ("fast_answers", {"minutes": 90}, "whole hours"),
        ("fast_answers", {"minutes": 60, "periods": 169}, "seven days"),
        ("fast_answers", {"minutes": 5, "periods": 289}, "one day"),
        ("fast_answers", {"questions": 0}, r"fast_answers\.questions"),
        ("fast_answers", {"percent": 101}, r"fast_answers\.percent"),
        ("server_errors", {"minutes": 90}, "server_errors.*whole hours"),
        ("server_errors", {"minutes": 8 * 24 * 60}, "server_errors.*seven days"),
        ("server_errors", {"failures": 0}, r"server_errors\.failures"),
        ("server_errors", {"percent": 100}, r"server_errors\.percent"),
    ],
)
def test_bars_that_cloudwatch_would_refuse(bar: str, changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=rf"\Aprod: .*{named}"):
        _with_bar(bar, changes)


@pytest.mark.parametrize("changes", [{"minutes": 60, "periods": 168}, {"minutes": 5, "periods": 288}, {"minutes": 120}])
def test_the_longest_bars_are_accepted(changes: dict[str, Any]) -> None:
    _with_bar("fast_answers", changes)


def _with_bar(bar: str, changes: dict[str, Any]) -> Environment:
    return replace(PROD, alarms=replace(PROD.alarms, **{bar: replace(getattr(PROD.alarms, bar), **changes)}))


REQUIRED = dict.fromkeys(
    (
        "KEYWORDS_TABLE",
        "CONVERSATIONS_TABLE",
        "TOOL_CALLS_TABLE",
        "IDEMPOTENCY_TABLE",
        "ACCESS_TABLE",
        "USAGE_TABLE",
        "DOCUMENTS_TABLE",
    ),
    "table",
) | {"API_KEYS_SECRET_ARN": "arn", "PINECONE_INDEX_HOST": "index.example.org"}
# Texts near those that the function takes, without spaces: it splits lists at them.
_PIECES = ("https://", "http://", "a", "Z", ".", "-", "_", ":", "8", "/", "*", "key", "iam", "cognito", ",", "ü", "=")
_TEXTS = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
_FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "cors_origins": ("CORS_ORIGINS", lambda text: (text,)),
    "admin_callers": ("ADMIN_CALLERS", lambda text: (text,)),
    "web_blocked_hosts": ("WEB_BLOCKED_HOSTS", lambda text: (text,)),
    "openai_base_url": ("OPENAI_BASE_URL", str),
    "perplexity_base_url": ("PERPLEXITY_BASE_URL", str),
    "openai_api": ("OPENAI_API", str),
    "openai_reasoning_effort": ("OPENAI_REASONING_EFFORT", str),
    "learning": ("LEARNING", str),
}


@given(field=st.sampled_from(sorted(_FIELDS)), text=_TEXTS)
@example(field="cors_origins", text="https://app.example.org")
@example(field="cors_origins", text="https://app.example.org/")
@example(field="admin_callers", text="cognito:0f")
@example(field="web_blocked_hosts", text="bücher.example")
@example(field="openai_api", text="chat")
@example(field="openai_api", text="completions")
@example(field="openai_reasoning_effort", text="xhigh")
@example(field="openai_reasoning_effort", text="extreme")
@example(field="learning", text="caller")
@example(field="learning", text="of")
def test_records_hold_what_the_function_takes(field: str, text: str) -> None:
    variable, wrap = _FIELDS[field]
    assert _is_record({field: wrap(text)}) is _is_taken({variable: text})


@given(kb_id=_TEXTS | st.just("handbook"), mode=st.sampled_from(["shared", "caller", "off", "on", ""]))
def test_learning_modes_of_knowledge_bases_are_those_that_the_function_takes(kb_id: str, mode: str) -> None:
    assert _is_record({"learning_by_kb": {kb_id: mode}}) is _is_taken({"LEARNING_BY_KB": f"{kb_id}={mode}"})


@pytest.mark.parametrize("field", ["cors_origins", "admin_callers", "web_blocked_hosts"])
@pytest.mark.parametrize("text", ["", "key:a key:b", " "])
def test_entries_that_the_function_would_read_as_none_or_as_several_are_refused(field: str, text: str) -> None:
    assert not _is_record({field: (text,)})


@pytest.mark.parametrize("changes", [{"openai_max_completion_tokens": 0}, {"web_answer_max_age_days": 0}])
def test_numbers_that_the_function_would_refuse(changes: dict[str, Any]) -> None:
    assert not _is_record(changes)
    assert not _is_taken({name.upper(): str(value) for name, value in changes.items()})


def _is_record(changes: dict[str, Any]) -> bool:
    try:
        replace(DEV, **changes)
    except ValueError as error:
        assert str(error).startswith("dev: ")
        return False
    return True


def _is_taken(variables: dict[str, str]) -> bool:
    try:
        Settings.from_env(REQUIRED | variables)
    except ConfigurationError:
        return False
    return True


def test_certificates_and_hosted_zones_have_the_form_of_their_names() -> None:
    # CertificateArn in API Gateway's and HostedZoneId in Route 53's API reference.
    with pytest.raises(ValueError, match="certificate_arn"):
        Domain(name="ask.example.org", certificate_arn="0a1b2c3d")
    with pytest.raises(ValueError, match="hosted_zone_id"):
        Domain(name="ask.example.org", hosted_zone_id="example.org")
    long = f"{'a' * 53}.example.org"  # "RequestCertificate" in ACM's: 64 characters
    with pytest.raises(ValueError, match="64 characters"):
        Domain(name=long, hosted_zone_id="Z1")
    assert Domain(name=long[1:], hosted_zone_id="Z1").url == f"https://{long[1:]}"


def test_a_pool_of_ones_own_is_accepted() -> None:
    pool = replace(PROD, user_pool_arn=POOL, user_pool_url="https://login.example.org:8443")
    assert pool.authorizer is Authorizer.COGNITO and pool.signs_in_to_mcp
