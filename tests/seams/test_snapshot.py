"""Environments restored from one snapshot share no ids, connections, random state or API keys."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from gleaner_local.aws import ministack
from tests.conftest import proxy_event
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "doubles" / "restored_function.py"
EVENT = proxy_event("POST", "/api/chat/query", "local") | {"body": json.dumps({"query": "How are duplicates merged?"})}


@pytest.fixture
def secrets(tmp_path: Path) -> Iterator[Any]:
    """A client of Secrets Manager."""
    server = ministack.Ministack(tmp_path / "state", tmp_path / "log", services="secretsmanager")
    server.start()
    yield boto3.client("secretsmanager", endpoint_url=server.url)
    server.stop()


def test_restored_environments_share_no_state(settings: dict[str, str], model: ScriptedModel, secrets: Any) -> None:
    secret = secrets.create_secret(Name="keys", SecretString=_keys("old"))["ARN"]
    env = {name: value for name, value in settings.items() if not name.endswith("_API_KEY")}
    env |= {"API_KEYS_SECRET_ARN": secret, "AWS_ENDPOINT_URL_SECRETS_MANAGER": secrets.meta.endpoint_url}
    env["POWERTOOLS_METRICS_NAMESPACE"] = "Gleaner"
    with subprocess.Popen(
        [sys.executable, PROGRAM],
        env=os.environ | env | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"connections": 0, "threads": 1}
        secrets.put_secret_value(SecretId=secret, SecretString=_keys("new"))
        model.plays(calls(search()), calls(answer()), calls(search()), calls(answer()))
        output, _ = process.communicate(json.dumps(EVENT) + "\n")
    first, second = map(json.loads, output.splitlines())
    for restored in (first, second):
        assert restored["answer"]["status"] == "success"
        assert restored["connections"] > 0  # proves that the count sees connections
    for name in ("query_id", "session_id", "message_id"):
        assert first["answer"][name] != second["answer"][name]
    assert first["jitter"] != second["jitter"]
    assert set(model.authorizations) == {"Bearer new"}


def _keys(value: str) -> str:
    return json.dumps(dict.fromkeys(("openai", "pinecone", "perplexity"), value))
