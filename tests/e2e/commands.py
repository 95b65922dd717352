"""Runs the `gleaner` command and its service as processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_SECONDS = 240  # for a machine that does much else
GLEANER = Path(sys.executable).parent / "gleaner"
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("OPENAI", "PINECONE", "PERPLEXITY", "AWS"))
}


@contextmanager
def serving(data_dir: Path, *options: str, **variables: str) -> Iterator[str]:
    """Run `gleaner serve` with these options and additional variables; yields its URL."""
    log = (data_dir.parent / "serve.log").open("a")
    process = subprocess.Popen(
        [GLEANER, "serve", "--port", "0", "--data-dir", data_dir, *options],
        stdout=log,
        stderr=log,
        env=ENVIRONMENT | {"AWS_PROFILE": "work"} | variables,  # many users have one; the local service must ignore it
    )
    try:
        yield _url(process, data_dir)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(_PATIENCE_SECONDS) == 0
        log.close()


@contextmanager
def serving_scripted(directory: Path, document: str, model_url: str, web_url: str) -> Iterator[str]:
    """Run `gleaner serve` with one document, a scripted model and a scripted web; yields its URL."""
    documents = directory / "handbook"
    documents.mkdir()
    (documents / "keywords.md").write_text(document)
    keys = {"OPENAI_API_KEY": "k", "PERPLEXITY_API_KEY": "k"}
    addresses = {"OPENAI_BASE_URL": model_url, "PERPLEXITY_BASE_URL": web_url}
    with serving(directory / "data", "--load", str(documents), **keys, **addresses) as url:
        yield url


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command with these arguments and additional variables until it ends."""
    command, env = [GLEANER, *map(str, arguments)], ENVIRONMENT | variables
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=_PATIENCE_SECONDS, check=False)


def one_line(result: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failed command printed."""
    assert result.returncode != 0
    assert "Traceback" not in result.stdout + result.stderr
    lines = (result.stdout + result.stderr).strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def _url(process: subprocess.Popen[bytes], data_dir: Path) -> str:
    running = data_dir / "running.json"
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if running.exists() and (text := running.read_text()):
            return str(json.loads(text)["url"])
        time.sleep(0.05)
    raise AssertionError((data_dir.parent / "serve.log").read_text())
