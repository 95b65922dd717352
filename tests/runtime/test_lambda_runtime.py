"""The runtime client streams what the function writes, and leaves everything else to awslambdaric."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from infra.layer_build import PACKAGE, ROOT
from tests.conftest import proxy_event
from tests.doubles.runtime_api import WAIT_SECONDS, Invocation, RuntimeApi, start_environment

pytest.importorskip("awslambdaric", reason="it has wheels for Linux only")

SCRIPT = PACKAGE / "runtime" / "lambda_runtime.sh"
FUNCTION = ROOT / "tests" / "doubles" / "streamed_function"
NULLS = bytes(8)
SSE = {"Content-Type": ["text/event-stream"], "X-Many": ["a", "b"]}

Start = Callable[..., RuntimeApi]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the environments write to their logs."""
    return tmp_path_factory.mktemp("environments") / "log"


@pytest.fixture(scope="module")
def start(log: Path) -> Iterator[Start]:
    """Starts an execution environment with these variables, and returns its Runtime API."""
    with ExitStack() as stack:
        python = Path(sys.executable)
        yield lambda **variables: stack.enter_context(start_environment(SCRIPT, python, FUNCTION, log, variables))


@pytest.fixture(scope="module")
def api(start: Start) -> RuntimeApi:
    """The API of an environment that handles one invocation after the other."""
    return start()


def streamed(*steps: tuple[str, Any], method: str = "POST") -> dict[str, Any]:
    return proxy_event(method, "/api/chat/stream", "local") | {
        "resource": "/api/chat/stream",
        "body": json.dumps(steps),
    }


def buffered(*steps: tuple[str, Any]) -> dict[str, Any]:
    return streamed(*steps) | {"resource": "/{proxy+}"}


def read_response(invocation: Invocation) -> tuple[dict[str, Any], bytes]:
    """The metadata and the body of a streamed response."""
    metadata, _, body = invocation.wait().body.partition(NULLS)
    return json.loads(metadata), body


def test_chunks_are_sent_as_they_are_written(api: RuntimeApi, tmp_path: Path) -> None:
    gates = [tmp_path / "one", tmp_path / "two"]
    steps = [("start", [200, SSE]), ("write", "data: 1\n\n"), ("wait", str(gates[0])), ("write", "data: ä\n\n")]
    invocation = api.invoke(streamed(*steps, ("wait", str(gates[1]))))
    metadata, _, piece = (invocation.next_chunk() or b"").partition(NULLS)
    assert json.loads(metadata) == {"statusCode": 200, "multiValueHeaders": SSE}
    assert piece == b"data: 1\n\n"
    gates[0].touch()  # the function goes on only now
    assert invocation.next_chunk() == "data: ä\n\n".encode()
    assert not invocation.ended.is_set()
    gates[1].touch()
    assert invocation.next_chunk() is None
    assert invocation.wait().kind == "response" and invocation.trailers == {}
    assert invocation.headers["content-type"] == "application/vnd.awslambda.http-integration-response"
    assert invocation.headers["lambda-runtime-function-response-mode"] == "streaming"


@pytest.mark.parametrize(
    ("answer", "metadata", "body"),
    [
        (
            {"statusCode": 400, "multiValueHeaders": {"A": ["1", "2"]}, "headers": {"B": "3"}, "body": "ä"},
            {"statusCode": 400, "multiValueHeaders": {"A": ["1", "2"], "B": ["3"]}},
            "ä".encode(),
        ),
        (
            {"statusCode": 200, "body": base64.b64encode(b"\xff\0").decode(), "isBase64Encoded": True},
            {"statusCode": 200, "multiValueHeaders": {}},
            b"\xff\0",
        ),
        ({"statusCode": 204, "body": ""}, {"statusCode": 204, "multiValueHeaders": {}}, b""),
    ],
)
def test_a_plain_answer_to_a_streamed_method_is_sent_as_a_stream(
    api: RuntimeApi, answer: dict[str, Any], metadata: dict[str, Any], body: bytes
) -> None:
    invocation = api.invoke(streamed(("return", answer)))
    assert read_response(invocation) == (metadata, body)
    assert invocation.headers["lambda-runtime-function-response-mode"] == "streaming"


