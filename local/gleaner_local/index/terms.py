"""The terms of the lexical index: the stems of a text, each as a 32-bit key."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gleaner.text import stem, stop_words, words

Keys = NDArray[np.uint32]
Counts = NDArray[np.uint16]

_MAX_COUNT = np.iinfo(np.uint16).max
_ACCENT = re.compile("[\u0300-\u036f]")
# Kana and Han are written without spaces between words: pairs of characters serve as words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def count_terms(text: str) -> tuple[Keys, Counts]:
    """The distinct keys of all stems in `text`, ascending, and how often each one occurs."""
    counter = Counter(key for word in words(text) for key in _keys(word))
    keys = np.fromiter(counter, dtype=np.uint32, count=len(counter))
    counts = np.fromiter((min(n, _MAX_COUNT) for n in counter.values()), dtype=np.uint16, count=len(counter))
    order = np.argsort(keys)
    return keys[order], counts[order]


def query_terms(text: str) -> Keys:
    """The distinct keys of the words that are not stop words, or of all words if there are no others."""
    all_words = words(text)
    topic_words = [word for word in all_words if word not in stop_words()] or all_words
    return np.unique(np.fromiter((key for word in topic_words for key in _keys(word)), dtype=np.uint32))


@lru_cache(maxsize=100_000)
def _keys(word: str) -> tuple[int, ...]:
    """Hashes replace a vocabulary: among 100,000 stems about one pair shares a key, which does no harm."""
    return tuple(crc32(part.encode()) for part in _parts(word))


def _parts(word: str) -> Iterator[str]:
    plain = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", word)))
    position = 0
    for run in _UNSPACED.finditer(plain):
        if run.start() > position:
            yield stem(plain[position : run.start()])
        characters = run.group()
        yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        position = run.end()
    if position < len(plain):
        yield stem(plain[position:])
