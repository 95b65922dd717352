"""The CDK's own command line, without a Node.js on the machine: `python -m infra.cdk deploy ...`.

It is an npm package; on first use, the pinned version is installed beside its lock file.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from infra.npm import NODE, install, node_environment

CLI = Path(__file__).parent / "cdk_cli"


def main(arguments: list[str]) -> int:
    """Run the CDK with these arguments and return its exit status."""
    install(CLI)
    cdk = CLI / "node_modules" / "aws-cdk" / "bin" / "cdk"
    return subprocess.run([NODE, cdk, *arguments], env=node_environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
