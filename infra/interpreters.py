"""Finds a Python of a given version on this machine: bytecode must be compiled by the version that runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "LAYER_PYTHON"  # the path of an interpreter


def find_python(version: str) -> Path | None:
    """Find an interpreter of `version` (such as "3.13"); None if there is none. Downloads nothing."""
    return next((path for path in _candidates(version) if _version(path) == version), None)


def _candidates(version: str) -> Iterator[Path]:
    """The interpreter named by the variable, this one, one on the PATH, uv's, pyenv's."""
    if os.environ.get(VARIABLE):
        yield Path(os.environ[VARIABLE])
    yield Path(sys.executable)
    if on_path := shutil.which(f"python{version}"):
        yield Path(on_path)
    command = [sys.executable, "-m", "uv", "python", "find", "--managed-python", "--no-python-downloads", version]
    if managed := subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip():
        yield Path(managed)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True)


def _version(python: Path) -> str | None:
    """The version of an interpreter; None if it does not run, like a shim of a missing version."""
    command = [str(python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
