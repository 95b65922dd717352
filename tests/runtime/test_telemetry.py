"""Logs and traces of a function in its own process are redacted, and log lines cannot be forged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gleaner_local.aws.execution_environment import ExecutionEnvironments, HandlerFailed
from tests.doubles.planted_secrets import FORGED, SECRETS
from tests.doubles.xray_daemon import XrayDaemon

HANDLER = "tests.doubles.leaky_function.lambda_handler"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """The log, the traces and the error of one failed invocation."""
    log_path = tmp_path_factory.mktemp("telemetry") / "log"
    with closing(XrayDaemon()) as daemon:
        env = {"PATH": os.environ["PATH"]} | daemon.environment
        function = ExecutionEnvironments(HANDLER, env, log_path=Path(log_path), timeout_seconds=30, concurrency=1)
        with pytest.raises(HandlerFailed) as error_info:
            function.invoke({"secret": SECRETS[0]}, "request-1")
        function.stop()
        yield log_path.read_text(), daemon.received(), str(error_info.value)


@pytest.fixture
def log(outcome: tuple[str, str, str]) -> list[Any]:
    """The lines of the log, decoded."""
    return [json.loads(line) for line in outcome[0].splitlines()]


def find_secrets(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text or json.dumps(secret)[1:-1] in text]


def test_no_log_line_contains_a_secret(outcome: tuple[str, str, str]) -> None:
    assert "[redacted: e-mail address]" in outcome[0]
    assert not find_secrets(outcome[0])


def test_log_lines_cannot_be_forged(outcome: tuple[str, str, str], log: list[Any]) -> None:
    assert json.dumps(FORGED)[1:-1] in outcome[0]
    assert all(isinstance(line, dict) and line["message"] != "forged" and line["timestamp"] for line in log)


def test_every_logger_writes_json_and_other_packages_only_warnings(log: list[Any]) -> None:
    messages = "\n".join(str(line["message"]) for line in log)
    for name in ("gleaner", "gleaner.api.somewhere", "httpx", "botocore.endpoint", "root"):
        assert messages.count(f"warning of {name}:") == 1
    assert "debug of gleaner" in messages
    assert "debug of httpx" not in messages and "debug of root" not in messages


def test_an_exception_is_logged_with_its_trace(log: list[Any]) -> None:
    (caught,) = [line for line in log if line["message"] == "caught"]
    assert caught["exception_name"] == "ValueError" and "Traceback" in caught["exception"]
    assert caught["stack_trace"]["frames"][0]["function"] == "lambda_handler"


def test_lambda_does_not_see_the_text_of_an_error(outcome: tuple[str, str, str], log: list[Any]) -> None:
    assert outcome[2] == "FunctionFailed: ValueError; the log says more."
    assert log[-1]["message"] == "the function failed"
    assert log[-1]["function_request_id"] == "request-1"


def test_traces_contain_no_secrets_and_keep_their_ids(outcome: tuple[str, str, str]) -> None:
    documents = [json.loads(line) for line in outcome[1].splitlines() if '"trace_id"' in line]
    assert {document["trace_id"] for document in documents} == {"1-5759e988-bd862e3fe1be46a994272793"}
    assert {"## leak", "## lambda_handler"} <= {document["name"] for document in documents}
    assert "ValueError" in outcome[1] and "[redacted: e-mail address]" in outcome[1]
    assert not find_secrets(outcome[1]) and "open sesame" not in outcome[1]
