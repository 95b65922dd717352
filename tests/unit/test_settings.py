"""Settings from the environment."""

from __future__ import annotations

import pytest

from gleaner.errors import ConfigurationError
from gleaner.settings import Settings

COMPLETE = {
    "OPENAI_API_KEY": "secret-key",
    "PINECONE_API_KEY": "k",
    "PINECONE_INDEX_HOST": "h",
    "KEYWORDS_TABLE": "a",
    "CONVERSATIONS_TABLE": "b",
    "TOOL_CALLS_TABLE": "c",
    "IDEMPOTENCY_TABLE": "d",
}


def test_defaults() -> None:
    settings = Settings.from_env(COMPLETE)
    assert settings.default_kb_id == "default_kb"
    assert settings.query_deadline_seconds == 25
    assert settings.perplexity_api_key is None


def test_everything_missing_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"PINECONE_API_KEY.*TOOL_CALLS_TABLE"):
        Settings.from_env({"OPENAI_API_KEY": "k"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_BASE_URL", "localhost:1"),
        ("PERPLEXITY_BASE_URL", "ftp://x"),
        ("QUERY_DEADLINE_SECONDS", "soon"),
        ("QUERY_DEADLINE_SECONDS", "-1"),
        ("WEB_ANSWER_MAX_AGE_DAYS", "nan"),
        ("OPENAI_MAX_COMPLETION_TOKENS", "inf"),
        ("DOCS_ROUTES", "yes"),
        ("KNOWLEDGE_BASE_ACCESS", "x"),
        ("KNOWLEDGE_BASE_ACCESS", "[]"),
        ("KNOWLEDGE_BASE_ACCESS", '{"key:a": "kb"}'),
    ],
)
def test_a_malformed_setting_is_named(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Settings.from_env(COMPLETE | {name: value})


def test_keys_are_not_shown() -> None:
    assert "secret-key" not in repr(Settings.from_env(COMPLETE))
