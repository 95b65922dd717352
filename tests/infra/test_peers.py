"""The comparison with other frameworks is complete, and its parts are pinned and give what the index gives."""

from __future__ import annotations

import re
import sys
from collections import Counter

import numpy as np
import openai
import pytest

from gleaner_local.index.embedder import Embedder, unit_mean
from infra.layer_build import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import peers
from harness import embeddings_server
from harness.peer_services import PROGRAMS


def figures(cpu: float) -> peers.Figures:
    spent: Counter[str] = Counter({"service": cpu, "embeddings": cpu})
    memory = Counter({"service": 100_000_000, "embeddings": 250_000_000})
    return peers.Figures([3.0, 1.0, 2.0], [0.02], [spent], [40.0], memory, 145_000_000, 20)


def test_a_service_has_a_row_of_the_medians_and_of_its_ratio_to_the_baseline() -> None:
    by_name = {peers.BASELINE: figures(0.01), peers.GLEANER: figures(0.04)}
    services, parts = peers.make_tables(by_name, 8, 560)
    assert services.rows[1] == (peers.GLEANER, "2.0", "20", "80", "4.00", "40.0", "350", "145 in 20")
    assert all(len(row) == len(services.columns) for row in services.rows)
    assert [row[:2] for row in parts.rows[:2]] == [(peers.BASELINE, "service"), (peers.BASELINE, "embeddings")]


def test_every_service_is_in_the_handbook_under_the_columns_that_the_program_prints() -> None:
    by_name = dict.fromkeys([*peers.PEERS, peers.GLEANER], figures(0.01))
    handbook = (ROOT / "docs" / "12-performance.md").read_text()
    clients, asked = re.findall(r"(\d+) clients \| Memory after (\d+) questions", handbook)[0]
    for table in peers.make_tables(by_name, int(clients), int(asked)):
        lines = table.find(handbook).splitlines()[2:]
        assert {line.split(" | ")[0].removeprefix("| ") for line in lines} == set(by_name)


@pytest.mark.parametrize("name", peers.PEERS.values())
def test_every_peer_has_a_program_and_requirements_with_hashes_and_without_an_address(name: str) -> None:
    assert (PROGRAMS / f"with_{name.replace('-', '_')}.py").is_file()
    pins = (PROGRAMS / f"{name}.txt").read_text()
    assert pins.count("==") <= pins.count("--hash=sha256:")
    assert "://" not in pins and "index-url" not in pins
    assert {line.split("[")[0] for line in (PROGRAMS / f"{name}.in").read_text().split()} <= {
        line.split("==")[0] for line in pins.splitlines()
    }


def test_the_peers_get_the_vectors_of_the_local_index() -> None:
    process, url = embeddings_server.start()
    try:
        client = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
        texts = ["Duplicate keywords are merged.", "word " * 600]
        items = client.embeddings.create(model="m", input=texts, encoding_format="float").data
        single = client.embeddings.create(model="m", input=texts[0]).data  # the SDK asks for base64 by itself
        with pytest.raises(openai.BadRequestError, match="no tokens"):
            client.embeddings.create(model="m", input=[[1, 2]])
    finally:
        process.communicate()
    own = [unit_mean(windows) for windows in Embedder.installed().embed(texts)]
    assert np.allclose([item.embedding for item in items], own, atol=1e-5)
    assert np.allclose(single[0].embedding, own[0], atol=0.01)
