"""The modules that a new environment loads: the part of a cold start that is the same on every machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gleaner_local.aws import ministack
from infra import layer_build

pytestmark = pytest.mark.slow

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"
RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath")  # packages of Lambda's runtime
VARIABLES = {
    "LAMBDA_TASK_ROOT": "/var/task",  # turns tracing on
    "POWERTOOLS_METRICS_NAMESPACE": "Gleaner",
    "API_KEYS_SECRET_ARN": "arn:aws:secretsmanager:us-east-1:000000000000:secret:keys",
    "PINECONE_INDEX_HOST": "https://index.example",
    "DOCUMENTS_BUCKET": "documents",
    "DOCUMENTS_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/000000000000/documents",
}
LOAD = """
import json, sys
from snapshot_restore_py import get_before_snapshot
before = set(sys.modules)
def loaded():
    return [name for name in set(sys.modules) - before if name.split(".")[0] not in sys.stdlib_module_names]
import handler
ready = loaded()
for hook, args, kwargs in get_before_snapshot():
    hook(*args, **kwargs)
print(json.dumps({"ready": ready, "snapshot": loaded()}))
"""
# Packages that no function may load before it is ready. Clients record their calls themselves: patching HTTP packages
# would trace them twice.
NEVER = (
    *("requests", "sqlalchemy", "psycopg2", "aiohttp", "aiobotocore", "numpy", "rich", "click"),
    *("aws_xray_sdk.ext.httpx", "aws_xray_sdk.ext.httplib"),
)
# Modules that only questions need. They are loaded at the first question or before a snapshot is taken.
FOR_QUESTIONS = (
    *("openai", "pinecone", "httpx", "httpx2"),
    *(
        "gleaner.answering.agent",
        "gleaner.answering.question",
        "gleaner.clients",
        "gleaner.tools",
        "gleaner.knowledge.retrieval",
    ),
)
NOT_FOR_PRUNING = (*FOR_QUESTIONS, "pydantic", "aws_xray_sdk", "aws_lambda_powertools.event_handler", "gleaner.api")
# Types of OpenAI services that are not called. Loading them would take longer than the rest of the SDK.
NEVER_OF_OPENAI = ("openai.types.responses.response", "openai.types.beta", "openai.resources")
# Without the standard library, which differs by version. A dependency that loads more must be worth the time. What an
# answer needs to stream is 19 small modules of our own and jiter, which a snapshot holds and no start loads. What
# counts a question for the quotas of a day is 5, what lists documents with their states 6, and their groups and uploads
# 2. What loads documents has Pinecone's SDK, and the process that reads them has the parsers.
MAX_MODULES = {"keyword_prune": 280, "ingest": 550, "query": 494, "query, in a snapshot": 1_050}


# What reads documents runs in the process for that: parsers would take memory here, and meet no file.
NOT_FOR_LOADING = (
    *("openai", "httpx2", "pydantic", "aws_lambda_powertools.event_handler"),
    *("gleaner.api", "gleaner.answering", "gleaner.tools", "gleaner.knowledge", "gleaner_documents.readers"),
    *("pypdfium2", "lxml", "docutils", "PIL", "openpyxl", "pptx", "mammoth"),
)


class LoadedModules(NamedTuple):
    """The names of the modules that are loaded when the function is ready, and in a snapshot."""

    ready: list[str]
    snapshot: list[str]


Load = Callable[[str], LoadedModules]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Loads a function's handler in a fresh process with its layers and the packages of the runtime."""
    common = layer_build.build(layer_build.THIS_MACHINE)
    documents = layer_build.build(layer_build.THIS_MACHINE, source=layer_build.DOCUMENTS)
    layers = {"ingest": (common, documents)}
    runtime = tmp_path_factory.mktemp("runtime")
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (runtime / name).symlink_to(Path(spec.origin).parent)
    tables = {variable: variable.lower() for variable in ministack.TABLES}

    def load_modules(function: str) -> LoadedModules:
        packages = [layer.path / "python" for layer in layers.get(function, (common,))]
        paths = (FUNCTIONS / function, *packages, runtime)
        env = ministack.CREDENTIALS | VARIABLES | tables | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
        command = [sys.executable, "-S", "-c", LOAD]  # -S excludes the packages of this environment
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return LoadedModules(**json.loads(run.stdout))

    return load_modules


def test_pruning_loads_neither_the_sdks_nor_the_api(load: Load) -> None:
    loaded = load("keyword_prune").ready
    assert _select(loaded, NEVER + NOT_FOR_PRUNING) == []
    assert len(loaded) <= MAX_MODULES["keyword_prune"], _count_packages(loaded)


def test_the_ingest_function_loads_no_parser(load: Load) -> None:
    loaded = load("ingest").ready
    assert _select(loaded, NEVER + NOT_FOR_LOADING) == []
    assert len(loaded) <= MAX_MODULES["ingest"], _count_packages(loaded)


def test_the_query_function_loads_no_question_modules_before_it_is_ready(load: Load) -> None:
    loaded = load("query").ready
    assert _select(loaded, NEVER + FOR_QUESTIONS) == []
    assert len(loaded) <= MAX_MODULES["query"], _count_packages(loaded)


def test_a_snapshot_contains_the_question_modules(load: Load) -> None:
    loaded = load("query").snapshot
    assert _select(loaded, NEVER + NEVER_OF_OPENAI) == []
    assert {"openai", "pinecone.index", "gleaner.answering.question"} <= set(loaded)
    assert len(loaded) <= MAX_MODULES["query, in a snapshot"], _count_packages(loaded)


def _select(loaded: list[str], packages: tuple[str, ...]) -> list[str]:
    return [name for name in loaded if any(f"{name}.".startswith(f"{package}.") for package in packages)]


def _count_packages(loaded: list[str]) -> Counter[str]:
    return Counter(name.split(".")[0] for name in loaded)
