"""Compares what a question costs besides the model: Gleaner's loop, its whole function, and other frameworks.

    .venv/bin/python benchmarks/loop.py [--questions 50] [--rounds 6]

All programs ask the same model, which answers at once (harness/scripted_services.py), the same two questions. One is
answered from the knowledge base with two model calls, the other one also searches the web and needs three. All send the
same instructions and tools, and their searches return the same passages. Gleaner's loop and the bare openai SDK ask by
both APIs, Gleaner's function by the Responses API, the frameworks by chat completions. Each program is compared with
the bare SDK over its own API. The programs take turns, round by round; the figures are medians of the rounds. CPU time
is that of the program's own process. The first run creates an environment for each framework in .gleaner-bench, from
pinned requirements. The script fails if Gleaner's loop or function costs more than it may.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gleaner.prompts import read_prompt
from gleaner.tools.registry import TOOLS
from harness import function_stores, pinned_environments, scripted_services
from harness.own_environment import positive, without_remote_services

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ROOT / "benchmarks" / "frameworks"
BARE, BARE_CHAT = "bare SDK, Responses", "bare SDK, chat completions"
LOOP, LOOP_CHAT = "Gleaner's loop, Responses", "Gleaner's loop, chat completions"
HANDLER = "Gleaner's function, with stores"
FRAMEWORKS = {"openai-agents": "OpenAI Agents SDK", "pydantic-ai": "Pydantic AI", "langgraph": "LangGraph"}
QUESTIONS = {"knowledge base": scripted_services.QUESTION, "web": scripted_services.WEB_QUESTION}
WARM_UP = 15
# What the loop may cost at most, in the CPU time of the bare SDK over the same API and of the best framework.
MAX_TO_BARE, MAX_TO_FRAMEWORK = 1.5, 0.6
# What the whole function may cost at most, in the CPU time of the bare SDK, by kind of question.
MAX_FUNCTION_TO_BARE = {"knowledge base": 2.2, "web": 1.8}


@dataclass(slots=True)
class Program:
    """A running program and the measurements of its rounds, by kind of question."""

    name: str
    bare: str  # the bare SDK that it is compared with
    process: subprocess.Popen[str]
    cpu: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in QUESTIONS})
    wall: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in QUESTIONS})
    calls: dict[str, float] = field(default_factory=dict)  # model calls for each question

    def ask(self, questions: list[str]) -> dict[str, Any]:
        """Let the program answer these questions."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(questions) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = self.read()
        return answer

    def read(self) -> Any:
        """Read the next message of the program. Raises RuntimeError if it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self.process.wait()}; see its message above.")
        return json.loads(line)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=positive, default=50, help="in a round, of each kind")
    parser.add_argument("--rounds", type=positive, default=6)
    options = parser.parse_args()
    environments = {name: pinned_environments.create(name, PROGRAMS / f"{name}.txt") for name in FRAMEWORKS}
    with scripted_services.start() as services, tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        programs = start_programs(stack, Path(folder), services, environments)
        for program in programs:
            program.read()  # the program is ready
        measure(programs, services, options.questions, options.rounds)
    show(programs, options.questions, options.rounds)
    if not is_cheap_enough(programs):
        sys.exit("A limit is exceeded, see above.")


def start_programs(
    stack: ExitStack, folder: Path, services: scripted_services.Services, environments: dict[str, Path]
) -> list[Program]:
    """Start all programs; they end with the stack."""
    materials = folder / "materials.json"
    materials.write_text(json.dumps(shared_materials()))
    own = Path(sys.executable)
    handler_env = stack.enter_context(function_stores.start(folder, services)) | {"OPENAI_API": "responses"}
    commands: list[tuple[str, str, Path, list[str], dict[str, str]]] = [
        (BARE, BARE, own, ["bare_sdk_responses.py"], {}),
        (LOOP, BARE, own, ["gleaner_loop.py", "responses"], {}),
        (BARE_CHAT, BARE_CHAT, own, ["bare_sdk.py"], {}),
        (LOOP_CHAT, BARE_CHAT, own, ["gleaner_loop.py", "chat"], {}),
        (HANDLER, BARE, own, ["gleaner_handler.py"], handler_env),
    ]
    for name, label in FRAMEWORKS.items():
        commands.append((label, BARE_CHAT, environments[name], [f"with_{name.replace('-', '_')}.py"], {}))
    programs = []
    for label, bare, python, (file, *arguments), env in commands:
        process = subprocess.Popen(
            [python, PROGRAMS / file, services.model_url, materials, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=without_remote_services() | env,
        )
        stack.callback(process.wait)
        stack.callback(process.communicate)
        programs.append(Program(label, bare, process))
    return programs


def shared_materials() -> dict[str, Any]:
    """What all programs use: Gleaner's instructions and tools, and the results of the searches."""
    chunks = [
        {
            "id": f"kb-{number}",
            "content": function_stores.PASSAGE.format(number=number),
            "score": 0.9 - number / 100,
            "source_type": "knowledge_base",
            "title": "Handbook",
            "chapter": "Keywords",
            "source_file_path": "docs/keywords.md",
        }
        for number in range(1, 6)
    ]
    citations = [
        {"id": f"web-{place}"} | {name: item[name] for name in ("url", "title", "snippet", "date")}
        for place, item in enumerate(scripted_services.WEB_RESULTS, 1)
    ]
    specs = {name: tool.spec() for name, tool in TOOLS.items()}
    return {
        "system": read_prompt("system"),
        "descriptions": {name: spec.description for name, spec in specs.items()},
        "parameters": {name: spec.parameters for name, spec in specs.items()},
        "passages": {"chunks": chunks, "total_chunks_found": len(chunks), "retrieval_time_ms": 0.1},
        "web": {"answer": scripted_services.WEB_ANSWER, "citations": citations},
    }


