"""Settings from the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gleaner.errors import ConfigurationError
from gleaner.pruning.settings import PruneSettings
from gleaner.runtime.quota import Limits
from gleaner.runtime.settings import Settings

DOCS = Path(__file__).parents[2] / "docs"
QUICK_START, PRUNING = "02-quick-start-and-local-mode.md", "06-pruning-keywords.md"
COMPLETE = {
    "OPENAI_API_KEY": "secret-key",
    "PINECONE_API_KEY": "k",
    "PINECONE_INDEX_HOST": "index.example",
    "KEYWORDS_TABLE": "a",
    "CONVERSATIONS_TABLE": "b",
    "TOOL_CALLS_TABLE": "c",
    "IDEMPOTENCY_TABLE": "d",
    "ACCESS_TABLE": "e",
    "USAGE_TABLE": "e",
    "DOCUMENTS_TABLE": "f",
}
PRICES = {"OPENAI_PRICES": '{"input": 1, "cached_input": 1, "output": 1}', "WEB_SEARCH_PRICE": "0"}


def test_defaults() -> None:
    settings = Settings.from_env(COMPLETE)
    assert settings.default_kb_id == "default_kb"
    assert (settings.query_deadline_seconds, settings.stream_deadline_seconds) == (25, 60)
    assert settings.perplexity_api_key is None


def test_nothing_is_limited_by_default_and_money_where_prices_are_known() -> None:
    quota = Settings.from_env(COMPLETE).quota
    assert not (quota.caller.exist or quota.environment.exist or quota.admins_exempt)
    limited = Settings.from_env(COMPLETE | PRICES | {"USD_PER_DAY": "2.5", "ENVIRONMENT_QUESTIONS_PER_DAY": "7"}).quota
    assert (limited.caller, limited.environment) == (Limits(usd=2.5), Limits(questions=7))
    with pytest.raises(ConfigurationError, match="WEB_SEARCH_PRICE"):
        Settings.from_env(COMPLETE | {"OPENAI_PRICES": PRICES["OPENAI_PRICES"], "USD_PER_DAY": "2"})


@pytest.mark.parametrize("name", ["USD_PER_DAY", "ENVIRONMENT_USD_PER_DAY"])
@pytest.mark.parametrize("value", ["1e130", "1e-130", "1e-9", "1e10"])
def test_an_amount_that_the_store_cannot_count_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{name} must be at least 0.00000001 and at most 1,000,000,000"):
        Settings.from_env(COMPLETE | PRICES | {name: value})


def test_money_that_never_adds_up_is_not_limited() -> None:
    free = {
        "OPENAI_PRICES": '{"input": 0, "cached_input": 0, "output": 0}',
        "WEB_SEARCH_PRICE": "0",
        "USD_PER_DAY": "1",
    }
    with pytest.raises(ConfigurationError, match="if all of them are 0"):
        Settings.from_env(COMPLETE | free)
    assert Settings.from_env(COMPLETE | free | {"WEB_SEARCH_PRICE": "0.01"}).quota.caller == Limits(usd=1)


def test_a_streamed_question_has_no_less_time_than_another() -> None:
    longer = COMPLETE | {"QUERY_DEADLINE_SECONDS": "300"}
    assert Settings.from_env(longer).stream_deadline_seconds == 300
    assert Settings.from_env(longer | {"STREAM_DEADLINE_SECONDS": "90"}).stream_deadline_seconds == 90


def test_the_error_names_all_missing_variables() -> None:
    with pytest.raises(ConfigurationError, match=r"PINECONE_API_KEY.*TOOL_CALLS_TABLE"):
        Settings.from_env({"OPENAI_API_KEY": "k"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_BASE_URL", "localhost:1"),
        ("PERPLEXITY_BASE_URL", "ftp://x"),
        ("QUERY_DEADLINE_SECONDS", "soon"),
        ("QUERY_DEADLINE_SECONDS", "-1"),
        ("STREAM_DEADLINE_SECONDS", "0"),
        ("WEB_ANSWER_MAX_AGE_DAYS", "nan"),
        ("WEB_BLOCKED_HOSTS", "https://evil.example"),
        ("WEB_BLOCKED_HOSTS", "good.example evil.example/page"),
        ("WEB_BLOCKED_HOSTS", "*.evil.example"),
        ("WEB_BLOCKED_HOSTS", "evil.example,other.example"),
        ("WEB_BLOCKED_HOSTS", "evil..example"),
        ("OPENAI_MAX_COMPLETION_TOKENS", "inf"),
        ("DOCS_ROUTES", "yes"),
        ("DOCUMENTS_BUCKET", "a.b"),
        ("DOCUMENTS_BUCKET", "x; script-src *"),
        ("AWS_ENDPOINT_URL_S3", "https://elsewhere.example/documents"),
        ("AWS_ENDPOINT_URL_S3", "https://x 'unsafe-inline'"),
        ("DOCUMENTS_ENDPOINT_URL", "https://elsewhere.example;x"),
        ("DOCUMENTS_ENDPOINT_URL", '/x" onload="'),
        ("OPENAI_API", "completions"),
        ("OPENAI_REASONING_EFFORT", "much"),
        ("OPENAI_PRICES", '{"input": 1, "cached_input": 0.1, "output": 2, "cache_write": -1}'),
        ("QUESTIONS_PER_DAY", "0"),
        ("QUESTIONS_PER_DAY", "1.5"),
        ("ENVIRONMENT_QUESTIONS_PER_DAY", "many"),
        ("QUESTIONS_PER_DAY", "1e50"),
        ("ENVIRONMENT_QUESTIONS_PER_DAY", "1000000001"),
        ("WEB_SEARCH_PRICE", "1e50"),
        ("OPENAI_PRICES", '{"input": 1e130, "cached_input": 0.1, "output": 2}'),
        ("USD_PER_DAY", "2"),  # without prices
        ("ENVIRONMENT_USD_PER_DAY", "2"),
        ("QUOTA_ADMINS_EXEMPT", "yes"),
        ("KNOWLEDGE_BASE_ACCESS", "x"),
        ("LEARNING", "private"),
        ("LEARNING", "Off"),
        ("LEARNING_BY_KB", "kb1"),
        ("LEARNING_BY_KB", "kb1=of"),
        ("LEARNING_BY_KB", "kb1=off,kb2=caller"),
        ("LEARNING_BY_KB", "a@b=off"),
        ("LEARNING_FORGET_WITH_SESSION", "yes"),
        ("KNOWLEDGE_BASE_ACCESS", '{"key:a": ["kb"]}'),  # it would limit nobody
        ("UNLISTED_CALLERS", "some"),
        ("DEFAULT_KB_ID", "My books"),
        ("PINECONE_INDEX_HOST", "bad host.example"),
        ("PINECONE_INDEX_HOST", "gleaner"),
        ("PINECONE_INDEX_HOST", "http://[x"),
        ("OPENAI_API_KEY", "kä"),
        ("PINECONE_API_KEY", "k\nx"),
        ("PERPLEXITY_API_KEY", "\u2026"),
        ("ADMIN_CALLERS", "key:a, key:b"),
        ("ADMIN_CALLERS", "admin"),
        ("ADMIN_CALLERS", "key:"),
        ("CORS_ORIGINS", "app.example.org"),
        ("CORS_ORIGINS", "https://app.example.org/"),
        ("CORS_ORIGINS", "https://a.example,https://b.example"),
        ("CORS_ORIGINS", "https://[bad"),
    ],
)
def test_the_error_names_a_malformed_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_env(COMPLETE | {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEARNING", "caller"),
        ("LEARNING_BY_KB", "kb1=off  kb-2=caller"),
        ("ADMIN_CALLERS", "key:a1  cognito:0-f iam:arn:aws:iam::1:role/x"),
        ("CORS_ORIGINS", "*"),
        ("OPENAI_API", "auto"),
        ("OPENAI_API", "chat"),
        ("OPENAI_REASONING_EFFORT", "none"),
        ("OPENAI_PRICES", '{"input": 1, "cached_input": 0.1, "output": 2, "cache_write": null}'),
        ("PINECONE_INDEX_HOST", "index-abc.svc.pinecone.io"),
        ("PINECONE_INDEX_HOST", "http://127.0.0.1:8080"),
        ("PINECONE_INDEX_HOST", "http://localhost:8080"),
        ("CORS_ORIGINS", "https://app.example.org http://localhost:3000"),
        ("KNOWLEDGE_BASE_ACCESS", "{}"),  # as earlier versions were deployed, if it limited nobody
        ("PAGE_SIGN_IN", "api_key"),
    ],
)
def test_valid_values_are_accepted(name: str, value: str) -> None:
    assert Settings.from_env(COMPLETE | {name: value})


POOL = {"PAGE_SIGN_IN": "cognito", "PAGE_USER_POOL_URL": "https://gleaner-1a.auth.eu-central-1.amazoncognito.com"}


def test_the_page_signs_in_at_the_origin_of_a_user_pool() -> None:
    sign_in = Settings.from_env(COMPLETE | POOL | {"PAGE_CLIENT_ID": "2a3b"}).sign_in
    assert (sign_in.kind, sign_in.client_id) == ("cognito", "2a3b")
    assert sign_in.pool_url == POOL["PAGE_USER_POOL_URL"]


@pytest.mark.parametrize(
    "variables",
    [
        {"PAGE_SIGN_IN": "password"},
        POOL,
        POOL | {"PAGE_CLIENT_ID": "2a3b", "PAGE_USER_POOL_URL": ""},
        *(
            POOL | {"PAGE_CLIENT_ID": "2a3b", "PAGE_USER_POOL_URL": url}
            for url in (
                "login.example.org",
                "https://login.example.org/",
                "https://a.example; script-src *",
                "https://a.example *",
                "https://*.example",
                "https://a.example\n",
            )
        ),
    ],
)
def test_an_incomplete_or_unsafe_sign_in_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="PAGE_SIGN_IN"):
        Settings.from_env(COMPLETE | variables)


def test_repr_does_not_contain_keys() -> None:
    assert "secret-key" not in repr(Settings.from_env(COMPLETE))


class RecordingVariables(dict[str, str]):
    """Variables that record which of them are read."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)


