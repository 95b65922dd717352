"""The query function, started from its layer as Lambda starts it, streams its answers."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra import layer_build
from tests.conftest import proxy_event
from tests.doubles.runtime_api import RuntimeApi, start_environment
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="awslambdaric has wheels for Linux only"),
]

RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath")  # packages of Lambda's runtime
PATH = "/api/chat/stream"


@pytest.fixture
def environment(settings: dict[str, str], tmp_path: Path) -> Iterator[RuntimeApi]:
    """An environment that loads nothing but the function, its layer and the packages of Lambda's runtime."""
    layer, runtime, python = layer_build.build(layer_build.THIS_MACHINE), tmp_path / "runtime", tmp_path / "python"
    runtime.mkdir()
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (runtime / name).symlink_to(Path(spec.origin).parent)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # -S excludes the packages of this environment
    python.chmod(0o755)
    script = layer.path / "python" / "gleaner" / "runtime" / "lambda_runtime.sh"
    variables = settings | {"LAMBDA_RUNTIME_DIR": str(runtime), "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    function = layer_build.ROOT / "functions" / "query"
    with start_environment(script, python, function, tmp_path / "log", variables) as api:
        api.restore()
        yield api


def test_the_layer_streams_answers_and_problems_and_sends_others_whole(
    environment: RuntimeApi, model: ScriptedModel
) -> None:
    model.plays(calls(search()), calls(answer()))
    streamed = environment.invoke(_question({"query": "How are duplicates merged?"})).wait()
    metadata, _, body = streamed.body.partition(bytes(8))
    assert json.loads(metadata)["statusCode"] == 200
    assert body.endswith(b"data: [DONE]\n\n")
    assert streamed.chunks.qsize() > 3  # as events came, not at the end
    refused = environment.invoke(_question({"query": ""})).wait()
    metadata, _, body = refused.body.partition(bytes(8))
    assert json.loads(metadata)["statusCode"] == json.loads(body)["status"] == 400
    health = environment.invoke(proxy_event("GET", "/api/health", "local")).wait()
    assert json.loads(health.body)["statusCode"] == 200


def _question(body: dict[str, Any]) -> dict[str, Any]:
    return proxy_event("POST", PATH, "local") | {"resource": PATH, "body": json.dumps(body)}
