"""Formats `gleaner` commands that people can copy from messages."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

DEFAULT_DATA_DIR = Path(".gleaner")
_NAME = "gleaner"


def format_command(*arguments: str, data_dir: Path | None = None) -> str:
    """Format a `gleaner` command that is called like the current one; `data_dir` is left out if it is the default."""
    program = sys.argv[0] if Path(sys.argv[0]).name == _NAME else f".venv/bin/{_NAME}"
    option = () if data_dir in (None, DEFAULT_DATA_DIR) else ("--data-dir", str(data_dir))
    return shlex.join((program, *arguments, *option))
