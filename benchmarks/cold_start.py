"""Times a new execution environment: until a function is ready, for its first answer and for its second.

    .venv/bin/python benchmarks/cold_start.py [--rounds 8]

Each figure comes from a fresh process of the Python version that Lambda runs. The layer is the deployed one, with its
bytecode, but built for this machine's architecture; boto3 is outside of it as in Lambda's runtime. The model and the
web answer at once and the store is local. The baseline of the same run imports the same SDKs, creates a client of each,
and does nothing else. The figures exclude SnapStart, which does everything before `ready` when a version is published.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from harness import function_stores, scripted_services
from harness.own_environment import positive
from infra import layer_build
from infra.interpreters import find_python
from infra.layer_build import LAMBDA, Target
from tests.conftest import proxy_event

ROOT = Path(__file__).resolve().parents[1]
PROBE = ROOT / "benchmarks" / "harness" / "cold_start_probe.py"
RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath")  # packages of Lambda's runtime
SDKS, BOTO3 = "openai and boto3", "boto3"
FUNCTIONS = {"query": (ROOT / "functions" / "query", SDKS), "prune": (ROOT / "functions" / "keyword_prune", BOTO3)}
STEPS = ("ready", "first", "second")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=8)
    rounds = parser.parse_args().rounds
    python = find_python(LAMBDA.python_version)
    if python is None:
        sys.exit(f"No Python {LAMBDA.python_version} was found; set LAYER_PYTHON to the path of one.")
    layer = layer_build.build(Target(python_version=LAMBDA.python_version, platform=None))
    print(layer_build.describe(layer))
    with scripted_services.start() as services, tempfile.TemporaryDirectory() as folder:
        event = Path(folder) / "event.json"
        body = json.dumps({"query": scripted_services.QUESTION.format(word="books")})
        event.write_text(json.dumps(proxy_event("POST", "/api/chat/query", "benchmark") | {"body": body}))
        with function_stores.start(Path(folder), services) as variables:
            paths = f"{layer.path / 'python'}{os.pathsep}{runtime(python)}"
            env = variables | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
            results = measure(python, event, env, rounds)
    show(results, rounds)


def runtime(python: Path) -> Path:
    """Create a directory with the packages of Lambda's runtime, in this environment's versions, with bytecode."""
    folder = ROOT / "build" / "runtime" / f"boto3-{version('boto3')}-python{LAMBDA.python_version}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for name in RUNTIME:
            spec = find_spec(name)
            assert spec is not None and spec.origin is not None
            source = Path(spec.origin).parent
            shutil.copytree(source, unfinished / name, ignore=shutil.ignore_patterns("__pycache__"))
        compile_all = [str(python), "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
        subprocess.run([*compile_all, unfinished], check=True)
        unfinished.rename(folder)
    return folder


def measure(python: Path, event: Path, env: dict[str, str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Run the probes in turns; their results by what they load. An extra first round warms the disk cache."""
    probes = {SDKS: SDKS, BOTO3: BOTO3} | {name: str(path) for name, (path, _) in FUNCTIONS.items()}
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in probes}
    for number in range(-1, rounds):
        for name, target in probes.items():
            run = subprocess.run(
                [python, PROBE, target, event],
                env=env | lambda_variables(target),
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                sys.exit(run.stderr)
            if number >= 0:
                results[name].append(json.loads(run.stderr.splitlines()[-1]))
    return results


def lambda_variables(task_root: str) -> dict[str, str]:
    """The variables that Lambda sets; among other things, they turn tracing on."""
    return {
        "LAMBDA_TASK_ROOT": task_root,
        "AWS_LAMBDA_FUNCTION_NAME": "function",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_REGION": "us-east-1",
        "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
    }


def show(results: dict[str, list[dict[str, Any]]], rounds: int) -> None:
    """Print the medians, and the ratios of the functions to their SDKs."""
    print(f"\nmedians of {rounds} fresh processes, {os.cpu_count()} cores; milliseconds of wall time (of CPU time)\n")
    print(f"{'':20}{'modules':>8}" + "".join(f"{step:>15}" for step in STEPS) + f"{'ready / its SDKs':>20}")
    for name, runs in results.items():
        line = f"{name:20}{runs[0]['modules']:>8}"
        for step in STEPS:
            line += f"{cell(runs, step):>15}" if step in runs[0]["steps"] else f"{'':15}"
        if name in FUNCTIONS:
            line += f"{cpu(runs, 'ready') / cpu(results[FUNCTIONS[name][1]], 'ready'):20.2f}"
        print(line)


def cell(runs: list[dict[str, Any]], step: str) -> str:
    """Wall and CPU milliseconds, such as `120 (110)`."""
    wall = statistics.median(run["steps"][step][0] for run in runs)
    return f"{wall * 1000:.0f} ({cpu(runs, step) * 1000:.0f})"


def cpu(runs: list[dict[str, Any]], step: str) -> float:
    """The median of the CPU seconds of a step."""
    seconds: float = statistics.median(run["steps"][step][1] for run in runs)
    return seconds


if __name__ == "__main__":
    main()
