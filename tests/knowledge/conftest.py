"""The keyword store of each test."""

from tests.keyword_fixtures import executor, keywords

__all__ = ["executor", "keywords"]
