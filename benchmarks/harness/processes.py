"""Reads the CPU time and memory of a running `gleaner serve` from /proc (Linux), by the role of its processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Fields of /proc/PID/stat, counted from the state.
_PARENT, _USER, _SYSTEM, _RESIDENT = 1, 11, 12, 21


def cpu_seconds(root: int) -> Counter[str]:
    """User and system seconds of a process and its descendants."""
    return _sums(root, lambda fields: (int(fields[_USER]) + int(fields[_SYSTEM])) / _TICKS)


def resident_bytes(root: int) -> Counter[str]:
    """Resident memory of a process and its descendants."""
    return _sums(root, lambda fields: int(fields[_RESIDENT]) * _PAGE)


def _sums(root: int, measure: Callable[[list[str]], float]) -> Counter[str]:
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
            sums[_role(pid, root)] += measure(state)  # type: ignore[assignment]  # sums of seconds
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
