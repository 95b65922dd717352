"""All checks, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gleaner.api.health import Health
from gleaner_local.clients.http_api import ApiClient, CallFailed, OutOfReach
from gleaner_local.verification import _answers, _conversations, _groups, _refusals, _selections
from gleaner_local.verification._probe import CheckFailed, Probe, Skipped, expect


class Outcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    FAILED = "FAILED"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Check:
    """A promise of the service; `run` returns what was seen, or raises CheckFailed."""

    name: str
    run: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one check, and what was seen."""

    name: str
    outcome: Outcome
    seen: str


def plan(
    client: ApiClient, *, other: ApiClient | None, kb_id: str | None, covered: str, uncovered: str
) -> Sequence[Check]:
    """The checks. The knowledge base answers the question `covered`, and does not answer `uncovered`.

    `other` is another caller; without one, the check of access to somebody else's data is skipped.
    """
    probe = Probe(client, kb_id=kb_id)

    def check_other_caller() -> str:
        if other is None:
            raise Skipped("the caller can be chosen only on a local service, and without --api-key and --token")
        return _refusals.check_other_caller(probe, Probe(other, kb_id=kb_id), covered)

    return (
        Check("health", lambda: _check_health(probe)),
        Check("tools", lambda: _answers.check_tools(probe, covered)),
        Check("covered question", lambda: _answers.check_covered(probe, covered)),
        Check("uncovered question", lambda: _answers.check_uncovered(probe, uncovered)),
        # After the uncovered question: the web answer that is stored by now must not be cited either.
        Check("strict grounding", lambda: _answers.check_strict(probe, uncovered)),
        Check("selected text", lambda: _selections.check_selected_text(probe)),
        Check("instructing text", lambda: _selections.check_instructions(probe)),
        Check("session", lambda: _conversations.check_session(probe, covered, uncovered)),
        Check("follow-up question", lambda: _conversations.check_follow_up(probe, covered)),
        Check("bad input", lambda: _refusals.check_bad_input(probe)),
        Check("somebody else's", check_other_caller),
        Check(
            "another group's", lambda: _groups.check_groups(probe, None if other is None else Probe(other, kb_id=kb_id))
        ),
        Check("deletion", lambda: _conversations.check_deletion(probe)),
    )


def run_checks(checks: Sequence[Check]) -> Iterator[Result]:
    """Run every check, also after a failure. Raises OutOfReach when nothing answers."""
    for check in checks:
        try:
            yield Result(check.name, Outcome.OK, check.run())
        except Skipped as reason:
            yield Result(check.name, Outcome.SKIPPED, str(reason))
        except OutOfReach:
            raise
        except (CheckFailed, CallFailed) as error:
            yield Result(check.name, Outcome.FAILED, str(error))


def _check_health(probe: Probe) -> str:
    status = probe.call("GET", "/api/health", Health).status
    expect(status == "ok", f"status {status}")
    return f"status {status}"
