"""The terms of the lexical index: the stems of a text, each as a 32-bit key."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gleaner.text import find_stop_words, stem, words

Keys = NDArray[np.uint32]
Counts = NDArray[np.uint16]

_MAX_COUNT = np.iinfo(np.uint16).max


def count_terms(text: str) -> tuple[Keys, Counts]:
    """The distinct keys of all stems in `text`, ascending, and how often each one occurs."""
    counter = Counter(_key(word) for word in words(text))
    keys = np.fromiter(counter, dtype=np.uint32, count=len(counter))
    counts = np.fromiter((min(n, _MAX_COUNT) for n in counter.values()), dtype=np.uint16, count=len(counter))
    order = np.argsort(keys)
    return keys[order], counts[order]


def query_terms(text: str) -> Keys:
    """The distinct keys of the words that are not stop words, or of all words if there are no others."""
    all_words = words(text)
    no_topics = find_stop_words(all_words)
    topic_words = [word for word in all_words if word not in no_topics] or all_words
    return np.unique(np.fromiter((_key(word) for word in topic_words), dtype=np.uint32))


@lru_cache(maxsize=100_000)
def _key(word: str) -> int:
    """Hashes replace a vocabulary: among 100,000 stems about one pair shares a key, which does no harm."""
    return crc32(stem(word).encode())
