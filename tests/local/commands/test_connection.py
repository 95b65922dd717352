"""Which service the commands call, and with which credentials."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from typer.testing import CliRunner, Result

from gleaner.stores import schema
from gleaner.stores.keyword_stems import merge_key
from gleaner_documents.reading import format_names
from gleaner_local.clients.http_api import ApiClient, CallFailed
from gleaner_local.commands import program
from gleaner_local.commands.connection import connect
from gleaner_local.servers.asgi import AsgiServer
from gleaner_local.service import running
from gleaner_local.service.running import NotReady

RUN_ID = "01KB3Z9Q6M5T8W2X4Y7R0N1C3D"
PRUNED = {"run_id": RUN_ID, "dry_run": False, "finished": True, "candidate_count": 0, "pruned_count": 1}
REFUSED = {"type": "urn:gleaner:problem:not-allowed", "detail": "Only admins may do this."}


class Service:
    """Records all calls and gives the same response to each, as Gleaner would unless `answers` says otherwise."""

    def __init__(self) -> None:
        self.answers: list[Response] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.callers: list[tuple[str | None, str | None]] = []

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        self.calls.append((request.url.path, json.loads(body) if body else {}))
        self.callers.append((request.headers.get("x-api-key"), request.headers.get("authorization")))
        default = JSONResponse({"keywords": [], "candidates": [], "restored_count": 1} | PRUNED)
        answer = self.answers.pop(0) if self.answers else default
        if answer.media_type == "application/json":
            answer.headers["x-query-id"] = RUN_ID
        return answer


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def url(service: Service) -> Iterator[str]:
    app = Starlette(routes=[Route("/{path:path}", service.answer, methods=["GET", "POST"])])
    server = AsgiServer(app)
    server.start()
    yield server.url
    server.stop()


@pytest.fixture
def data_dir(tmp_path: Path, url: str) -> Iterator[Path]:
    """A directory over which the service runs."""
    directory = tmp_path / "its data"
    with running.acquire_lock(directory):
        running.announce(directory, {"url": url})
        yield directory


def gleaner(*arguments: str, **env: str) -> Result:
    return CliRunner().invoke(program.app, [*arguments], env=env)


def failure(result: Result) -> str:
    """The one line of the command's error."""
    assert isinstance(result.exception, CallFailed | NotReady), result.output
    message = str(result.exception)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("options", "env", "caller"),
    [
        (("--api-key", "k-1"), {}, ("k-1", None)),
        (("--token", "t-1"), {}, (None, "Bearer t-1")),
        (("--api-key", "k-1", "--token", "t-1"), {}, ("k-1", "Bearer t-1")),
        ((), {"GLEANER_API_KEY": "k-2"}, ("k-2", None)),
        ((), {"GLEANER_TOKEN": "t-2"}, (None, "Bearer t-2")),
        (("--token", "t-1"), {"GLEANER_API_KEY": "k-2"}, (None, "Bearer t-1")),
    ],
)
@pytest.mark.parametrize("command", [("keywords", "list"), ("keywords", "prune"), ("keywords", "restore", "0" * 32)])
def test_given_credentials_are_sent_unchanged(
    service: Service, url: str, command: tuple[str, ...], options: tuple[str, ...], env: dict[str, str], caller: object
) -> None:
    result = gleaner(*command, "--url", url, *options, **env)
    assert result.exit_code == 0, result.output
    assert service.callers == [caller]


def test_a_local_service_is_called_as_its_admin_without_credentials_of_the_environment(
    service: Service, data_dir: Path
) -> None:
    assert gleaner("keywords", "list", "--data-dir", str(data_dir), GLEANER_API_KEY="k-2").exit_code == 0
    assert service.callers == [("admin", None)]


def test_the_local_admin_key_is_never_sent_elsewhere() -> None:
    client = connect(url="https://api.example.org/dev", data_dir=None, api_key=None, token=None, caller="admin")
    assert not client.credentials


@pytest.mark.parametrize("options", [("--api-key", ""), ("--token", "line\nbreak"), ("--api-key", "ä")])
def test_credentials_unfit_for_a_header_are_usage_errors(url: str, options: tuple[str, ...]) -> None:
    result = gleaner("ask", "Why?", "--url", url, *options)
    assert result.exit_code == 2
    assert options[0] in result.output


