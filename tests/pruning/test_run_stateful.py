"""Random interleavings of learning, using, pruning, restoring and crashing, against a model in memory."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from typing import Any, TypeVar

import boto3
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from moto import mock_aws

from gleaner.model import new_id
from gleaner.pruning.rules import PruneReport, PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.items import from_timestamp, to_item
from gleaner.stores.keyword_items import KeywordUse, entry_keys
from gleaner.stores.keyword_pruning import is_unfinished
from gleaner.stores.schema import KEYWORDS
from gleaner.text import fold
from gleaner_local.aws import ministack
from tests.keyword_fixtures import Keywords, web_answer

T = TypeVar("T")
Items = list[dict[str, Any]]

# In two knowledge bases it has 98 look-up entries, so that one transaction holds neither pruning nor restoring it.
LONG = " ".join(chr(0x431 + number) for number in range(25))  # terms of one letter
SHORT = ("alpha topic", "beta topic", "gamma")
EVERY_TEXT = f"alpha topic beta gamma {LONG[:1]}"
KB_IDS = ("default_kb", "other_kb")
TABLE = "keywords"
RULES = PruneRules(max_age_days=90, min_usage=3, hard_max_age_days=365)
NOTHING = PruneRules(max_age_days=36_500, min_usage=0, hard_max_age_days=36_500)
UNKNOWN_RUN = "?"  # of a run that died before it could tell its id

texts = st.sampled_from(SHORT)
kb_ids = st.sampled_from(KB_IDS)
lives = st.just(inf) | st.integers(0, 4)  # writes that a process lives for


@dataclass(frozen=True, slots=True)
class Known:
    """What the model knows of a keyword."""

    active: bool = True
    uses: int = 0
    kb_ids: frozenset[str] = frozenset()  # where it is found
    ever: frozenset[str] = frozenset()  # where it was ever learned
    days: int = 0  # since its last use
    run: str | None = None  # the run that pruned it, until it is restored

    def pruned(self, run: str) -> Known:
        return replace(self, active=False, kb_ids=frozenset(), run=run)

    def restored(self) -> Known:
        return replace(self, active=True, kb_ids=self.ever, days=0, run=None) if self.run else self

    def learned(self, kb_id: str) -> Known:
        found, ever = self.kb_ids | {kb_id}, self.ever | {kb_id}
        return replace(self, active=True, uses=self.uses + 1, kb_ids=found, ever=ever, days=0)

    def is_candidate(self) -> bool:
        return self.active and (self.days > 365 or (self.days > 90 and self.uses < 3))


Model = dict[str, Known]


def agrees(head: dict[str, Any], known: Known) -> bool:
    """Whether a stored keyword is what the model says."""
    age = datetime.now(UTC) - from_timestamp(head["last_used_at"])
    return bool(
        (head["status"] == "active") == known.active
        and head["usage_count"] == known.uses
        and head.get("kb_ids", set()) == known.kb_ids
        and age.days == known.days
        and (known.run == UNKNOWN_RUN or head.get("pruned_run_id") == known.run)
    )


def is_entry(item: dict[str, Any], head: dict[str, Any]) -> bool:
    return str(item["pk"]).startswith("T#") and bool(item["keyword_id"] == head["keyword_id"])


def entries_due(head: dict[str, Any]) -> set[tuple[str, str]]:
    """Keys of the look-up entries that a keyword must have."""
    kbs = head.get("kb_ids", ())
    keys = [key for kb_id in kbs for key in entry_keys(head["keyword_id"], head["keyword_text"], kb_id)]
    return {(key["pk"], key["sk"]) for key in keys}


def pruner(keywords: Keywords, grace_days: float = 7) -> Pruner:
    return Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=grace_days))


def run(keywords: Keywords, rules: PruneRules, grace_days: float = 7) -> PruneReport:
    return pruner(keywords, grace_days).run(rules, by="test", dry_run=False, deadline=soon())


def soon() -> Deadline:
    return Deadline.after(20)


@dataclass(slots=True)
class Process:
    """Lets the process that talks to DynamoDB end before a write; nothing it does afterwards arrives."""

    keywords: Keywords
    writes_left: float = inf
    died: bool = False

    def run(self, lives: float, operation: Callable[[], T]) -> T | None:
        """What the operation returns, or None when the process died in it."""
        self.writes_left, self.died = lives, False
        events = self.keywords.client.meta.events
        events.register("before-call.dynamodb", self._call, "process")
        try:
            return operation()
        except KeyboardInterrupt:
            return None
        finally:
            self.keywords.executor.submit(int).result()  # what was begun in parallel dies too
            events.unregister("before-call.dynamodb", self._call, "process")

    def _call(self, model: Any, **_: Any) -> None:
        if model.name == "TransactWriteItems":
            self.writes_left -= 1
            self.died = self.died or self.writes_left < 0
        if self.died:
            raise KeyboardInterrupt


class PruningMachine(RuleBasedStateMachine):
    """The store, driven by rules; `model` tells what it must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        client = boto3.client("dynamodb", region_name="us-east-1")
        ministack.create_tables(client, {TABLE: KEYWORDS})
        # moto is not made for threads.
        self.keywords = Keywords(client, TABLE, self.stack.enter_context(ThreadPoolExecutor(1)))
        self.process = Process(self.keywords)
        self.model: Model = {}
        self.runs: list[str] = []

    def teardown(self) -> None:
        try:
            self.finish()
        finally:
            self.stack.close()

    @rule(
        names=st.lists(texts, min_size=1, max_size=3, unique=True), kb_id=kb_ids, with_answer=st.booleans(), lives=lives
    )
    def learn(self, names: list[str], kb_id: str, with_answer: bool, lives: float) -> None:
        answer = web_answer(new_id(), kb_id=kb_id) if with_answer else None
        self.process.run(lives, lambda: self.keywords.index(*names, query_id=new_id(), kb_id=kb_id, answer=answer))
        self.settle({name: self.model.get(name, Known()).learned(kb_id) for name in names})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), times=st.integers(1, 3), lives=lives)
    def use(self, data: st.DataObject, times: int, lives: float) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        known = self.model[name]
        use = KeywordUse(kb_id=min(known.kb_ids, default=KB_IDS[0]), query_id="", session_id=None, answer=None)
        ids = [schema.keyword_id(fold(name))]
        for _ in range(times):
            count = partial(self.keywords.store.count_uses, ids, replace(use, query_id=new_id()), deadline=soon())
            self.process.run(lives, count)
            known = self.model[name]
            self.settle({name: replace(known, uses=known.uses + 1, days=0) if known.active else known})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), days=st.sampled_from([10, 100, 400]))
    def age(self, data: st.DataObject, days: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        self.keywords.client.update_item(
            TableName=TABLE,
            Key=to_item(schema.keyword_key(schema.keyword_id(fold(name)))),
            UpdateExpression="SET last_used_at = :then",
            ExpressionAttributeValues=to_item({":then": datetime.now(UTC) - timedelta(days=days)}),
        )
        self.model[name] = replace(self.model[name], days=days)

    @rule(lives=lives, grace_days=st.sampled_from([0, 7]))
    def prune(self, lives: float, grace_days: int) -> None:
        report = self.process.run(lives, lambda: run(self.keywords, RULES, grace_days))
        goes = {name: known for name, known in self.model.items() if known.is_candidate()}
        self.settle({name: known.pruned(self.run_of(report)) for name, known in goes.items()})
        if report is not None:
            assert report.counts.pruned == len(goes)
            before = self.without_runs()
            assert run(self.keywords, RULES, grace_days).counts.pruned == 0
            assert self.without_runs() == before

    @precondition(lambda self: self.model)
    @rule(data=st.data(), lives=lives)
    def prune_one(self, data: st.DataObject, lives: float) -> None:
        self.prune_named(data.draw(st.sampled_from(sorted(self.model))), lives)

    def prune_named(self, name: str, lives: float) -> None:
        keyword = schema.keyword_id(fold(name))
        report = self.process.run(lives, lambda: pruner(self.keywords).prune_one(keyword, by="test", deadline=soon()))
        known = self.model[name]
        self.settle({name: known.pruned(self.run_of(report)) if known.active else known})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), lives=lives)
    def restore_one(self, data: st.DataObject, lives: float) -> None:
        self.restore_named(data.draw(st.sampled_from(sorted(self.model))), lives)

    def restore_named(self, name: str, lives: float) -> None:
        keyword = schema.keyword_id(fold(name))
        restored = self.process.run(lives, lambda: pruner(self.keywords).restore_one(keyword, deadline=soon()))
        assert restored in (None, self.model[name].run is not None)
        self.settle({name: self.model[name].restored()})

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), lives=lives)
    def restore_run(self, data: st.DataObject, lives: float) -> None:
        run_id = data.draw(st.sampled_from(self.runs))
        restored = self.process.run(lives, lambda: pruner(self.keywords).restore_run(run_id, deadline=soon()))
        theirs = {name: known.restored() for name, known in self.model.items() if known.run == run_id}
        assert restored in (None, len(theirs))
        self.settle(theirs)

    @rule()
    def finish(self) -> None:
        run(self.keywords, NOTHING)
        items = self.keywords.items()
        assert not [item for item in items if is_unfinished(item)]
        self.check(items)

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        self.check(self.keywords.items())
        for kb_id in KB_IDS:
            found = {name for name, known in self.model.items() if known.active and kb_id in known.kb_ids}
            assert set(self.keywords.find(EVERY_TEXT, kb_id)) == found

    def check(self, items: Items) -> None:
        """What holds of a keyword and its items at any time."""
        heads = {item["keyword_text"]: item for item in items if item["sk"] == "KEYWORD"}
        assert heads.keys() == self.model.keys()
        for name, head in heads.items():
            assert agrees(head, self.model[name])
            behind = [item for item in items if item["pk"] == head["pk"] and item["sk"] != "KEYWORD"]
            assert len(behind) == head["usage_count"]
            if is_unfinished(head):
                assert head["status"] == "pruned"
                continue
            assert {(i["pk"], i["sk"]) for i in items if is_entry(i, head)} == entries_due(head)
            if head["status"] == "pruned":
                assert {item["status"] for item in behind} == {"archived"}
            elif "pruned_run_id" not in head:
                assert {item["status"] for item in behind} == {"active"}
            in_use = {item.get("perplexity_result_id") for item in behind if item["status"] == "active"}
            for answer in items:
                if answer["sk"] == "ANSWER":
                    named = head["keyword_id"] in answer.get("keyword_ids", ())
                    restoring = head["status"] == "active" and "pruned_run_id" in head
                    assert named == (answer["result_id"] in in_use) or (named and restoring)

    def settle(self, after: Model) -> None:
        """Let the model follow; a keyword whose change was cut off has either come to it or stayed."""
        if not self.process.died:
            self.model |= after
            return
        heads = {item["keyword_text"]: item for item in self.keywords.items("KEYWORD")}
        for name in after.keys() & heads.keys():
            before = self.model.get(name, after[name])
            # Restored with more behind it than a transaction holds: in use, while its history is still coming back.
            options = (before, after[name], replace(after[name], run=before.run))
            [self.model[name], *_] = [known for known in options if agrees(heads[name], known)]
            run_id = heads[name].get("pruned_run_id")
            self.model[name] = replace(self.model[name], run=run_id)
            if run_id and run_id not in self.runs:  # of a run that died
                self.runs.append(run_id)

    def run_of(self, report: PruneReport | None) -> str:
        """The id of a run, which is kept to be restored."""
        if report is None:
            return UNKNOWN_RUN
        self.runs.append(report.run_id)
        return report.run_id

    def without_runs(self) -> list[str]:
        """All items but the records of runs, which every run adds one to."""
        return sorted(str(item) for item in self.keywords.items() if item["sk"] != "RUN")


