"""Wall and CPU time per question of the local service with a model that answers at once: what Gleaner itself costs.

    .venv/bin/python benchmarks/overhead.py [--questions 200]

CPU time is that of the service's processes (gateway and index, function, DynamoDB), read from /proc. The
baseline is the same two model calls made by the bare openai SDK in this process, in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import openai

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner_local.asgi import AsgiServer
from tests.doubles.scripted_model import ScriptedModel, answer, calls, search

QUESTION = "How are duplicate keywords merged?"
DOCUMENT = "# Keywords\n\n## Merging\n\nDuplicate keywords are merged by a conditional write.\n"
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=200)
    questions = parser.parse_args().questions
    with scripted_model() as model_url, service(model_url) as (url, process):
        client = httpx.Client(base_url=url, timeout=30)
        sdk = openai.OpenAI(api_key="k", base_url=model_url, max_retries=0)
        for _ in range(20):
            ask(client)
            ask_bare(sdk)
        bare_cpu = time.process_time()
        bare = timed(lambda: ask_bare(sdk), questions)
        bare_cpu = (time.process_time() - bare_cpu) / questions
        before = cpu_seconds(process.pid)
        whole = timed(lambda: ask(client), questions)
        used = {name: seconds - before.get(name, 0.0) for name, seconds in cpu_seconds(process.pid).items()}
    print(f"{questions} questions one after the other, {os.cpu_count()} cores, Python {sys.version.split()[0]}\n")
    print(f"{'':38}{'p50 ms':>8}{'p95 ms':>8}{'CPU ms':>8}")
    print(
        f"{'bare SDK, two model calls':38}{percentiles(bare)}{bare_cpu * 1000:8.1f}   (with the scripted model's own)"
    )
    print(f"{'Gleaner over HTTP, two model calls':38}{percentiles(whole)}{sum(used.values()) / questions * 1000:8.1f}")
    for name, seconds in sorted(used.items(), key=lambda item: -item[1]):
        print(f"{'  of it ' + name:54}{seconds / questions * 1000:8.1f}")
    print(f"\nwall, Gleaner / bare SDK: {statistics.median(whole) / statistics.median(bare):.1f}")


@contextmanager
def scripted_model() -> Iterator[str]:
    """A model that searches, then answers."""
    model = ScriptedModel()
    model.plays(lambda request: calls(search() if len(request["tools"]) == 1 else answer()))
    server = AsgiServer(model.app)
    server.start()
    yield f"{server.url}/v1"
    server.stop()


@contextmanager
def service(model_url: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A running `gleaner serve` over one small document."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir, document = Path(folder) / "data", Path(folder) / "keywords.md"
        document.write_text(DOCUMENT)
        command = [Path(sys.executable).parent / "gleaner", "serve", "--port", "0", "--data-dir", data_dir]
        env = os.environ | {"OPENAI_BASE_URL": model_url, "OPENAI_API_KEY": "k"}
        process = subprocess.Popen([*command, "--load", document], env=env, stdout=subprocess.DEVNULL)
        running = data_dir / "running.json"
        while not running.exists() and process.poll() is None:
            time.sleep(0.05)
        time.sleep(0.2)
        yield json.loads(running.read_text())["url"], process
        process.terminate()
        process.wait()


def ask(client: httpx.Client) -> None:
    """One question through the API."""
    client.post("/api/chat/query", json={"query": QUESTION}).raise_for_status()


def ask_bare(sdk: openai.OpenAI) -> None:
    """The two model calls of a question, and nothing else."""
    tool = {"type": "function", "function": {"name": "t", "parameters": {"type": "object", "properties": {}}}}
    for tools in ([tool], [tool, tool]):
        sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}], tools=tools)  # type: ignore[arg-type]


def timed(run: Callable[[], None], times: int) -> list[float]:
    """Wall seconds of each run."""
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return seconds


def percentiles(seconds: list[float]) -> str:
    """Median and 95th percentile in milliseconds."""
    return f"{statistics.median(seconds) * 1000:8.1f}{statistics.quantiles(seconds, n=20)[-1] * 1000:8.1f}"


def cpu_seconds(root: int) -> dict[str, float]:
    """User and system seconds of a process and its descendants, by what they are."""
    used: dict[str, float] = {}
    parents = {int(p.name): int(stat(p)[1]) for p in Path("/proc").iterdir() if p.name.isdigit()}
    for pid in parents:
        above = pid
        while above not in (0, root):
            above = parents.get(above, 0)
        if above == root:
            name, fields = role(pid, root), stat(Path(f"/proc/{pid}"))
            used[name] = used.get(name, 0.0) + (int(fields[11]) + int(fields[12])) / TICKS
    return used


def stat(process: Path) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return ["", "0"] + ["0"] * 20


def role(pid: int, root: int) -> str:
    """What a process of the service does."""
    command = Path(f"/proc/{pid}/cmdline").read_text()
    if pid == root:
        return "gateway and index"
    return "DynamoDB (ministack)" if "ministack" in command else "function"


if __name__ == "__main__":
    main()
