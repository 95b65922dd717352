"""What a new environment loads before it is ready: the part of a cold start that does not depend on the machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gleaner_local import ministack
from infra import layer_build

pytestmark = pytest.mark.slow

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"
RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath")  # what Lambda's runtime brings
VARIABLES = {
    "LAMBDA_TASK_ROOT": "/var/task",  # by which tracing is on
    "POWERTOOLS_METRICS_NAMESPACE": "Gleaner",
    "API_KEYS_SECRET_ARN": "arn:aws:secretsmanager:us-east-1:000000000000:secret:keys",
    "PINECONE_INDEX_HOST": "https://index.example",
}
LOAD = """
import json, sys
before = set(sys.modules)
import handler
print(json.dumps([name for name in set(sys.modules) - before if name.split(".")[0] not in sys.stdlib_module_names]))
"""
# Packages and modules that a function has no use for before it is ready.
NEVER = ("requests", "sqlalchemy", "psycopg2", "aiohttp", "aiobotocore", "numpy", "rich", "click")
NOT_FOR_PRUNING = (
    *("openai", "pinecone", "httpx", "httpx2", "pydantic", "aws_lambda_powertools.event_handler"),
    *("gleaner.api", "gleaner.agent", "gleaner.answering", "gleaner.clients", "gleaner.tools", "gleaner.retrieval"),
)
# Not of the standard library, which differs by version. A new dependency that loads more must be worth its time.
MOST_MODULES = {"query": 1_400, "keyword_prune": 350}

Load = Callable[[str], list[str]]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Loads a function's handler in a fresh process that sees the layer and what the runtime brings."""
    layer = layer_build.build(layer_build.THIS_MACHINE)
    runtime = tmp_path_factory.mktemp("runtime")
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (runtime / name).symlink_to(Path(spec.origin).parent)
    tables = {variable: variable.lower() for variable in ministack.TABLES}

    def modules(function: str) -> list[str]:
        paths = (FUNCTIONS / function, layer.path / "python", runtime)
        env = ministack.CREDENTIALS | VARIABLES | tables | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        command = [sys.executable, "-S", "-c", LOAD]  # without the packages of this environment
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        loaded: list[str] = json.loads(run.stdout)
        return loaded

    return modules


def test_pruning_loads_neither_the_sdks_nor_the_api(load: Load) -> None:
    loaded = load("keyword_prune")
    assert _of(loaded, NEVER + NOT_FOR_PRUNING) == []
    assert len(loaded) <= MOST_MODULES["keyword_prune"], Counter(name.split(".")[0] for name in loaded)


def test_a_query_loads_what_it_uses(load: Load) -> None:
    loaded = load("query")
    assert _of(loaded, NEVER) == []
    # Clients are made, and their SDKs loaded, before a snapshot is taken.
    assert {"openai", "pinecone.index", "botocore.client"} <= set(loaded)
    assert len(loaded) <= MOST_MODULES["query"], Counter(name.split(".")[0] for name in loaded)


def _of(loaded: list[str], packages: tuple[str, ...]) -> list[str]:
    return [name for name in loaded if any(f"{name}.".startswith(f"{package}.") for package in packages)]
