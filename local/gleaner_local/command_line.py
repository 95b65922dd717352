"""Commands as somebody may type them again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

default_data_dir = Path(".gleaner")
_NAME = "gleaner"


def gleaner(*arguments: str, data_dir: Path | None = None) -> str:
    """A `gleaner` command with these arguments, called as the present one was; `data_dir` is named unless usual."""
    called = sys.argv[0] if Path(sys.argv[0]).name == _NAME else f".venv/bin/{_NAME}"
    option = () if data_dir in (None, default_data_dir) else ("--data-dir", str(data_dir))
    return shlex.join((called, *arguments, *option))
