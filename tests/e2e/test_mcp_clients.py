"""Unmodified clients of the Model Context Protocol, and its conformance suite, against the running service."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.npm import NODE
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search
from tests.doubles.scripted_web import ScriptedWeb
from tests.e2e.commands import ENVIRONMENT, GLEANER, run, serving_scripted
from tests.real_clients.environment import FOLDER, require_clients, run_python
from tests.real_clients.environment import run as run_client

pytestmark = pytest.mark.slow

MERGING = "Duplicate keywords are merged by a conditional write, which raises the usage count."
DOCUMENT = f"# Keywords\n\n{MERGING}\n"
QUESTION = "How are duplicate keywords merged?"
SUITE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NOT_APPLICABLE = json.loads((FOLDER / "conformance_not_applicable.json").read_text())
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}


def searches_and_answers(request: dict[str, Any]) -> dict[str, Any]:
    has_searched = request["messages"][-1]["role"] == "tool"
    return calls(answer(f"{MERGING} [kb-1]")) if has_searched else calls(search())


@pytest.fixture(scope="module", autouse=True)
def clients() -> None:
    """The pinned clients."""
    require_clients()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="module")
def url(
    directory: Path, scripted_model_server: tuple[ScriptedModel, str], scripted_web_server: tuple[ScriptedWeb, str]
) -> Iterator[str]:
    """The service as a user runs it, with a scripted model and web."""
    scripted_model_server[0].plays(searches_and_answers)
    with serving_scripted(directory, DOCUMENT, scripted_model_server[1], scripted_web_server[1]) as address:
        yield address


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_official_client_searches_reads_and_asks(url: str, directory: Path, transport: str, mode: str) -> None:
    bridge = [str(GLEANER), "mcp", "--stdio", "--data-dir", str(directory / "data")]
    paths = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    to_server = {"url": f"{url}/mcp", "api_key": "reader"} if transport == "http" else {"command": bridge, "env": paths}
    seen = run_python("use_mcp.py", json.dumps({"question": QUESTION, "mode": mode} | to_server))
    assert seen["version"] == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert seen["tools"] == {"search": True, "fetch": True, "ask": False, "list_keywords": True}
    [found] = seen["found"]
    assert MERGING in seen["read"]["text"]
    assert seen["read"]["url"] == found["url"] == f"{url}/api/passages/{found['id']}"
    assert httpx.get(found["url"]).json()["title"] == "Keywords"
    for asked in (*seen["asked"], seen["follow_up"]):
        assert asked["answer"] == f"{MERGING} [kb-1]"
        assert [source["id"] for source in asked["sources"]] == [found["id"]]
    assert len({asked["session_id"] for asked in seen["asked"]}) == 3
    assert seen["follow_up"]["session_id"] == seen["asked"][0]["session_id"]
    assert seen["keywords"] == {"keywords": [], "next_cursor": None}
    assert seen["invalid"]["is_error"] and "query: is missing" in seen["invalid"]["text"]
    assert (seen["unknown"]["code"], "search, fetch" in seen["unknown"]["text"]) == (-32602, True)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_the_conformance_suite_passes_where_it_applies(url: str, version: str, tmp_path: Path) -> None:
    command = [NODE, SUITE, "server", "--url", f"{url}/mcp", "--suite", "all", "--spec-version", version]
    output = run_client([*command, "-o", tmp_path])
    results = [(scenario_of(path), check) for path in tmp_path.glob("*/checks.json") for check in read(path)]
    checked = {(scenario, check["id"]) for scenario, check in results}
    expected = {
        (scenario, check_id)
        for scenarios in NOT_APPLICABLE.values()
        for scenario, check_ids in scenarios.items()
        for check_id in check_ids
    }
    failed = {(scenario, check["id"]): check for scenario, check in results if check["status"] == "FAILURE"}
    assert len(checked) > len(checked & expected), output.stdout + output.stderr
    unexpected = [failed[key] for key in failed.keys() - expected]
    assert failed.keys() == checked & expected, json.dumps(unexpected, indent=2)


def scenario_of(path: Path) -> str:
    """`server-NAME-TIME` is the folder of the results of a scenario."""
    match = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT.+", path.parent.name)
    assert match is not None
    return match[1]


def read(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(path.read_text()))


def speak(*lines: Any, data_dir: Path) -> subprocess.CompletedProcess[str]:
    """What the bridge answers to lines, until their end."""
    text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    command = [GLEANER, "mcp", "--stdio", "--data-dir", data_dir]
    return subprocess.run(command, input=text, capture_output=True, text=True, env=ENVIRONMENT, timeout=99, check=False)


def test_the_bridge_ends_with_its_input_and_writes_messages_only(url: str, directory: Path) -> None:
    ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
    ended = speak(INITIALIZE, "", "{broken", ping, data_dir=directory / "data")
    answers = {one["id"]: one for one in map(json.loads, ended.stdout.splitlines())}
    assert (ended.returncode, ended.stderr, answers.keys()) == (0, "", {1, None, "p"})
    assert answers[1]["result"]["protocolVersion"] == "2025-11-25"
    assert answers[None]["error"]["code"] == -32700


def test_the_bridge_says_that_no_service_runs(tmp_path: Path) -> None:
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    ended = speak(INITIALIZE, notification, data_dir=tmp_path)
    [line] = ended.stdout.splitlines()
    assert (ended.returncode, json.loads(line)["id"]) == (0, 1)
    assert "No service uses" in json.loads(line)["error"]["message"]
    assert ended.stderr.splitlines() == [json.loads(line)["error"]["message"]] * 2


def test_the_bridge_stops_at_once_when_it_is_interrupted(url: str, directory: Path) -> None:
    command = [GLEANER, "mcp", "--stdio", "--data-dir", directory / "data"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process: subprocess.Popen[str] = subprocess.Popen(command, text=True, env=ENVIRONMENT, **pipes)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=120)
    assert (process.returncode, rest, errors) == (130, "", "Stopped.\n")


def test_the_command_prints_a_bridge_that_works(url: str, directory: Path) -> None:
    printed = run("mcp", "--data-dir", directory / "data").stdout
    assert f"claude mcp add --transport http gleaner {url}/mcp\n" in printed
    start = printed.index("{", printed.index("Claude Desktop"))
    entry = json.JSONDecoder().raw_decode(printed[start:])[0]["mcpServers"]["gleaner"]
    text = json.dumps(INITIALIZE) + "\n"
    command = [entry["command"], *entry["args"]]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, cwd="/", env=ENVIRONMENT, check=False)
    assert json.loads(ended.stdout)["result"]["serverInfo"]["name"] == "gleaner"
