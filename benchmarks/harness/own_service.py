"""Runs `gleaner serve` for a benchmark, with local servers only, or with a scripted model and web."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gleaner_local.service.running import running_service
from harness.own_environment import without_remote_services

START_SECONDS = 60.0
DOCUMENT = "# Keywords\n\n## Merging\n\nDuplicate keywords are merged by a conditional write.\n"
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


@contextmanager
def scripted_service(model_url: str, web_url: str, *options: str) -> Iterator[tuple[str, int]]:
    """Run `gleaner serve` with one small document, a scripted model and web; its URL and process id."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir, document = Path(folder) / "data", Path(folder) / "keywords.md"
        document.write_text(DOCUMENT)
        command = [*COMMAND, "serve", "--port", "0", "--data-dir", str(data_dir), "--load", str(document), *options]
        env = without_remote_services() | {"OPENAI_BASE_URL": model_url, "PERPLEXITY_BASE_URL": web_url}
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
        try:
            give_up_at = time.monotonic() + START_SECONDS
            while not (state := running_service(data_dir) if (data_dir / "running.json").exists() else {}):
                assert process.poll() is None and time.monotonic() < give_up_at, "the service did not start"
                time.sleep(0.1)
            yield state["url"], process.pid
        finally:
            process.terminate()
            process.wait(START_SECONDS)
