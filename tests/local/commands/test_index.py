"""`gleaner index create` against a control plane on this machine, through the real SDK."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gleaner_local.clients.http_api import CallFailed
from gleaner_local.clients.pinecone_control import ControlFailed, PineconeControl
from gleaner_local.commands import program
from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.pinecone_control_plane import AWS, TEXT, ControlPlane

KEY = "pcsk_secret_key"


@pytest.fixture
def plane() -> ControlPlane:
    return ControlPlane()


@pytest.fixture
def address(plane: ControlPlane) -> Iterator[str]:
    server = AsgiServer(plane.app)
    server.start()
    yield server.url
    server.stop()


def create(address: str, *options: str, key: str = KEY) -> Result:
    env = {"PINECONE_API_KEY": key, "PINECONE_CONTROLLER_HOST": address}
    return CliRunner().invoke(program.app, ["index", "create", *options], env=env)


def failure(result: Result) -> str:
    assert isinstance(result.exception, CallFailed)
    message = str(result.exception)
    assert "\n" not in message
    assert KEY not in message + result.output
    return message


def test_an_index_is_created_for_the_records_and_its_host_is_printed(plane: ControlPlane, address: str) -> None:
    result = create(address, "--name", "books", "--cloud", "gcp", "--region", "europe-west4", "--model", "m-1")
    assert result.exit_code == 0, result.output
    (request,) = plane.create_requests
    assert (request["name"], request["cloud"], request["region"]) == ("books", "gcp", "europe-west4")
    assert request["embed"] == {"model": "m-1", "field_map": {"text": "text"}, "metric": "cosine"}
    host = "https://books-abc.svc.example.org"
    assert f"Host: {host}" in result.output
    assert f"make deploy ENV=dev PINECONE_INDEX_HOST={host}" in result.output


def test_the_same_index_is_created_only_once(plane: ControlPlane, address: str) -> None:
    first, second = create(address), create(address)
    assert len(plane.create_requests) == 1
    assert second.exit_code == 0
    host = [line for line in first.output.splitlines() if line.startswith("Host:")]
    assert host == [line for line in second.output.splitlines() if line.startswith("Host:")]


def test_an_index_that_was_created_meanwhile_is_used(plane: ControlPlane, address: str) -> None:
    control = PineconeControl(api_key=KEY, host=address)
    plane.add_index("gleaner")
    plane.failures = [(409, "It exists.")]
    control.create("gleaner", cloud="aws", region="us-east-1", model="m-1")
    assert create(address).exit_code == 0


VECTOR = {"vector": {"type": "dense_vector", "dimension": 1024, "metric": "cosine"}}
DOCUMENTS = {"text": {"type": "string", "embed": {"model": "llama-text-embed-v2"}}}


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"fields": VECTOR}, "does not take records of text"),
        ({"fields": DOCUMENTS}, "does not take records of text"),
        ({"fields": {"chunk": TEXT["text"]}}, "`chunk`"),
        ({"fields": {"text": TEXT["text"] | {"metric": "euclidean"}}}, "euclidean"),
        ({"fields": {"text": TEXT["text"] | {"model": "other-model"}}}, "other-model"),
        ({"deployment": AWS | {"region": "eu-west-1"}}, "eu-west-1"),
        ({"deployment": {"deployment_type": "byoc", "environment": "own"}}, "not serverless"),
    ],
)
def test_an_index_of_another_shape_is_reported_and_left_alone(
    plane: ControlPlane, address: str, shape: dict[str, Any], reason: str
) -> None:
    existing = plane.add_index("gleaner", **shape)
    message = failure(create(address))
    assert reason in message
    assert "--name" in message
    assert plane.create_requests == []
    assert plane.indexes == {"gleaner": existing}


@pytest.mark.parametrize(
    ("status", "reply", "message"),
    [
        (401, f"the key {KEY} is bad", "refuses the key"),
        (403, "the limit of indexes is reached", "limit of indexes"),
        (400, f"unknown model, said {KEY}", "unknown model"),
    ],
)
def test_a_refusal_is_reported_without_the_key(
    plane: ControlPlane, address: str, status: int, reply: str, message: str
) -> None:
    plane.failures = [(404, "There is none."), (status, reply)]
    assert message in failure(create(address))


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "PINECONE_API_KEY"), (400, "--region"), (404, "--model"), (403, "the key may use"), (503, "later")],
)
def test_a_refusal_says_what_to_do(plane: ControlPlane, address: str, status: int, remedy: str) -> None:
    plane.failures = [(404, "There is none."), (status, "No."), (status, "No.")]
    assert remedy in failure(create(address))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--name", name) for name in ("Bad Name", "", "a/../b", "a" * 46, "-a")),
        *(("--region", region) for region in ("", "us east")),
        ("--cloud", "moon"),
        ("--model", " "),
    ],
)
def test_an_invalid_option_is_a_usage_error(plane: ControlPlane, address: str, option: str, value: str) -> None:
    result = create(address, option, value)
    assert result.exit_code == 2
    assert option in result.output
    assert plane.create_requests == []


@pytest.mark.parametrize("key", ["kä", "k\nx"])
def test_a_key_unfit_for_a_header_is_reported(address: str, key: str) -> None:
    assert "PINECONE_API_KEY" in failure(create(address, key=key))


def test_an_unreachable_control_plane_is_named() -> None:
    message = failure(create("http://127.0.0.1:9"))
    assert "http://127.0.0.1:9" in message
    assert "network" in message


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ({"fields": {"text": TEXT["text"] | {"model": "other-model"}}}, ["--model", "other-model"]),
        ({"deployment": AWS | {"region": "eu-west-1"}}, ["--cloud", "aws", "--region", "eu-west-1"]),
    ],
)
def test_an_index_that_fits_other_options_is_used_with_the_options_in_the_message(
    plane: ControlPlane, address: str, shape: dict[str, Any], options: list[str]
) -> None:
    plane.add_index("gleaner", **shape)
    assert " ".join(options) in failure(create(address))
    assert create(address, *options).exit_code == 0


def test_without_a_key_nothing_is_sent(plane: ControlPlane, address: str) -> None:
    assert "PINECONE_API_KEY" in failure(create(address, key=""))
    assert plane.create_requests == []


def test_the_index_is_awaited_until_it_is_ready(plane: ControlPlane, address: str) -> None:
    plane.add_index("gleaner")
    plane.states = ["Initializing"] * 3
    index = PineconeControl(api_key=KEY, host=address).wait_until_ready("gleaner", seconds=30, pause=0.01)
    assert index.host == "https://gleaner-abc.svc.example.org"
    assert plane.states == []


@pytest.mark.parametrize(("state", "seconds"), [("InitializationFailed", 30), ("Initializing", 0)])
def test_waiting_for_an_index_that_never_becomes_ready_ends(
    plane: ControlPlane, address: str, state: str, seconds: float
) -> None:
    plane.add_index("gleaner")
    plane.states = [state] * 3
    with pytest.raises(ControlFailed, match=state):
        PineconeControl(api_key=KEY, host=address).wait_until_ready("gleaner", seconds=seconds, pause=0.01)
