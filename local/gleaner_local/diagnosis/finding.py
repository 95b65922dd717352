"""The findings of checks: each is one line that says what was seen and, if something is wrong, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit


class State(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"  # worth knowing, but not a fault
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
    """Where the settings of a service come from, in the words of a remedy."""

    key: str
    address: str
    model: str = ""
    api: str = "OPENAI_API"
    effort: str = "OPENAI_REASONING_EFFORT"


def ok(subject: str, text: str) -> Finding:
    """A finding without a fault."""
    return Finding(subject=subject, state=State.OK, seen=text)


def note(subject: str, text: str, remedy: str = "") -> Finding:
    """A finding that is worth knowing, but not a fault."""
    return Finding(subject=subject, state=State.NOTE, seen=text, remedy=remedy)


def problem(subject: str, text: str, remedy: str) -> Finding:
    """A fault; `remedy` says how to fix it."""
    return Finding(subject=subject, state=State.PROBLEM, seen=text, remedy=remedy)


def redact_address(address: str) -> str:
    """The address without user, password and query, any of which may be a key."""
    try:
        parts = urlsplit(address if "//" in address else f"https://{address}")
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid address"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}".rstrip("/")
