"""Starts the services that peers.py compares, each with all its processes except the model's."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from gleaner.prompts import read_prompt
from gleaner.tools import generate_response, knowledge_base_search
from gleaner_documents.chunking import chunk_document, heading_of
from gleaner_documents.reading import read_document
from gleaner_documents.source_files import find_source_files
from gleaner_local.service.running import running_service
from harness import embeddings_server, pinned_environments, scripted_services
from harness.own_environment import without_remote_services
from harness.own_service import COMMAND, START_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "benchmarks" / "peers"
OWN_CODE = ("layers/common/python", "layers/documents/python", "local", "functions")
GLEANER_REQUIREMENTS = ("requirements/local.txt", "requirements/weights.txt")
# The Agents SDK and LangSmith, which comes with LangGraph, would send traces to their makers.
QUIET = {"OPENAI_AGENTS_DISABLE_TRACING": "1", "LANGSMITH_TRACING": "false"}
STOP_SECONDS = 30.0
LOAD_SECONDS = 900.0  # in which even a busy machine embeds the documents


@dataclass(frozen=True, slots=True)
class Running:
    """A running service: its address, and the roots of its processes by their part of it."""

    url: str
    processes: Mapping[str, int]

    def measure(self, read: Callable[[int], Counter[str]]) -> Counter[str]:
        """CPU seconds or resident bytes, which `read` takes of a process and its descendants, by part."""
        if len(self.processes) == 1:
            return read(*self.processes.values())
        return Counter({part: read(root).total() for part, root in self.processes.items()})


@dataclass(frozen=True, slots=True)
class Service:
    """A service that can be started again and again over the index that its first start made."""

    name: str
    python: Path  # of its environment
    start: Callable[[], AbstractContextManager[Running]]


def peer(name: str, program: str, folder: Path, materials: Path, services: scripted_services.Services) -> Service:
    """A peer, whose program and requirements are named alike; its environment is created if it is missing."""
    python = pinned_environments.create(f"peer-{program}", PROGRAMS / f"{program}.txt")
    file = PROGRAMS / f"with_{program.replace('-', '_')}.py"
    index = folder / "index"  # the first start of a peer makes it for all of them
    return Service(name, python, partial(_run_peer, [python, file, materials, services.model_url], index))


def gleaner(name: str, folder: Path, documents: Path, services: scripted_services.Services) -> Service:
    """Gleaner's local service, in an environment with nothing but what `make run` installs."""
    python = pinned_environments.create("gleaner", *(ROOT / path for path in GLEANER_REQUIREMENTS))
    return Service(name, python, partial(_run_gleaner, python, folder / "gleaner", documents, services))


def write_materials(path: Path, documents: Path) -> int:
    """Write what the peers are given: Gleaner's instructions, two of its tools, its passages; the number of these."""
    specs = {tool.name: tool.spec() for tool in (knowledge_base_search.TOOL, generate_response.TOOL)}
    passages = [
        {
            "title": document.title,
            "chapter": chunk.chapter,
            "source_file_path": document.source_file_path,
            "content": chunk.text,
            "searched": f"{heading_of(document, chunk)}\n\n{chunk.text}",
        }
        for file in find_source_files([documents]).files
        for document in [read_document(file.source_file_path, file.read())]
        for chunk in chunk_document(document)
    ]
    materials = {
        "system": read_prompt("system"),
        "descriptions": {name: spec.description for name, spec in specs.items()},
        "parameters": {name: spec.parameters for name, spec in specs.items()},
        "passages": passages,
    }
    path.write_text(json.dumps(materials), encoding="utf-8")
    return len(passages)


@contextmanager
def _run_peer(command: list[str | Path], index: Path) -> Iterator[Running]:
    with ExitStack() as stack:
        embeddings, embeddings_url = embeddings_server.start()
        stack.callback(embeddings.communicate)  # closes the input, which ends the process
        process = subprocess.Popen(
            [*command, embeddings_url, index],
            env=without_remote_services() | QUIET,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(_stop, process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise SystemExit(f"{command[1]} ended; see its message above.")
        yield Running(json.loads(line)["url"], {"service": process.pid, "embeddings": embeddings.pid})


@contextmanager
def _run_gleaner(
    python: Path, data_dir: Path, documents: Path, services: scripted_services.Services
) -> Iterator[Running]:
    options: list[str | Path] = ["--port", "0", "--data-dir", data_dir]
    options += [] if data_dir.exists() else ["--load", documents]
    own = {"PYTHONPATH": ":".join(str(ROOT / path) for path in (*OWN_CODE, "."))}
    named = {"OPENAI_BASE_URL": services.model_url, "PERPLEXITY_BASE_URL": services.web_url}
    process = subprocess.Popen(
        [python, *COMMAND[1:], "serve", *options],
        env=without_remote_services() | named | own,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        give_up_at = time.monotonic() + (LOAD_SECONDS if "--load" in options else START_SECONDS)
        while not (data_dir / "running.json").exists():
            if process.poll() is not None or time.monotonic() > give_up_at:
                raise SystemExit("gleaner serve did not start; see its message above.")
            time.sleep(0.01)
        yield Running(running_service(data_dir)["url"], {"gleaner serve": process.pid})
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    process.communicate(timeout=STOP_SECONDS)
