"""What only a real account can show: the same list in the handbook and in the doctor."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from gleaner_local.diagnosis import _quotas, checklist
from gleaner_local.diagnosis.checklist import ITEMS, Need, walk
from gleaner_local.diagnosis.environment import to_placeholder
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem

DOCS = Path(__file__).parents[3] / "docs" / "09-deploying-and-operating.md"
HEADING = "## What can only a real account show?"
SUBJECTS = (
    *("stacks", "tables", "secret", "query function", "quotas", "configuration", "language model", "vector index"),
    *("web search", "schedule", "alarms", "API", "stream", "doors"),
)


def walk_through(*findings: Finding, needs: frozenset[Need] = frozenset()) -> dict[str, Finding]:
    """The findings of the list, by title."""
    found = walk(findings, names={"ENV": "dev", "API_URL": "https://api.example"}, available=needs)
    return {item.title: one for item, one in zip(ITEMS, found, strict=True)}


def test_the_handbook_has_the_list_of_the_doctor() -> None:
    section = DOCS.read_text().partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\d+\. ", line)]
    assert lines == [
        f"{number}. **{item.title}.** {item.look} Expected: {item.expected}"
        for number, item in enumerate(ITEMS, start=1)
    ]


def test_every_entry_is_settled_by_a_subject_that_the_doctor_has() -> None:
    assert {item.settled_by for item in ITEMS} - {None} <= set(SUBJECTS)
    assert len({item.title for item in ITEMS}) == len(ITEMS)
    assert not [one.title for one, other in pairwise(ITEMS) if one.look == other.look]


def test_without_findings_every_entry_says_what_to_look_at() -> None:
    for title, finding in walk_through().items():
        assert (finding.state, finding.seen) == (State.NOTE, f"Look: {title}.")
        assert "Expected: " in finding.remedy and "API_URL" not in finding.remedy
    assert "gleaner doctor --env dev --ask" in walk_through()["Pieces of a stream arrive as they are written"].remedy


def test_findings_settle_their_entries() -> None:
    good = [ok(subject, "Good.") for subject in SUBJECTS]
    everything = frozenset(Need)
    for item in ITEMS:
        expected = State.NOTE if item.settled_by is None else State.OK
        assert walk_through(*good, needs=everything)[item.title].state is expected
        asked_for_nothing = State.NOTE if item.needs else expected
        assert walk_through(*good)[item.title].state is asked_for_nothing
        bad = [*good, problem(item.settled_by or "other", "Bad.", "Fix it.")]
        found = walk_through(*bad, needs=everything)[item.title]
        assert found.state is (State.PROBLEM if item.settled_by else State.NOTE)


def test_a_note_alone_settles_nothing() -> None:
    assert walk_through(note("quotas", "Few."))["Functions at once"].state is State.NOTE
    alarms = walk_through(ok("alarms", "Good."), note("alarms", "Nobody."))["CloudWatch accepts the alarms"]
    assert alarms.state is State.OK


class LambdaDouble:
    """Answers as GetAccountSettings of the Lambda API does (API reference, AccountLimit)."""

    def __init__(self, concurrent: int) -> None:
        self._concurrent = concurrent

    def get_account_settings(self) -> dict[str, dict[str, int]]:
        """The limits of the account."""
        return {"AccountLimit": {"ConcurrentExecutions": self._concurrent, "UnreservedConcurrentExecutions": 10}}


@pytest.mark.parametrize(("concurrent", "state"), [(10, State.NOTE), (99, State.NOTE), (1000, State.OK)])
def test_the_functions_that_run_at_once_are_counted(concurrent: int, state: State) -> None:
    [finding] = _quotas.check_quotas(LambdaDouble(concurrent))
    assert finding.state is state and f"{concurrent:,}" in finding.seen
    assert ("L-B99A9384" in finding.remedy) == (state is State.NOTE)


@pytest.mark.parametrize(
    ("output", "placeholder"), [("ApiUrl", "API_URL"), ("QueryFunctionName", "QUERY_FUNCTION_NAME"), ("Url", "URL")]
)
def test_outputs_stand_in_commands_in_capitals(output: str, placeholder: str) -> None:
    assert to_placeholder(output) == placeholder
    assert checklist.SUBJECT == "checklist"
