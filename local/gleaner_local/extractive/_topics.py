"""Finds the words of a question that carry a topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from gleaner.text import cut_phrases, find_stop_words, find_words, stem, words
from gleaner_local.extractive._languages import find_language
from gleaner_local.extractive._word_lists import read_words

_ASKING_STEMS = frozenset(stem(word) for word in read_words("asking"))
_NAME = re.compile(r"(?<=[\w,;] )[A-ZÀ-Þ][\w'’-]+")


@lru_cache(maxsize=4096)
def topic_words(text: str) -> tuple[str, ...]:
    """The words of `text` that carry a topic, in their original spelling."""
    no_topics = find_stop_words(words(text)) | find_language(text).function_words
    candidates = [piece for word in _find_terms(text) for piece in cut_phrases(word.strip(".-'’"))]
    return tuple(word for word in candidates if not _says_nothing(words(word), no_topics))


def find_names(text: str) -> list[str]:
    """The words within `text` that begin with a capital letter."""
    return _NAME.findall(text)


def _find_terms(text: str) -> list[str]:
    return [term for word in re.findall(r"\S+", text) for term in _join_words(word)]


def _join_words(word: str) -> list[str]:
    """`index_keywords` and "property-based" are one term; other signs separate terms."""
    return re.findall(r"(?:\w+[-_.+#'’]*)+", word) if word.isascii() else find_words(word)


def _says_nothing(folded: Sequence[str], no_topics: frozenset[str]) -> bool:
    return all(word in no_topics or stem(word) in _ASKING_STEMS for word in folded)