def test_a_variable_unfit_for_a_header_is_named_but_not_shown(url: str) -> None:
    message = failure(gleaner("ask", "Why?", "--url", url, GLEANER_API_KEY="secret-ä"))
    assert "GLEANER_API_KEY" in message
    assert "secret" not in message


@pytest.mark.parametrize("command", [("ask", "Why?"), ("keywords", "prune", "--apply"), ("verify",)])
def test_without_a_service_over_the_directory_no_other_service_is_called(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    message = failure(gleaner(*command, "--data-dir", str(tmp_path / "my data")))
    start = shlex.join(("serve", "--data-dir", str(tmp_path / "my data")))
    assert start in message


def test_without_a_service_over_the_default_directory_no_other_service_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "gleaner serve`" in failure(gleaner("keywords", "prune", "--apply"))


def test_a_starting_service_is_reported_as_starting(tmp_path: Path) -> None:
    with running.acquire_lock(tmp_path):
        assert "starting" in failure(gleaner("ask", "Why?", "--data-dir", str(tmp_path)))


def test_the_state_of_a_killed_service_is_discarded(tmp_path: Path) -> None:
    with running.acquire_lock(tmp_path):
        running.announce(tmp_path, {"url": "http://127.0.0.1:9"})
    assert running.running_service(tmp_path) == {}
    with running.acquire_lock(tmp_path), pytest.raises(NotReady):
        running.running_service(tmp_path)


@pytest.mark.parametrize("address", ["", "nonsense", "ftp://x", "http://", "http://x:99999"])
@pytest.mark.parametrize("command", [("ask", "Why?"), ("doctor",), ("verify",), ("keywords", "list")])
def test_an_invalid_address_is_a_usage_error(command: tuple[str, ...], address: str) -> None:
    result = gleaner(*command, "--url", address)
    assert result.exit_code == 2
    assert "--url" in result.output


@pytest.mark.parametrize("command", [("ask", "Why?"), ("serve",), ("ingest", "."), ("keywords", "list")])
def test_a_file_is_no_data_directory(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "f").touch()
    result = gleaner(*command, "--data-dir", str(tmp_path / "f"))
    assert result.exit_code == 2
    output = " ".join(result.output.replace("│", " ").split())  # an error stands in a box
    assert "--data-dir" in output and "is a file" in output


def test_url_and_data_dir_exclude_each_other(url: str, data_dir: Path) -> None:
    assert gleaner("ask", "Why?", "--url", url, "--data-dir", str(data_dir)).exit_code == 2


def test_a_refused_call_without_credentials_names_the_options_for_them(service: Service, url: str) -> None:
    service.answers = [JSONResponse(REFUSED, status_code=403), JSONResponse(REFUSED, status_code=403)]
    assert "--api-key or --token" in failure(gleaner("keywords", "list", "--url", url))
    assert "--api-key" not in failure(gleaner("keywords", "list", "--url", url, "--api-key", "k-1"))


@pytest.mark.parametrize(
    "answer",
    [
        HTMLResponse("<html>"),
        HTMLResponse('{"answer": "without the header of Gleaner"}'),
        HTMLResponse('{"message": "Forbidden"}', status_code=403),
        HTMLResponse("[]", status_code=500),
        HTMLResponse("", status_code=301),
    ],
)
def test_a_server_that_is_not_gleaner_is_reported(service: Service, url: str, answer: Response) -> None:
    service.answers = [answer]
    with pytest.raises(CallFailed, match="is not Gleaner"):
        ApiClient(url).call("GET", "/api/keywords")


class TestUndoing:
    """The command that undoes a run of pruning."""

    def undo(self, *options: str) -> list[str]:
        result = gleaner("keywords", "prune", "--apply", *options)
        assert result.exit_code == 0, result.output
        line = next(line for line in result.output.splitlines() if "To undo" in line)
        return shlex.split(line.rpartition(": ")[2])

    @pytest.mark.parametrize("by", ["--url", "--data-dir"])
    def test_it_runs_as_printed(self, service: Service, url: str, data_dir: Path, by: str) -> None:
        first, *arguments = self.undo(by, {"--url": url, "--data-dir": str(data_dir)}[by])
        assert first.endswith("/gleaner")
        assert gleaner(*arguments).exit_code == 0
        assert service.calls[-1] == ("/api/keywords/restore", {"run_id": RUN_ID})

    def test_it_shows_no_key_but_says_that_one_is_needed(self, url: str) -> None:
        result = gleaner("keywords", "prune", "--apply", "--url", url, "--api-key", "secret-key")
        assert "secret-key" not in result.output
        assert "with the same --api-key" in result.output

    def test_each_run_of_one_command_is_printed(self, service: Service, url: str) -> None:
        more = {"candidates": []} | PRUNED | {"finished": False, "run_id": RUN_ID[::-1]}
        service.answers = [JSONResponse(more), JSONResponse(more)]
        output = gleaner("keywords", "prune", "--apply", "--url", url).output
        assert output.count("To undo") == 2
        assert RUN_ID in output and RUN_ID[::-1] in output


def test_a_keyword_is_restored_by_its_text(service: Service, url: str) -> None:
    for text in ("Formic  Acid", "formic acid"):
        assert gleaner("keywords", "restore", text, "--url", url).exit_code == 0
    first, second = (body for path, body in service.calls if path.endswith("restore"))
    assert first == second
    assert len(first["keyword_id"]) == 32


@pytest.mark.parametrize("is_former", [True, False])
def test_a_pruned_keyword_which_is_in_no_list_is_restored_by_its_text(
    service: Service, url: str, is_former: bool
) -> None:
    shown = JSONResponse({}, 200 if is_former else 404)
    service.answers = [JSONResponse({"keywords": []}), shown, JSONResponse({"restored_count": 1})]
    assert gleaner("keywords", "restore", "formic acids", "--url", url).exit_code == 0
    [restored] = [body["keyword_id"] for path, body in service.calls if path.endswith("restore")]
    former = schema.former_keyword_id("formic acids")
    assert restored == (former if is_former else schema.keyword_id(merge_key("formic acid")))


def test_a_keyword_may_look_like_markup(service: Service, url: str) -> None:
    keyword = {"keyword_id": "0" * 32, "keyword_text": "[/b] [x]", "usage_count": 1, "last_used_at": "2026-01-01T00:00"}
    candidate = keyword | {"reason": "old"}
    service.answers = [JSONResponse({"keywords": [keyword]}), JSONResponse(PRUNED | {"candidates": [candidate]})]
    for command in ("list", "prune"):
        assert "[/b] [x]" in gleaner("keywords", command, "--url", url).output


@pytest.mark.parametrize(
    "options", [("--older-than", "0"), ("--older-than", "9999999w"), ("--older-than", "x"), ("--used-less-than", "-1")]
)
def test_invalid_rules_are_usage_errors(service: Service, url: str, options: tuple[str, ...]) -> None:
    assert gleaner("keywords", "prune", "--url", url, *options).exit_code == 2
    assert service.calls == []


@pytest.mark.parametrize("name", ["nowhere", "unknown.xyz"])
def test_a_path_that_cannot_be_loaded_is_reported_before_the_service_starts(tmp_path: Path, name: str) -> None:
    (tmp_path / "unknown.xyz").write_text("x")
    result = gleaner("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--load", str(tmp_path / name))
    assert result.exit_code == 2
    assert "--load" in result.output
    assert not (tmp_path / "data").exists()


def test_the_help_and_the_errors_list_the_formats_of_the_readers(tmp_path: Path) -> None:
    formats = ", ".join(format_names())
    unknown = tmp_path / "unknown.xyz"
    unknown.write_text("x")
    usage = gleaner("ingest", "--help", COLUMNS="300").output
    error = gleaner("serve", "--port", "0", "--load", str(unknown), COLUMNS="300").output
    assert f"Files or directories: {formats}." in usage
    assert f"known formats: {formats}" in error


@pytest.mark.parametrize("variable", ["DEFAULT_KB_ID", "ADMIN_CALLERS", "CORS_ORIGINS", "MIN_USAGE"])
def test_a_malformed_setting_stops_the_service_before_it_starts(tmp_path: Path, variable: str) -> None:
    result = gleaner("serve", "--port", "0", "--data-dir", str(tmp_path / "data"), **{variable: "My, books"})
    assert variable in str(result.exception)
    assert not (tmp_path / "data").exists()
