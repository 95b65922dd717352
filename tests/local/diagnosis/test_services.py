"""The doctor's findings about the services that a query calls, through the real clients."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from gleaner_local.clients.credentials import Credentials
from gleaner_local.diagnosis._model_service import check_model
from gleaner_local.diagnosis._vector_index import check_index
from gleaner_local.diagnosis._web_search import check_web_search
from gleaner_local.diagnosis.finding import Finding, Origin, State, redact_address
from gleaner_local.diagnosis.http_api import check_api
from gleaner_local.servers import openai_server, perplexity_server
from gleaner_local.servers.asgi import AsgiServer
from tests.doubles.pinecone_control_plane import TEXT, ControlPlane
from tests.doubles.pinecone_limits import QUERIES_A_SECOND, READS_A_MONTH, as_grpc

KEY = "sk-secret-key"
ORIGIN = Origin(key="THE_KEY", address="THE_ADDRESS", model="THE_MODEL")
OK, NOTE, PROBLEM = State.OK, State.NOTE, State.PROBLEM
STATS = {"namespaces": {"kb": {"vectorCount": 3}}, "dimension": 1024, "totalVectorCount": 3, "vectorType": "dense"}

Serve = Callable[[Any], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server for an application, or for one response to every request; returns its address."""
    servers: list[AsgiServer] = []

    def start(content: Any) -> str:
        async def endpoint(_request: Request) -> Response:
            return content

        fixed = Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST"])])
        server = AsgiServer(fixed if isinstance(content, Response) else content)
        server.start()
        servers.append(server)
        return server.url

    yield start
    for server in servers:
        server.stop()


def model(address: str, name: str = openai_server.MODEL) -> Finding:
    return check_model(base_url=address, api_key=KEY, model=name, origin=ORIGIN)


def web(address: str) -> Finding:
    return check_web_search(base_url=address, api_key=KEY, origin=ORIGIN)


def index(address: str, control_host: str | None = None) -> list[Finding]:
    return list(check_index(host=address, api_key=KEY, control_host=control_host, origin=ORIGIN))


def refusal(status: int) -> Response:
    return JSONResponse({"error": {"message": f"{KEY} is no good"}, "message": KEY}, status_code=status)


def assert_says(finding: Finding, state: State, *words: str) -> None:
    """Assert that the finding is one line with the words and without the key; a problem has a remedy."""
    line = f"{finding.seen} {finding.remedy}"
    assert finding.state is state, line
    assert all(word in line for word in words), line
    assert KEY not in line
    assert "\n" not in line
    assert finding.remedy or state is not PROBLEM


def test_a_model_must_be_in_the_list(serve: Serve) -> None:
    address = serve(openai_server.create_app()) + "/v1"
    assert_says(model(address), OK, address, openai_server.MODEL)
    assert_says(model(address, "another"), PROBLEM, "another", openai_server.MODEL, "THE_MODEL")


@pytest.mark.parametrize(
    ("answer", "state", "word"),
    [
        (refusal(401), PROBLEM, "THE_KEY"),
        (refusal(403), NOTE, "403"),
        (refusal(404), NOTE, "404"),
        (refusal(429), PROBLEM, "quota"),
        (refusal(500), PROBLEM, "500"),
        (HTMLResponse("<html>sign in</html>"), PROBLEM, "THE_ADDRESS"),
        (JSONResponse({"data": None}), PROBLEM, "THE_ADDRESS"),
    ],
)
def test_a_model_service_that_refuses_is_reported(serve: Serve, answer: Response, state: State, word: str) -> None:
    assert_says(model(serve(answer)), state, word)


def test_a_web_search_that_accepts_the_key_is_ok(serve: Serve) -> None:
    assert_says(web(serve(perplexity_server.create_app())), OK, "accepts the key")


@pytest.mark.parametrize(
    ("status", "word"), [(401, "THE_KEY"), (403, "THE_KEY"), (404, "THE_ADDRESS"), (402, "credit"), (500, "500")]
)
def test_a_web_search_that_refuses_is_a_problem(serve: Serve, status: int, word: str) -> None:
    assert_says(web(serve(refusal(status))), PROBLEM, word)


def test_an_index_with_records_is_ok(index_host: str) -> None:
    (finding,) = index(index_host)
    assert_says(finding, OK, "dimensions: 384", "records: ")  # other tests write to the same index