def test_a_plain_answer_to_another_method_is_posted_unchanged(api: RuntimeApi) -> None:
    answer = {"statusCode": 201, "multiValueHeaders": {"A": ["1"]}, "body": "ä", "isBase64Encoded": False}
    for event in (buffered(("return", answer)), streamed(("return", answer), method="GET")):
        invocation = api.invoke(event).wait()
        assert json.loads(invocation.body) == answer
        assert invocation.headers["content-type"] == "application/json"
        assert "lambda-runtime-function-response-mode" not in invocation.headers


def test_an_error_before_the_first_byte_is_posted_as_an_error(api: RuntimeApi) -> None:
    for event in (streamed(("raise", "broken")), buffered(("raise", "broken"))):
        invocation = api.invoke(event).wait()
        assert invocation.kind == "error"
        assert json.loads(invocation.body)["errorType"] == "ValueError"


def test_an_error_after_the_first_byte_is_sent_in_trailers_and_the_next_invocation_is_handled(api: RuntimeApi) -> None:
    failed = api.invoke(streamed(("start", [200, SSE]), ("write", "a"), ("raise", "broken"))).wait()
    assert failed.kind == "response"
    assert read_response(failed)[1] == b"a"
    assert {name.strip().lower() for name in failed.headers["trailer"].split(",")} == set(failed.trailers)
    assert failed.trailers["lambda-runtime-function-error-type"] == "ValueError"
    error = json.loads(base64.b64decode(failed.trailers["lambda-runtime-function-error-body"]))
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "broken")
    second = api.invoke(streamed(("start", [200, SSE]), ("write", "b")))
    assert read_response(second)[1] == b"b"


def test_an_environment_outlives_a_response_that_nobody_takes(start: Start, tmp_path: Path) -> None:
    api, note = start(), tmp_path / "note"
    api.cut_after = 2
    pieces = ("write often", ["x" * 100_000, 50])  # more than the buffers of the connection hold
    api.invoke(streamed(("start", [200, SSE]), pieces, ("note", str(note))))
    plain = api.invoke(buffered(("return", {"statusCode": 200, "body": "next"}))).wait()
    assert json.loads(plain.body)["body"] == "next"
    assert int(note.read_text()) > 0  # the function went on to its end, and knew


def test_logs_and_metrics_are_written_before_the_response_ends(api: RuntimeApi, log: Path) -> None:
    steps = [("start", [200, SSE]), ("write", "a"), ("measure", "Streams"), ("log", "counted")]
    api.invoke(streamed(*steps)).wait()
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    assert [line["message"] for line in lines if line.get("level") == "INFO"] == ["counted"]
    assert [line["Streams"] for line in lines if "Streams" in line] == [[1.0]]


def test_hooks_run_before_a_snapshot_and_after_its_restore(start: Start) -> None:
    api = start(AWS_LAMBDA_INITIALIZATION_TYPE="snap-start")
    invocation = api.invoke(streamed(("describe", None)))
    assert not invocation.ended.wait(0.2)  # nothing is handled before the restore
    api.restore()
    _, body = read_response(invocation)
    assert json.loads(body) == {"stream": True, "hooks": ["before", "after"]}
    assert [call.partition("runtime/")[2] for call in api.calls][:2] == ["restore/next", "invocation/next"]


def test_a_function_that_cannot_be_loaded_is_reported(start: Start) -> None:
    error = start(FAILS_TO_LOAD="1").init_errors.get(timeout=WAIT_SECONDS)
    assert (error["errorType"], error["errorMessage"]) == ("ValueError", "cannot load")
