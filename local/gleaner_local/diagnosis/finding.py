"""What a check found: one line that says what is, and, where something is wrong, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit


class State(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"  # worth knowing; all is well nevertheless
    PROBLEM = "PROBLEM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about `subject`: what was seen, and what to do about it. Never holds a key."""

    subject: str
    state: State
    seen: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the settings of a service come from, as a remedy names it."""

    key: str
    address: str
    model: str = ""


def ok(subject: str, seen: str) -> Finding:
    """All is well."""
    return Finding(subject=subject, state=State.OK, seen=seen)


def note(subject: str, seen: str, remedy: str = "") -> Finding:
    """Worth knowing."""
    return Finding(subject=subject, state=State.NOTE, seen=seen, remedy=remedy)


def problem(subject: str, seen: str, remedy: str) -> Finding:
    """Something is wrong, and `remedy` says what to do."""
    return Finding(subject=subject, state=State.PROBLEM, seen=seen, remedy=remedy)


def shown(address: str) -> str:
    """An address as it may be printed: without user, password and query, any of which may be a key."""
    try:
        parts = urlsplit(address if "//" in address else f"https://{address}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}".rstrip("/")
