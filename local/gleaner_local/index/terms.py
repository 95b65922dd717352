"""What the lexical side of the index counts: the stems of a text, each as a 32-bit key."""

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

_MOST = np.iinfo(np.uint16).max
_ACCENT = re.compile("[\u0300-\u036f]")
# Scripts written without spaces between words: Kana and Han. Pairs of characters stand in for words.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]+")


def count_terms(text: str) -> tuple[Keys, Counts]:
    """The keys of all stems in `text`, ascending and distinct, and how often each one occurs."""
    counted = Counter(key for word in words(text) for key in _keys(word))
    keys = np.fromiter(counted, dtype=np.uint32, count=len(counted))
    counts = np.fromiter((min(n, _MOST) for n in counted.values()), dtype=np.uint16, count=len(counted))
    order = np.argsort(keys)
    return keys[order], counts[order]


def query_terms(text: str) -> Keys:
    """The distinct keys of the words that carry a topic; of all words when none does."""
    spoken = words(text)
    chosen = [word for word in spoken if word not in stop_words()] or spoken
    return np.unique(np.fromiter((key for word in chosen for key in _keys(word)), dtype=np.uint32))


@lru_cache(maxsize=100_000)
def _keys(word: str) -> tuple[int, ...]:
    """A hash instead of a vocabulary: two of 100,000 stems share a key about once, which costs nothing."""
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
