"""Entry point of the `gleaner` command, which Ctrl-C ends without a traceback at any moment."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def main() -> None:
    """Load the commands, which takes most of a second, and run the one that the arguments name."""
    try:
        from gleaner_local.commands import program

        program.run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