def list_read(read: Callable[[dict[str, str]], object]) -> set[str]:
    variables = RecordingVariables(COMPLETE)
    read(variables)
    return variables.read


def list_documented(*chapters: str) -> set[str]:
    """Return the variables in the tables of these chapters of the handbook, as a reader sees them.

    A row belongs to a table only below its header and its rule, without a line between that is not a row (GitHub
    Flavored Markdown, "Tables").
    """
    return {name for chapter in chapters for name in list_variables((DOCS / chapter).read_text())}


def list_variables(markdown: str) -> Iterator[str]:
    is_in_table = False
    for line in markdown.splitlines():
        is_in_table = re.fullmatch(r"\|( *:?-+:? *\|)+", line) is not None or (is_in_table and line.startswith("|"))
        if is_in_table:
            yield from re.findall("`([A-Z0-9_]+)`", line.split("|")[1])


def test_rows_after_an_empty_line_are_not_in_the_table() -> None:
    table = "| Variable | Meaning |\n|---|---|\n| `A` | a |\n| `B` | b |\n\n| `C` | c |\n"
    assert list(list_variables(table)) == ["A", "B"]


def test_the_tables_of_the_handbook_list_exactly_the_variables_that_are_read() -> None:
    assert list_documented(QUICK_START) == list_read(Settings.from_env)
    assert list_read(PruneSettings.from_env) <= list_documented(QUICK_START, PRUNING)
