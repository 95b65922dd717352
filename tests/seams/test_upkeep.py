"""What the schedule sends to the query function is a health check that it answers, by either of its clients."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gleaner_local.aws.execution_environment import ExecutionEnvironments
from gleaner_local.service.run import QUERY_HANDLER
from infra.layer_build import PACKAGE, ROOT
from tests.doubles.runtime_api import start_environment
from tests.infra.synthesis import properties, synthesis

SCRIPT = PACKAGE / "runtime" / "lambda_runtime.sh"
EXECUTION = "5c8f1d2e-0000-4000-8000-3a1e2f4b6c7d"


@pytest.fixture
def event() -> dict[str, Any]:
    """The event as EventBridge Scheduler sends it: with the id of the execution in the place of its attribute."""
    schedules = properties(synthesis().service["prod"], "AWS::Scheduler::Schedule")
    [text] = [one["Target"]["Input"] for one in schedules if "Input" in one["Target"]]
    assert "<aws.scheduler.execution-id>" in text
    sent: dict[str, Any] = json.loads(text.replace("<aws.scheduler.execution-id>", EXECUTION))
    return sent


def test_the_function_answers_the_scheduled_health_check(
    event: dict[str, Any], settings: dict[str, str], tmp_path: Path
) -> None:
    environment = settings | {"POWERTOOLS_METRICS_NAMESPACE": "Gleaner"}
    environments = ExecutionEnvironments(
        QUERY_HANDLER, environment, log_path=tmp_path / "log", timeout_seconds=29, concurrency=1
    )
    try:
        response = environments.invoke(event, "request-1")
    finally:
        environments.stop()
    assert (response["statusCode"], json.loads(response["body"])) == (200, {"status": "ok"})
    assert response["multiValueHeaders"]["X-Request-Id"] == [EXECUTION]
    assert "FailedAnswers" not in (tmp_path / "log").read_text()


def test_the_client_that_streams_answers_it_whole(
    event: dict[str, Any], settings: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("awslambdaric", reason="it has wheels for Linux only")
    variables = settings | {"PYTHONPATH": f"{PACKAGE.parent}"}
    function, log = ROOT / "functions" / "query", tmp_path / "log"
    with start_environment(SCRIPT, Path(sys.executable), function, log, variables) as runtime:
        invocation = runtime.invoke(event).wait()
    assert invocation.kind == "response", log.read_text()
    assert "transfer-encoding" not in invocation.headers
    assert json.loads(json.loads(invocation.body)["body"]) == {"status": "ok"}