@pytest.mark.parametrize(
    ("answer", "state", "word"),
    [
        (JSONResponse({"namespaces": {}, "dimension": 1024, "totalVectorCount": 0}), NOTE, "gleaner ingest"),
        (JSONResponse(STATS | {"dimension": None, "vectorType": "sparse"}), PROBLEM, "gleaner index create"),
        (refusal(401), PROBLEM, "THE_KEY"),
        (refusal(404), PROBLEM, "THE_ADDRESS"),
        (HTMLResponse("<html>"), PROBLEM, "THE_ADDRESS"),
        (as_grpc(QUERIES_A_SECOND), PROBLEM, "Wait a minute"),
        (as_grpc(READS_A_MONTH), PROBLEM, "read units for this month is used up"),
    ],
)
def test_an_empty_or_unusable_index_is_reported(serve: Serve, answer: Response, state: State, word: str) -> None:
    (finding,) = index(serve(answer))
    assert_says(finding, state, word)


@pytest.mark.parametrize(
    ("fields", "state", "word"),
    [
        (TEXT, OK, "llama-text-embed-v2"),
        ({"vector": {"type": "dense_vector", "dimension": 1024, "metric": "cosine"}}, PROBLEM, "gleaner index create"),
        ({"chunk": TEXT["text"]}, PROBLEM, "`chunk`"),
    ],
)
def test_an_index_is_judged_by_its_description(serve: Serve, fields: dict[str, Any], state: State, word: str) -> None:
    plane = ControlPlane()
    address = serve(JSONResponse(STATS))
    plane.add_index("other")
    plane.add_index("books", fields=fields, host=address)
    stats, description = index(address, serve(plane.app))
    assert_says(stats, OK, "1024")
    assert_says(description, state, "books", word)


def test_an_index_without_a_description_is_noted(serve: Serve) -> None:
    plane = ControlPlane(failures=[(403, f"{KEY} may not")])
    address, control = serve(JSONResponse(STATS)), serve(plane.app)
    assert_says(index(address, control)[1], NOTE, "403")
    assert_says(index(address, control)[1], NOTE, "no index of this host")


def test_an_api_that_does_not_answer_is_a_problem() -> None:
    (finding,) = check_api("http://127.0.0.1:9")
    assert_says(finding, PROBLEM, "http://127.0.0.1:9")


@pytest.mark.slow
def test_a_service_that_never_answers_times_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        for finding in (model(address), web(address), *index(address), *check_api(address)):
            assert_says(finding, PROBLEM, address)


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_an_unhealthy_api_is_a_problem(serve: Serve, status: int) -> None:
    (finding,) = check_api(serve(refusal(status)))
    assert_says(finding, PROBLEM, str(status))


def test_a_healthy_service_that_is_not_gleaner_is_a_problem(serve: Serve) -> None:
    (finding,) = check_api(serve(JSONResponse({"up": True})))
    assert_says(finding, PROBLEM, "not Gleaner")


@pytest.mark.parametrize(("key", "name"), [(KEY, "API key"), (None, "no API key or token")])
def test_the_finding_about_an_accepted_caller_names_the_credentials(serve: Serve, key: str | None, name: str) -> None:
    answer = JSONResponse({"status": "ok", "paths": {}})
    for finding in check_api(serve(answer), Credentials(api_key=key)):
        assert_says(finding, OK)
    _, caller, _ = check_api(serve(answer), Credentials(api_key=key))
    assert_says(caller, OK, f"({name})")


@pytest.mark.parametrize(("key", "state", "word"), [(KEY, PROBLEM, "usage plan"), (None, NOTE, "the hint")])
def test_an_api_that_rejects_the_caller_is_reported(serve: Serve, key: str | None, state: State, word: str) -> None:
    async def health(_request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def refuse(_request: Request) -> Response:
        return refusal(403)

    app = Starlette(routes=[Route("/api/health", health), Route("/{path:path}", refuse)])
    healthy, caller, description = check_api(serve(app), Credentials(api_key=key), hint="the hint")
    assert_says(healthy, OK, "is up")
    assert_says(caller, state, word)
    assert_says(description, OK, "does not serve")


@pytest.mark.parametrize(
    ("address", "redacted"),
    [
        ("http://user:secret@host:80/v1/?key=secret", "http://host:80/v1"),  # pragma: allowlist secret
        ("index-abc.svc.pinecone.io", "https://index-abc.svc.pinecone.io"),
        ("http://host:port", "an invalid address"),
    ],
)
def test_possible_keys_are_removed_from_an_address(address: str, redacted: str) -> None:
    assert redact_address(address) == redacted
