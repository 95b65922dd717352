"""What only a real account can show: the same list in the handbook and in the doctor."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from gleaner_local.diagnosis import _item, _quotas, checklist
from gleaner_local.diagnosis._item import Feature, Item, Need
from gleaner_local.diagnosis.checklist import ITEMS, walk
from gleaner_local.diagnosis.environment import to_placeholder
from gleaner_local.diagnosis.finding import Finding, State, note, ok, problem
from infra import environments
from infra.alarm_bars import SpendingBar
from infra.documents import Documents
from infra.environment import Authorizer, Canary, Environment
from infra.environments import DEV, ENVIRONMENTS, PROD
from infra.front import Domain, Firewall
from infra.limits import Quota
from infra.pipeline import Pipeline

DOCS = Path(__file__).parents[3] / "docs" / "16-watching-and-diagnosing.md"
HEADING = "## What can only a real account show?"
SUBJECTS = (
    *("stacks", "tables", "secret", "query function", "quotas", "configuration", "language model", "vector index"),
    *("documents", "web search", "schedule", "alarms", "API", "stream", "doors"),
)


def walk_through(*findings: Finding, needs: frozenset[Need] = frozenset()) -> dict[str, Finding]:
    """The findings of the list, by title."""
    found = walk(findings, names={"ENV": "dev", "API_URL": "https://api.example"}, available=needs, record=None)
    return {item.title: one for item, one in zip(ITEMS, found, strict=True)}


def test_the_handbook_has_the_list_of_the_doctor() -> None:
    section = DOCS.read_text().partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\d+\. ", line)]
    assert lines == [
        f"{number}. **{item.title}.** {_condition(item)}{item.look} Expected: {item.expected}"
        for number, item in enumerate(ITEMS, start=1)
    ]


def _condition(item: Item) -> str:
    return f"Where {item.where.words}: " if item.where else ""


def test_every_entry_is_settled_by_a_subject_that_the_doctor_has() -> None:
    assert {item.settled_by for item in ITEMS} - {None} <= set(SUBJECTS)
    assert len({item.title for item in ITEMS}) == len(ITEMS)
    assert not [one.title for one, other in pairwise(ITEMS) if one.look == other.look]


def test_without_findings_every_entry_says_what_to_look_at() -> None:
    for title, finding in walk_through().items():
        assert (finding.state, finding.seen) == (State.NOTE, f"Look: {title}.")
        assert "Expected: " in finding.remedy and "API_URL" not in finding.remedy
    assert "gleaner doctor --env dev --ask" in walk_through()["Pieces of a stream arrive as they are written"].remedy


def test_names_of_the_environment_stand_in_commands_but_not_in_options_of_make() -> None:
    remedy = walk_through()["A service that is removed and comes back"].remedy
    assert "`make destroy ENV=dev STACK=service`, then `make deploy ENV=dev`" in remedy
    assert "https://api.example is the domain" in walk_through()["The domain"].remedy


PLAIN = replace(
    DEV,
    authorizer=Authorizer.IAM,
    chat_page=False,
    query=replace(DEV.query, snap_start=False),
    throttle=replace(DEV.throttle, quota_per_day=None),
    quota=Quota(),
    documents=None,
    alarms=replace(DEV.alarms, spending=None, email=None),
)
FEATURES = {
    "API_KEYS": replace(PLAIN, authorizer=Authorizer.API_KEY),
    "USERS": replace(PLAIN, authorizer=Authorizer.COGNITO, mcp_callback_urls=()),
    "MCP_SIGN_IN": replace(PLAIN, authorizer=Authorizer.COGNITO),
    "PAGE": replace(PLAIN, authorizer=Authorizer.API_KEY, chat_page=True),
    "DOCUMENTS": replace(PLAIN, documents=Documents()),
    "UPLOADS": replace(PLAIN, authorizer=Authorizer.API_KEY, chat_page=True, documents=Documents()),
    "FIREWALL": replace(PLAIN, firewall=Firewall()),
    "DOMAIN": replace(PLAIN, domain=Domain(name="ask.example.org", hosted_zone_id="Z1")),
    "CANARY": replace(PLAIN, canary=Canary()),
    "SNAPSHOT": replace(PLAIN, query=replace(PLAIN.query, snap_start=True)),
    "QUOTA": replace(PLAIN, quota=Quota(environment_questions_per_day=9)),
    "SPENDING": replace(PLAIN, alarms=replace(PLAIN.alarms, spending=SpendingBar(usd_per_day=2, usd_per_hour=1))),
    "EMAIL": replace(PLAIN, alarms=replace(PLAIN.alarms, email="a@example.org")),
}
# Features that come with others.
IMPLIED = {
    "API_KEYS": {"BEARER"},
    "USERS": {"BEARER"},
    "MCP_SIGN_IN": {"BEARER", "USERS"},
    "PAGE": {"BEARER", "API_KEYS"},
    "UPLOADS": {"BEARER", "API_KEYS", "PAGE", "DOCUMENTS"},
}


def _features_of(record: Environment) -> set[str]:
    every = {name: value for name, value in vars(_item).items() if isinstance(value, Feature)}
    assert set(every) == FEATURES.keys() | {"BEARER", "PIPELINE"}
    return {name for name, feature in every.items() if feature.is_of(record)}


def _titles_of(record: Environment) -> set[str]:
    found = walk([], names={}, available=frozenset(), record=record)
    return {ITEMS[int(one.subject.removeprefix("checklist ")) - 1].title for one in found}


@pytest.mark.parametrize("name", FEATURES)
def test_an_environment_is_asked_only_about_what_it_has(name: str) -> None:
    assert not _features_of(PLAIN)
    has = _features_of(FEATURES[name])
    assert has == {name} | IMPLIED.get(name, set())
    words = {getattr(_item, feature).words for feature in has}
    assert _titles_of(FEATURES[name]) == {one.title for one in ITEMS if one.where is None or one.where.words in words}


def test_every_feature_has_an_entry() -> None:
    every = {value.words for value in vars(_item).values() if isinstance(value, Feature)}
    assert {item.where.words for item in ITEMS if item.where} == every


def test_entries_that_are_left_out_leave_the_others_their_numbers() -> None:
    for record in ENVIRONMENTS:
        found = [*walk([], names={}, available=frozenset(), record=record)]
        numbers = [int(one.subject.removeprefix("checklist ")) for one in found]
        assert [one.seen for one in found] == [f"Look: {ITEMS[number - 1].title}." for number in numbers]
        assert numbers == sorted(numbers) and len(numbers) < len(ITEMS)
    assert "The usage plan counts" in _titles_of(DEV) - _titles_of(PROD)
    assert "The firewall refuses a busy address" in _titles_of(PROD) - _titles_of(DEV)


def test_the_pipeline_is_looked_at_once_a_repository_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Only main deploys from GitHub" not in _titles_of(DEV)
    pipeline = Pipeline(owner="octocat", owner_id=583231, repository="gleaner", repository_id=1296269)
    monkeypatch.setattr(environments, "PIPELINE", pipeline)
    assert "Only main deploys from GitHub" in _titles_of(DEV)


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
