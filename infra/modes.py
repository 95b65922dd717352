"""The modes of the files that ship: Lambda runs them as another user than whoever built them."""

from __future__ import annotations

import stat
from pathlib import Path


def make_readable(directory: Path) -> None:
    """Let everybody read what lies in `directory`, and run what its owner may run; only the owner may write.

    Archives keep the modes of files, and those come from the umask of whoever checks out, builds and deploys.
    """
    for path in (directory, *directory.rglob("*")):
        runs = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runs else 0o644)
