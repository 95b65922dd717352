"""A directory that all processes of a test run share, for what is expensive to make."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

_VARIABLE = "GLEANER_TEST_RUN_DIRECTORY"


def share(factory: pytest.TempPathFactory) -> None:
    """Set the directory of this process. The processes of pytest-xdist have theirs in one that they share."""
    own = factory.getbasetemp()
    os.environ[_VARIABLE] = str(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


def make_once(name: str, make: Callable[[Path], None]) -> Path:
    """The path `name` in the directory, made by the first process that asks for it while the others wait."""
    path = Path(os.environ[_VARIABLE]) / name
    done = path.with_suffix(".done")
    with FileLock(path.with_suffix(".lock")):
        if not done.exists():
            make(path)
            done.touch()
    return path
