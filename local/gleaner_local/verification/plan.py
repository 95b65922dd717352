"""All checks, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gleaner.api.health import Health
from gleaner_local.clients.http_api import ApiClient, CallFailed, OutOfReach
from gleaner_local.verification import _answers, _conversations, _refusals, _selections
from gleaner_local.verification._probe import CheckFailed, Probe, expect


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """A promise of the service; `run` says what was seen, or raises CheckFailed."""

    name: str
    run: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one check, and what was seen."""

    name: str
    outcome: Outcome
    seen: str


class Skipped(Exception):
    """The check cannot be tried here; the message says why."""


def plan(
    client: ApiClient, *, other: ApiClient | None, kb_id: str | None, covered: str, uncovered: str
) -> Sequence[Check]:
    """The checks. `covered` and `uncovered` are questions that the knowledge base answers, and does not.

    `other` calls as somebody else; without it, what belongs to somebody else is not tried.
    """
    probe = Probe(client, kb_id=kb_id)

    def foreign() -> str:
        if other is None:
            raise Skipped("the caller can be chosen only on a local service, and without --api-key and --token")
        return _refusals.foreign(probe, Probe(other, kb_id=kb_id), covered)

    return (
        Check("health", lambda: _health(probe)),
        Check("tools", lambda: _answers.tools(probe, covered)),
        Check("covered question", lambda: _answers.covered(probe, covered)),
        Check("uncovered question", lambda: _answers.uncovered(probe, uncovered)),
        # After the open question: what the web has taught by now must not be cited either.
        Check("strict grounding", lambda: _answers.strict(probe, uncovered)),
        Check("selected text", lambda: _selections.selected_text(probe)),
        Check("instructing text", lambda: _selections.instructions(probe)),
        Check("session", lambda: _conversations.session(probe, covered, uncovered)),
        Check("follow-up question", lambda: _conversations.follow_up(probe, covered)),
        Check("bad input", lambda: _refusals.bad_input(probe)),
        Check("somebody else's", foreign),
        Check("deletion", lambda: _conversations.deletion(probe)),
    )


def results(checks: Sequence[Check]) -> Iterator[Result]:
    """Try each check, also after one that failed. Raises OutOfReach when nothing answers."""
    for check in checks:
        try:
            yield Result(check.name, Outcome.OK, check.run())
        except Skipped as reason:
            yield Result(check.name, Outcome.SKIPPED, str(reason))
        except OutOfReach:
            raise
        except (CheckFailed, CallFailed) as error:
            yield Result(check.name, Outcome.FAILED, str(error))


def _health(probe: Probe) -> str:
    status = probe.call("GET", "/api/health", Health).status
    expect(status == "ok", f"status {status}")
    return f"status {status}"
