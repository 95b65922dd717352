"""The modes of deployed files, which Lambda runs as another user than the one who built them."""

from __future__ import annotations

import stat
from pathlib import Path


def make_readable(directory: Path) -> None:
    """Let everybody read the files of `directory`, and execute those that the owner may; only the owner may write.

    Archives keep file modes, which come from the umask of whoever checks out, builds and deploys.
    """
    for path in (directory, *directory.rglob("*")):
        executable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if executable else 0o644)
