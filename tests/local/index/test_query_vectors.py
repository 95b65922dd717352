"""Vectors of queries: one run of the model for each, also for searches that come at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gleaner_local.index.embedder import Vectors
from gleaner_local.index.query_vectors import MAX_QUERIES, QueryVectors


class CountingModel:
    """Counts its runs; one waits until `opened` is set."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.opened = threading.Event()
        self.opened.set()

    def embed(self, query: str) -> Vectors:
        self.runs.append(query)
        assert self.opened.wait(60)
        if query == "broken":
            raise RuntimeError("no vectors")
        return np.full((1, 2), len(query), dtype=np.float32)


@pytest.fixture
def model() -> CountingModel:
    return CountingModel()


@pytest.fixture
def vectors(model: CountingModel) -> QueryVectors:
    return QueryVectors(model.embed)


def test_searches_at_the_same_time_share_one_run(model: CountingModel, vectors: QueryVectors) -> None:
    model.opened.clear()
    with ThreadPoolExecutor(4) as pool:
        found = [pool.submit(vectors.of, "merge") for _ in range(4)]
        model.opened.set()
        assert [one.result(60).tolist() for one in found] == [[[5, 5]]] * 4
    assert model.runs == ["merge"]


def test_a_failed_run_is_repeated(model: CountingModel, vectors: QueryVectors) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no vectors"):
            vectors.of("broken")
    assert model.runs == ["broken", "broken"]


def test_the_vectors_of_the_least_recent_queries_are_dropped(model: CountingModel, vectors: QueryVectors) -> None:
    queries = [str(number) for number in range(MAX_QUERIES)]
    for query in [*queries, "0", "one more"]:
        vectors.of(query)
    model.runs.clear()
    vectors.of("0")
    vectors.of("1")
    assert model.runs == ["1"]


def test_shared_vectors_cannot_be_changed(vectors: QueryVectors) -> None:
    with pytest.raises(ValueError, match="read-only"):
        vectors.of("merge")[0, 0] = 7
