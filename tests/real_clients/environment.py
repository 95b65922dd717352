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


def run_node(script: str, *arguments: str) -> Any:
    """What a script of this folder prints as JSON, run with the npm clients."""
    return _shown([NODE, script, *arguments])


def run_python(script: str, *arguments: str) -> Any:
    """What a script of this folder prints as JSON, run with the Python clients."""
    return _shown([PYTHON, script, *arguments])


def run(command: list[str | Path], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program with these additional variables. It sees none of this machine's user that the clients read."""
    own = {name: value for name, value in node_environment().items() if not name.startswith(_READ_BY_CLIENTS)}
    return subprocess.run(
        command, cwd=FOLDER, env=own | variables, capture_output=True, text=True, check=False, timeout=_SECONDS
    )


def _shown(command: list[str | Path]) -> Any:
    ended = run(command)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
