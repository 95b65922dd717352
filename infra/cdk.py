"""The CDK's own command line, without a Node.js on the machine: `python -m infra.cdk deploy ...`.

It is an npm package; on first use, the pinned version is installed beside its lock file.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.npm import NODE, InstallationError, install, node_environment

CLI = Path(__file__).parent / "cdk_cli"
INTERRUPTED = 130  # the exit status of a program that Ctrl-C ended, as shells have it


def main(arguments: list[str]) -> int:
    """Run the CDK with these arguments and return its exit status. It is INTERRUPTED after Ctrl-C."""
    try:
        install(CLI)
    except InstallationError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    status = _wait([NODE, CLI / "node_modules" / "aws-cdk" / "bin" / "cdk", *arguments])
    if status == INTERRUPTED and arguments[0] in ("deploy", "destroy"):
        print(
            "CloudFormation goes on with what was begun; look with "
            f"`.venv/bin/python -m infra.rollout {_environment(arguments)}`.",
            file=sys.stderr,
        )
    return status


def _wait(command: Sequence[str | Path]) -> int:
    """Run the command to its end, also after Ctrl-C, which reaches it by itself: both are one job of the terminal.

    `subprocess.run` would kill it a quarter of a second later, while it still says how far it got.
    """
    interrupted = False
    with subprocess.Popen(command, env=node_environment()) as process:
        while process.returncode is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                interrupted = True
    return INTERRUPTED if interrupted else process.returncode


def _environment(arguments: Sequence[str]) -> str:
    """The name of the environment whose stacks the arguments name."""
    stacks = (re.match(r"gleaner-([^/]+)/", argument) for argument in arguments)
    return next((stack[1] for stack in stacks if stack), "ENV")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
