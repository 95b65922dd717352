"""Runs programs with the pinned clients: Python in `.venv-clients`, JavaScript beside `package.json` here."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from infra.npm import NODE, is_installed, node_environment

FOLDER = Path(__file__).parent
PYTHON = FOLDER.parents[1] / ".venv-clients" / "bin" / "python"
_STAMP, _REQUIREMENTS = PYTHON.parents[1] / "installed.stamp", FOLDER / "requirements.txt"
_READ_BY_CLIENTS = ("OPENAI_", "LANGCHAIN_", "LANGSMITH_", "LLM_", "MCP_", "AWS_", "PYTHON")
_SECONDS = 120


def require_clients() -> None:
    """Fail with advice unless the pinned clients are installed. Tests of several processes cannot install them."""
    is_current = _STAMP.exists() and _STAMP.stat().st_mtime >= _REQUIREMENTS.stat().st_mtime
    assert is_current and is_installed(FOLDER), "The clients are not installed, or out of date: make clients"


def run_node(script: str, *arguments: str, **variables: str) -> Any:
    """What a script of this folder prints as JSON, run with the npm clients and additional variables."""
    return json.loads(run([NODE, script, *arguments], **variables))


def run_python(script: str, *arguments: str, **variables: str) -> Any:
    """What a script of this folder prints as JSON, run with the Python clients and additional variables."""
    return json.loads(run([PYTHON, script, *arguments], **variables))


def run(command: list[str | Path], **variables: str) -> str:
    """What a program prints. It sees no variables of this machine's user that the clients read."""
    own = {name: value for name, value in node_environment().items() if not name.startswith(_READ_BY_CLIENTS)}
    ended = subprocess.run(
        command, cwd=FOLDER, env=own | variables, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
