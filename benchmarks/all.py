"""Runs the benchmarks one after the other, and reports at the end which of them failed.

    .venv/bin/python benchmarks/all.py [DIR…]

Each script describes itself in its docstring. Scripts that need a collection of documents and questions run only for
the given DIRs, whose files retrieval.py describes. The sizes here give an overview within minutes. Run a script by
itself for more, such as load.py for its 5,000 questions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WITHOUT_COLLECTION = (
    "cost.py",
    "loop.py --questions 30 --rounds 4",
    "peers.py --questions 20 --rounds 4 --starts 3",
    "cold_start.py --rounds 5",
    "load.py --questions 1000",
    "streaming.py",
    "doors.py",
    "page.py",
    "conversations.py --messages 200",
    "keywords.py merge",
    "keywords.py lookup --sizes 1000 10000",
    "prune.py --sizes 1000 10000",
    "index_scale.py --chunks 20000",
    "faults.py",
    "redaction.py",
    "reuse.py",
    "ingestion.py speed queue",
)
WITH_COLLECTION = (
    "retrieval.py",
    "extractive.py --limit 100",
    "streamed_answers.py --limit 100",
    "keywords.py learning",
    "support.py",
)


def main() -> None:
    """Run all of them; exit with 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collections", nargs="*", type=Path, metavar="DIR")
    collections = parser.parse_args().collections
    commands = [line.split() for line in WITHOUT_COLLECTION]
    commands += [[*line.split(), str(folder.resolve())] for folder in collections for line in WITH_COLLECTION]
    failed = [" ".join(command) for command in commands if not run(command)]
    if failed:
        sys.exit(f"Failed: {'; '.join(failed)}")


def run(command: list[str]) -> bool:
    """Run one and return whether it succeeded."""
    print(f"\n=== {' '.join(command)}\n", flush=True)
    start = time.monotonic()
    succeeded = subprocess.run([sys.executable, HERE / command[0], *command[1:]], check=False).returncode == 0
    print(f"\n{'done' if succeeded else 'FAILED'} after {time.monotonic() - start:.0f} s", flush=True)
    return succeeded


if __name__ == "__main__":
    main()
