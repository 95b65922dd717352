"""The terms of the lexical index, each as a 32-bit key: the stems of a text, and the parts of its words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gleaner.text import find_stop_words, stem, words

Keys = NDArray[np.uint32]
Counts = NDArray[np.uint16]

# Parts of words match where the stemmer does not: other inflections, prefixes, and words in compounds. Four letters are
# the usual length for alphabets; words are shorter where vowels are not written or are marks (docs/decisions/0002).
PART_LETTERS, SHORT_PART_LETTERS = 4, 3
_ALPHABET = re.compile("[a-z\u00df-\u052f\u0561-\u0587\u10d0-\u10ff\u1e00-\u1fff]")
# A pair of characters stands for a word in scripts without spaces, so it is not cut again.
_MAX_PAIR = 2
_MAX_COUNT = np.iinfo(np.uint16).max


class Terms(NamedTuple):
    """Distinct keys, ascending, and how often each one occurs."""

    keys: Keys
    counts: Counts


NO_TERMS = Terms(np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint16))


def count_terms(text: str) -> Terms:
    """The keys of all stems in `text`."""
    return _count(_key(word) for word in words(text))


def count_parts(text: str) -> Terms:
    """The keys of the parts of all words in `text`."""
    return _count(key for word in words(text) for key in _part_keys(word))


def query_terms(text: str) -> Keys:
    """The distinct keys of the words that are not stop words, or of all words if there are no others."""
    return _distinct(_key(word) for word in _topic_words(text))


def query_parts(text: str) -> Keys:
    """The distinct keys of the parts of the same words."""
    return _distinct(key for word in _topic_words(text) for key in _part_keys(word))


def consists_of_pairs(text: str) -> bool:
    """Whether most words are pairs of characters, as in scripts without spaces: many pairs lie across two words."""
    topic_words = _topic_words(text)
    return 2 * sum(map(_is_pair, topic_words)) > len(topic_words)


def _topic_words(text: str) -> list[str]:
    all_words = words(text)
    no_topics = find_stop_words(all_words)
    return [word for word in all_words if word not in no_topics] or all_words


def _distinct(keys: Iterable[int]) -> Keys:
    return np.unique(np.fromiter(keys, dtype=np.uint32))


def _count(all_keys: Iterable[int]) -> Terms:
    counter = Counter(all_keys)
    keys = np.fromiter(counter, dtype=np.uint32, count=len(counter))
    counts = np.fromiter((min(n, _MAX_COUNT) for n in counter.values()), dtype=np.uint16, count=len(counter))
    order = np.argsort(keys)
    return Terms(keys[order], counts[order])


@lru_cache(maxsize=100_000)
def _key(word: str) -> int:
    """Hashes replace a vocabulary: among 100,000 stems about one pair shares a key, which does no harm."""
    return crc32(stem(word).encode())


@lru_cache(maxsize=100_000)
def _part_keys(word: str) -> tuple[int, ...]:
    if _is_pair(word):
        return (crc32(word.encode()),)
    letters = PART_LETTERS if _ALPHABET.search(word) else SHORT_PART_LETTERS
    marked = f" {word} "  # a part at the start or end of a word differs from one inside
    return tuple(crc32(marked[i : i + letters].encode()) for i in range(max(1, len(marked) - letters + 1)))


def _is_pair(word: str) -> bool:
    return len(word) <= _MAX_PAIR and word.isalpha() and not word.isascii() and not _ALPHABET.match(word)
