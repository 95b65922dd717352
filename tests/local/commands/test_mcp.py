"""The command for MCP clients: what it prints, and what its bridge makes of the service's responses."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner

from gleaner_local.clients.http_api import ApiClient, CallFailed
from gleaner_local.clients.mcp_bridge import Bridge
from gleaner_local.commands import mcp_setup, program
from gleaner_local.servers.asgi import AsgiServer
from infra.callbacks import MCP_CALLBACK_URLS
from tests.real_clients.readme import read_blocks

REMOTE = "https://api.example.org/prod"
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}


class Service:
    """Answers each message as `answer` says, and keeps the headers of each method."""

    def __init__(self) -> None:
        self.answer: Callable[[Any], Response] = lambda message: JSONResponse(to_response(message["id"]))
        self.headers: dict[str, dict[str, str]] = {}
        self.app = Starlette(routes=[Route("/mcp", self._post, methods=["POST"])])

    async def _post(self, request: Request) -> Response:
        message = await request.json()
        if isinstance(message, dict):
            self.headers[message["method"]] = dict(request.headers)
        return await run_in_threadpool(self.answer, message)


def to_response(request_id: Any, **result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def request(request_id: Any, method: str = "ping", **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}).encode()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    server = AsgiServer(service.app)
    server.start()
    yield server.url
    server.stop()


def pass_on(url: str, *lines: bytes) -> tuple[list[Any], list[str]]:
    """What the bridge writes and reports."""
    written: list[Any] = []
    reported: list[str] = []
    Bridge(lambda: ApiClient(url), lambda line: written.append(json.loads(line)), reported.append).run(lines)
    return written, reported


def test_a_quick_message_overtakes_a_slow_one(service: Service, url: str) -> None:
    is_answered = threading.Event()

    def answer(message: Any) -> Response:
        if message["id"] == "slow":
            assert is_answered.wait(60)
        return JSONResponse(to_response(message["id"]))

    def write(line: str) -> None:
        written.append(json.loads(line)["id"])
        is_answered.set()

    service.answer = answer
    written: list[str] = []
    Bridge(lambda: ApiClient(url), write, lambda _: None).run([request("slow"), request("quick")])
    assert written == ["quick", "slow"]


def test_a_cancelled_request_gets_no_response(service: Service, url: str) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    arrived, cancelled = threading.Event(), threading.Event()

    def answer(message: Any) -> Response:
        arrived.set()
        assert cancelled.wait(60)
        return JSONResponse(to_response(message["id"]))

    def lines() -> Iterator[bytes]:
        yield request(1)
        assert arrived.wait(60)
        yield json.dumps(cancel).encode()
        cancelled.set()
        yield request(2)

    service.answer = answer
    written: list[Any] = []
    Bridge(lambda: ApiClient(url), lambda line: written.append(json.loads(line)["id"]), lambda _: None).run(lines())
    assert written == [2]


def test_the_headers_repeat_what_the_message_says(service: Service, url: str) -> None:
    pass_on(url, request(1, "tools/call", name="search", _meta=META), request(2, "resources/read", uri="ä", _meta=META))
    headers = service.headers["tools/call"]
    assert [headers[f"mcp-{name}"] for name in ("protocol-version", "method", "name")] == [
        "2026-07-28",
        "tools/call",
        "search",
    ]
    assert service.headers["resources/read"]["mcp-name"] == "=?base64?w6Q=?="


def test_the_version_of_a_handshake_is_remembered(service: Service, url: str) -> None:
    service.answer = lambda message: JSONResponse(to_response(message["id"], protocolVersion="2025-06-18"))
    written: list[Any] = []
    is_ready = threading.Event()

    def lines() -> Iterator[bytes]:
        yield request(1, "initialize", protocolVersion="2025-06-18")
        assert is_ready.wait(60)
        yield request(2, "ping")

    def write(line: str) -> None:
        written.append(line)
        is_ready.set()

    Bridge(lambda: ApiClient(url), write, lambda _: None).run(lines())
    assert "mcp-protocol-version" not in service.headers["initialize"]
    assert service.headers["ping"]["mcp-protocol-version"] == "2025-06-18"


@pytest.mark.parametrize(
    ("response", "code", "reason"),
    [
        (JSONResponse({"type": "urn:gleaner:problem:unauthorized", "detail": "No key."}, 401), -32603, "No key."),
        (
            JSONResponse({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Too long."}}, 413),
            -32600,
            "",
        ),
    ],
)
def test_a_refusal_is_an_error_of_the_request(
    service: Service, url: str, response: Response, code: int, reason: str
) -> None:
    service.answer = lambda _: response
    [error], reported = pass_on(url, request(7))
    assert (error["id"], error["error"]["code"]) == (7, code)
    assert reported == ([reason] if reason else [])


@pytest.mark.parametrize(
    "response",
    [
        Response("<html>", 501),
        JSONResponse({"detail": "Not Found"}, 404),
        JSONResponse({"message": "Forbidden"}, 403),
        JSONResponse({"type": "urn:gleaner:problem:not-found", "detail": "There is no such path."}, 404),
        JSONResponse({"ok": True}),
    ],
)
def test_a_wrong_address_is_called_one(service: Service, url: str, response: Response) -> None:
    service.answer = lambda _: response
    [error], [reported] = pass_on(url, request(7))
    assert reported == error["error"]["message"]
    assert f"The server at {url} is not Gleaner (HTTP {response.status_code}). Check the address" in reported
    assert "ends with the stage" in reported


def test_accepted_messages_and_broken_lines(service: Service, url: str) -> None:
    service.answer = lambda _: Response(status_code=202)
    written, _ = pass_on(url, b'{"jsonrpc": "2.0", "method": "notifications/initialized"}', b"", b"{", b"[" * 100_000)
    assert [one["error"]["code"] for one in written] == [-32700, -32700]


def test_a_message_reaches_the_service_as_it_was_written(service: Service, url: str) -> None:
    line = b'{"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": {"%s": NaN}, "n": 1.10}}'
    pass_on(url, line % b"io.modelcontextprotocol/protocolVersion")
    assert service.headers["x"]["content-length"] == str(len(line) - 2 + len("io.modelcontextprotocol/protocolVersion"))


def test_a_client_that_reads_no_more_ends_the_bridge_quietly(url: str) -> None:
    def write(_line: str) -> None:
        raise BrokenPipeError

    reported: list[str] = []
    Bridge(lambda: ApiClient(url), write, reported.append).run([request(1)])
    assert reported == ["The client reads no more."]


def test_a_service_that_moved_is_found_by_the_first_message(url: str) -> None:
    addresses = iter(["http://127.0.0.1:9", url])
    written: list[Any] = []
    Bridge(lambda: ApiClient(next(addresses)), lambda line: written.append(json.loads(line)), lambda _: None).run(
        [request(1)]
    )
    assert written == [to_response(1)]


def test_the_first_message_after_a_stop_is_told_how_to_start_the_service(service: Service, url: str) -> None:
    clients = iter([ApiClient("http://127.0.0.1:9")])

    def find() -> ApiClient:
        if (client := next(clients, None)) is None:
            raise CallFailed("No service runs. Start one.")
        return client

    written: list[Any] = []
    is_answered = threading.Event()

    def lines() -> Iterator[bytes]:
        nonlocal clients
        yield request(1)
        assert is_answered.wait(60)
        clients = iter([ApiClient(url)])
        yield request(2)

    def write(line: str) -> None:
        written.append(json.loads(line))
        is_answered.set()

    Bridge(find, write, lambda _: None).run(lines())
    assert written[0]["error"]["message"] == "No service runs. Start one."
    assert written[1] == to_response(2)


def test_an_address_that_stays_out_of_reach_is_named(url: str) -> None:
    [error], _ = pass_on("http://127.0.0.1:9", request(1))
    assert error["error"]["message"].startswith("No service answers at http://127.0.0.1:9.")


def test_the_hint_to_start_a_service_names_the_whole_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ([], ["--data-dir", "data"]):
        result = CliRunner().invoke(program.app, ["mcp", "--stdio", *option], input=request(1))
        place = str(tmp_path / (option[-1] if option else ".gleaner"))
        assert f"serve --data-dir {place}`" in json.loads(result.stdout)["error"]["message"]


@pytest.mark.parametrize("end", ["/mcp", "/mcp/", ""])
def test_the_address_of_the_server_itself_will_do(service: Service, url: str, end: str) -> None:
    printed = CliRunner().invoke(program.app, ["mcp", "--url", f"{REMOTE}{end}"]).output
    assert f"The MCP server is at {REMOTE}/mcp\n" in printed
    assert entries("--url", f"{REMOTE}{end}")[0]["mcpServers"]["gleaner"]["args"][-2:] == ["--url", REMOTE]
    passed = CliRunner().invoke(program.app, ["mcp", "--stdio", "--url", f"{url}{end}"], input=request(1))
    assert json.loads(passed.stdout) == to_response(1)


def test_each_request_of_a_batch_fails_without_a_service() -> None:
    def find() -> ApiClient:
        raise CallFailed("No service runs.")

    written: list[Any] = []
    batch = b"[" + request(1) + b"," + request("b") + b', {"jsonrpc": "2.0", "method": "x"}, 3]'
    Bridge(find, lambda line: written.append(json.loads(line)), lambda _: None).run([batch])
    assert [(one["id"], one["error"]["message"]) for one in written] == [
        (1, "No service runs."),
        ("b", "No service runs."),
    ]


def entries(*options: str) -> list[Any]:
    """The JSON of what is printed for Claude Desktop, VS Code and Cursor."""
    printed = CliRunner().invoke(program.app, ["mcp", *options])
    assert printed.exit_code == 0, printed.output
    return read_entries(printed.output)


def read_entries(printed: str) -> list[Any]:
    found, rest = [], printed
    while (start := rest.find("\n  {")) != -1:
        value, end = json.JSONDecoder().raw_decode(rest[start + 3 :])
        found.append(value)
        rest = rest[start + 3 + end :]
    return found


def test_what_is_printed_for_a_service_elsewhere_names_the_key_and_holds_none() -> None:
    desktop, code, cursor = entries("--url", REMOTE)
    assert desktop["mcpServers"]["gleaner"]["args"][-2:] == ["--url", REMOTE]
    assert list(desktop["mcpServers"]["gleaner"]["env"]) == ["GLEANER_API_KEY"]
    assert code["servers"]["gleaner"]["headers"] == {"Authorization": f"Bearer ${{input:{code['inputs'][0]['id']}}}"}
    assert cursor["mcpServers"]["gleaner"]["headers"] == {"Authorization": "Bearer ${env:GLEANER_API_KEY}"}


def test_the_shell_puts_no_key_into_what_claude_code_stores() -> None:
    printed = CliRunner().invoke(program.app, ["mcp", "--url", REMOTE]).output
    [command] = [line.strip() for line in printed.splitlines() if line.strip().startswith("claude mcp add")]
    echo = command.replace("claude", "printf '%s\\n'", 1)
    stored = subprocess.run(["/bin/sh", "-c", echo], env={"GLEANER_API_KEY": "value"}, capture_output=True, check=True)
    assert stored.stdout.decode().splitlines()[-1] == "Authorization: Bearer ${GLEANER_API_KEY}"


def test_what_is_printed_without_a_key_can_sign_in() -> None:
    printed = CliRunner().invoke(program.app, ["mcp", "--url", REMOTE, "--no-key"]).output
    code, cursor = read_entries(printed)
    assert code == {"servers": {"gleaner": {"type": "http", "url": f"{REMOTE}/mcp"}}}
    assert cursor == {"mcpServers": {"gleaner": {"url": f"{REMOTE}/mcp"}}}
    assert "--client-id" in printed
    assert "Add custom connector" in printed
    assert "GLEANER_API_KEY" not in printed


@pytest.mark.parametrize(
    "url", ["http://api.example.org", "https://10.0.0.7", "https://box", "https://box.local", "https://[fd00::1]:8443"]
)
def test_clients_in_the_cloud_need_a_public_https_address(url: str) -> None:
    without_key = CliRunner().invoke(program.app, ["mcp", "--url", url, "--no-key"]).output
    assert read_entries(without_key)[0]["mcpServers"]["gleaner"]["args"][-2:] == ["--url", url]
    for printed in (without_key, CliRunner().invoke(program.app, ["mcp", "--url", url, "--client-id", "2a3b"]).output):
        assert f"ChatGPT cannot reach {url}/mcp: deploy the service at a public https address" in printed
        assert "Developer mode" not in printed
        assert "Add custom connector\n  the name" not in printed


def test_what_is_printed_where_users_sign_in() -> None:
    printed = CliRunner().invoke(program.app, ["mcp", "--url", REMOTE, "--client-id", "2a3b"]).output
    assert f"claude mcp add --transport http --client-id 2a3b --callback-port 3118 gleaner {REMOTE}/mcp" in printed
    assert "http://localhost:3118/callback" in MCP_CALLBACK_URLS
    code, cursor = entries("--url", REMOTE, "--client-id", "2a3b")
    assert code == {"servers": {"gleaner": {"type": "http", "url": f"{REMOTE}/mcp"}}}
    assert cursor == {"mcpServers": {"gleaner": {"url": f"{REMOTE}/mcp", "auth": {"CLIENT_ID": "2a3b"}}}}
    assert "GLEANER_API_KEY" not in printed
    chatgpt = printed[printed.index("\nChatGPT\n") :]
    assert "press Create app" in chatgpt
    assert "user-defined OAuth client" in chatgpt
    assert "2a3b without a secret. The callback address is shown there" in chatgpt


def test_a_sign_in_with_a_key_is_refused() -> None:
    runner = CliRunner()
    assert runner.invoke(program.app, ["mcp", "--url", REMOTE, "--client-id", "2a3b", "--key"]).exit_code == 2
    assert runner.invoke(program.app, ["mcp", "--url", REMOTE, "--client-id", "2a3b", "--no-key"]).exit_code == 0


def test_the_readme_shows_what_is_printed() -> None:
    bridge = ["/PATH/.venv/bin/gleaner", "mcp", "--stdio", "--data-dir", "/PATH/.gleaner"]
    url = "http://127.0.0.1:8000/mcp"
    printed = "\n".join(mcp_setup.describe(url, bridge, with_key=False, is_remote=False))
    assert [json.loads(block) for block in read_blocks("json")] == read_entries(printed)
    [command] = [block for block in read_blocks("sh") if block.startswith("claude ")]
    assert command in printed


@pytest.mark.parametrize("option", ["--stdio", "--key"])
def test_one_service_is_named(option: str) -> None:
    result = CliRunner().invoke(program.app, ["mcp", option, "--url", REMOTE, "--data-dir", "x"])
    assert result.exit_code == 2