class LongMachine(PruningMachine):
    """The same with a keyword that one transaction does not hold."""

    @initialize()
    def learn_the_long_one_everywhere(self) -> None:
        for kb_id in KB_IDS:
            self.learn([LONG], kb_id, True, inf)

    @rule(pruning=st.sampled_from([1, 2, inf]), restoring=st.sampled_from([1, 2, inf]))
    def prune_and_restore_the_long_one(self, pruning: float, restoring: float) -> None:
        self.prune_named(LONG, pruning)
        self.everything_is_as_the_model_says()
        self.restore_named(LONG, restoring)


def bounded(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("lives", [1, 2])
def test_a_restoring_that_was_cut_off_goes_on(lives: int) -> None:
    machine = LongMachine()
    try:
        machine.learn_the_long_one_everywhere()
        machine.prune_named(LONG, inf)
        machine.restore_named(LONG, lives)
        machine.everything_is_as_the_model_says()
        machine.restore_named(LONG, inf)
        machine.everything_is_as_the_model_says()
        assert machine.model[LONG].run is None
    finally:
        machine.teardown()


class LongerMachine(PruningMachine):
    """The same, for longer."""


TestPruning = PruningMachine.TestCase
TestPruning.settings = bounded(5, 10)
TestPruningLonger = pytest.mark.slow(LongerMachine.TestCase)
TestPruningLonger.settings = bounded(12, 12)
TestPruningLong = pytest.mark.slow(LongMachine.TestCase)
TestPruningLong.settings = bounded(3, 4)