def measure(programs: list[Program], services: scripted_services.Services, questions: int, rounds: int) -> None:
    """Let the programs take turns; each round starts with another one."""
    total = 0
    for number in range(-1, rounds):  # the first round is a warm-up
        for kind, question in QUESTIONS.items():
            size = questions if number >= 0 else WARM_UP
            texts = [question.format(word=scripted_services.word(total + i)) for i in range(size)]
            total += size
            first = number % len(programs)
            for program in programs[first:] + programs[:first]:
                before = services.model_calls()
                result = program.ask(texts)
                program.calls[kind] = (services.model_calls() - before) / size
                if number >= 0:
                    program.cpu[kind].append(result["cpu"])
                    program.wall[kind].append(statistics.median(result["walls"]))


def show(programs: list[Program], questions: int, rounds: int) -> None:
    """Print a table for each kind of question."""
    print(f"{rounds} rounds of {questions} questions, {os.cpu_count()} cores, Python {sys.version.split()[0]}")
    for kind in QUESTIONS:
        cpu = cpu_seconds(programs, kind)
        best = best_framework(cpu)
        print(f"\n{kind:34}{'calls':>6}{'CPU ms':>8}{'wall ms':>9}{'CPU / bare':>12}{'CPU / best framework':>22}")
        for program in programs:
            own, wall = cpu[program.name], statistics.median(program.wall[kind])
            figures = f"{program.calls[kind]:6.2f}{own * 1000:8.2f}{wall * 1000:9.2f}"
            print(f"{program.name:34}{figures}{own / cpu[program.bare]:12.2f}{own / best:22.2f}")


def is_cheap_enough(programs: list[Program]) -> bool:
    """Whether Gleaner's loop, over both APIs, and its function keep their limits with both kinds of questions."""
    loops = [program for program in programs if program.name in (LOOP, LOOP_CHAT)]
    by_kind = {kind: cpu_seconds(programs, kind) for kind in QUESTIONS}
    return all(cpu[HANDLER] <= MAX_FUNCTION_TO_BARE[kind] * cpu[BARE] for kind, cpu in by_kind.items()) and all(
        cpu[loop.name] <= min(MAX_TO_BARE * cpu[loop.bare], MAX_TO_FRAMEWORK * best_framework(cpu))
        for cpu in by_kind.values()
        for loop in loops
    )


def cpu_seconds(programs: list[Program], kind: str) -> dict[str, float]:
    """The CPU time of one question, by program."""
    return {program.name: statistics.median(program.cpu[kind]) for program in programs}


def best_framework(cpu: dict[str, float]) -> float:
    """The CPU time of the framework that takes the least."""
    return min(cpu[name] for name in FRAMEWORKS.values())


if __name__ == "__main__":
    main()
