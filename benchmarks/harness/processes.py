"""Reads the CPU time and memory of a running `gleaner serve` from /proc (Linux), by the role of its processes."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat, counted from the state.
_PARENT, _RESIDENT = 1, 21
_CPU_CLOCK = 2  # of the clocks of a process, that of its CPU time in nanoseconds (clock_getcpuclockid(3) of glibc)


def cpu_seconds(root: int) -> Counter[str]:
    """User and system seconds of a process and its descendants."""
    return _sums(root, lambda pid, _: time.clock_gettime((~pid << 3) | _CPU_CLOCK))


def resident_bytes(root: int) -> Counter[str]:
    """Resident memory of a process and its descendants."""
    return _sums(root, lambda _, fields: int(fields[_RESIDENT]) * _PAGE)


def _sums(root: int, measure: Callable[[int, list[str]], float]) -> Counter[str]:
    """The sums of `measure` over the states of the processes, by role."""
    states = {
        int(path.name): state for path in Path("/proc").iterdir() if path.name.isdigit() and (state := _state(path))
    }
    sums: Counter[str] = Counter()
    for pid, state in states.items():
        ancestor = pid
        while ancestor != root and ancestor in states:
            ancestor = int(states[ancestor][_PARENT])
        if ancestor == root:
            with suppress(OSError):  # it has ended meanwhile
                sums[_role(pid, root)] += measure(pid, state)  # type: ignore[assignment]  # sums of seconds
    return sums


def _state(process: Path) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty if the process has ended."""
    try:
        return (process / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


def _role(pid: int, root: int) -> str:
    command = Path(f"/proc/{pid}/cmdline").read_text()
    if pid == root:
        return "gateway and index"
    if "ministack" in command:
        return "DynamoDB (ministack)"
    return "functions" if "spawn_main" in command else "other"
