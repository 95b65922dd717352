"""Runs `gleaner serve` for a benchmark, with local servers only."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gleaner_local.service.running import running_service
from harness.own_environment import without_remote_services

START_SECONDS = 60.0
COMMAND = (sys.executable, "-c", "from gleaner_local.commands.main import main; main()")


@contextmanager
def service(data_dir: Path) -> Iterator[dict[str, str]]:
    """Run `gleaner serve` until the end of the block; its `url` and `pinecone_index_host`."""
    log = data_dir / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--data-dir", str(data_dir)],
            env=without_remote_services(),
            stdout=output,
            stderr=output,
        )
        try:
            give_up_at = time.monotonic() + START_SECONDS
            while not (data_dir / "running.json").exists():
                if process.poll() is not None or time.monotonic() > give_up_at:
                    raise SystemExit(f"The service did not start:\n{log.read_text()}")
                time.sleep(0.1)
            yield running_service(data_dir)
        finally:
            process.terminate()
            process.wait(START_SECONDS)
