"""Random sequences of learning, using, pruning, restoring and crashing, compared with a model in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from math import inf
from typing import Any, TypeVar

import boto3
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from moto import mock_aws

from gleaner import text
from gleaner.model import new_id
from gleaner.pruning.rules import PruneReport, PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import keyword_items as newest_answers
from gleaner.stores import schema
from gleaner.stores.items import from_timestamp, to_item
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_postings import MAX_STEMS, Posting, all_entry_keys
from gleaner.stores.keyword_pruning import is_unfinished
from gleaner.stores.schema import KEYWORDS
from gleaner_local.aws import ministack
from tests.keyword_fixtures import Keywords, associations_of, claim_stems, heads_of, web_answer, words_of

T = TypeVar("T")
Items = list[dict[str, Any]]

# In seven knowledge bases it is in 112 posting lists, too many to prune or restore it in one transaction.
LONG = " ".join(chr(0x431 + number) for number in range(25))  # terms of one letter
SHORT = ("alpha topic", "beta topic", "gamma")
EVERY_TEXT = f"alpha topic beta gamma {LONG[:1]}"
KB_IDS = ("default_kb", "other_kb")
KB_IDS_OF_LONG = (*KB_IDS, "kb3", "kb4", "kb5", "kb6", "kb7")
TABLE = "keywords"
RULES = PruneRules(max_age_days=90, min_usage=3, hard_max_age_days=365)
NO_RULES = PruneRules(max_age_days=36_500, min_usage=0, hard_max_age_days=36_500)
UNKNOWN_RUN = "?"  # the id of a run that crashed before it returned one

texts = st.sampled_from(SHORT)
kb_ids = st.sampled_from(KB_IDS)
max_writes = st.just(inf) | st.integers(0, 4)  # writes before a process crashes


@dataclass(frozen=True, slots=True)
class ModelKeyword:
    """The expected state of a keyword."""

    active: bool = True
    uses: int = 0
    kb_ids: frozenset[str] = frozenset()  # knowledge bases in which it is found
    history: frozenset[str] = frozenset()  # knowledge bases in which it was ever learned
    days: int = 0  # since its last use
    run: str | None = None  # the run that pruned it, until it is restored

    def pruned(self, run: str) -> ModelKeyword:
        return replace(self, active=False, kb_ids=frozenset(), run=run)

    def restored(self) -> ModelKeyword:
        return replace(self, active=True, kb_ids=self.history, days=0, run=None) if self.run else self

    def learned(self, kb_id: str) -> ModelKeyword:
        kb_ids, history = self.kb_ids | {kb_id}, self.history | {kb_id}
        return replace(self, active=True, uses=self.uses + 1, kb_ids=kb_ids, history=history, days=0)

    def is_candidate(self) -> bool:
        return self.active and (self.days > 365 or (self.days > 90 and self.uses < 3))


Model = dict[str, ModelKeyword]


def matches(head: dict[str, Any], expected: ModelKeyword) -> bool:
    """Whether a stored keyword is in the expected state."""
    age = datetime.now(UTC) - from_timestamp(head["last_used_at"])
    return bool(
        (head["status"] == "active") == expected.active
        and head["usage_count"] == expected.uses
        and head.get("kb_ids", set()) == expected.kb_ids
        and age.days == expected.days
        and (expected.run == UNKNOWN_RUN or head.get("pruned_run_id") == expected.run)
    )


def check_words(head: dict[str, Any], words: Collection[tuple[str, Posting]]) -> None:
    """Check that a keyword is in the lists that it must be in, and in no others; or that it still has its entries."""
    stems, kb_ids = text.stems(head["keyword_text"])[:MAX_STEMS], head.get("kb_ids", ())
    own = {(partition, posting) for partition, posting in words if posting.keyword_id == head["keyword_id"]}
    postings = [Posting(stem, len(stems), head["keyword_id"]) for stem in stems]
    in_lists = set(head.get("listed_in", ()))
    assert in_lists <= set(kb_ids)
    listed = {(schema.postings_key(kb_id, one.stem)["pk"], one) for kb_id in kb_ids for one in postings}
    former = {kb_id: all_entry_keys(head, kb_id) for kb_id in set(kb_ids) - in_lists}
    entries = {(key["pk"], Posting.of_entry(key)) for of_kb in former.values() for key in of_kb}
    assert own <= listed | entries
    for kb_id, one in product(kb_ids, postings):
        places = {schema.postings_key(kb_id, one.stem)["pk"]}
        if kb_id in former:
            places.add(schema.term_partition(kb_id, one.stem))
        assert own.intersection((place, one) for place in places)


def check_newest(head: dict[str, Any], associations: Items) -> None:
    """Check that a head that names answers names the newest, and none that an association does not lead to."""
    if "newest_answers" in head:
        names = {newest_answers.name_of(item) for item in associations if item["status"] == "active"} - {None}
        assert (newest_answers._keep_newest(map(str, names)) or set()) <= head["newest_answers"] <= names


def pruner(keywords: Keywords, grace_days: float = 7) -> Pruner:
    return Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=grace_days))


def run(keywords: Keywords, rules: PruneRules, grace_days: float = 7) -> PruneReport:
    return pruner(keywords, grace_days).run(rules, by="test", dry_run=False, deadline=soon())


def soon() -> Deadline:
    return Deadline.after(20)


@dataclass(slots=True)
class Process:
    """Simulates a process that crashes before a write; none of its later requests reach DynamoDB."""

    keywords: Keywords
    writes_left: float = inf
    crashed: bool = False

    def run(self, max_writes: float, operation: Callable[[], T]) -> T | None:
        """The result of the operation, or None if the process crashed during it."""
        self.writes_left, self.crashed = max_writes, False
        events = self.keywords.client.meta.events
        events.register("before-call.dynamodb", self._call, "process")
        try:
            return operation()
        except KeyboardInterrupt:
            return None
        finally:
            self.keywords.executor.submit(int).result()  # wait for parallel operations to crash, too
            events.unregister("before-call.dynamodb", self._call, "process")

    def _call(self, model: Any, **_: Any) -> None:
        if model.name == "TransactWriteItems":
            self.writes_left -= 1
            self.crashed = self.crashed or self.writes_left < 0
        if self.crashed:
            raise KeyboardInterrupt


class PruningMachine(RuleBasedStateMachine):
    """Drives the store by rules; `model` holds its expected content."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.stack.enter_context(mock_aws())
        client = boto3.client("dynamodb", region_name="us-east-1")
        ministack.create_tables(client, {TABLE: KEYWORDS})
        # moto is not thread-safe.
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
        names=st.lists(texts, min_size=1, max_size=3, unique=True),
        kb_id=kb_ids,
        with_answer=st.booleans(),
        max_writes=max_writes,
    )
    def learn(self, names: list[str], kb_id: str, with_answer: bool, max_writes: float) -> None:
        answer = web_answer(new_id(), kb_id=kb_id) if with_answer else None
        self.process.run(max_writes, lambda: self.keywords.index(*names, query_id=new_id(), kb_id=kb_id, answer=answer))
        self.update_model({name: self.model.get(name, ModelKeyword()).learned(kb_id) for name in names})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), times=st.integers(1, 3), max_writes=max_writes)
    def use(self, data: st.DataObject, times: int, max_writes: float) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        keyword = self.model[name]
        use = KeywordUse(kb_id=min(keyword.kb_ids, default=KB_IDS[0]), query_id="", session_id=None, answer=None)
        ids = [self.keywords.id_of(name)]
        for _ in range(times):
            count = partial(self.keywords.store.count_uses, ids, replace(use, query_id=new_id()), deadline=soon())
            self.process.run(max_writes, count)
            keyword = self.model[name]
            self.update_model({name: replace(keyword, uses=keyword.uses + 1, days=0) if keyword.active else keyword})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), days=st.sampled_from([10, 100, 400]))
    def age(self, data: st.DataObject, days: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        self.keywords.client.update_item(
            TableName=TABLE,
            Key=to_item(schema.keyword_key(self.keywords.id_of(name))),
            UpdateExpression="SET last_used_at = :then",
            ExpressionAttributeValues=to_item({":then": datetime.now(UTC) - timedelta(days=days)}),
        )
        self.model[name] = replace(self.model[name], days=days)

    @rule(max_writes=max_writes, grace_days=st.sampled_from([0, 7]))
    def prune(self, max_writes: float, grace_days: int) -> None:
        report = self.process.run(max_writes, lambda: run(self.keywords, RULES, grace_days))
        candidates = {name: keyword for name, keyword in self.model.items() if keyword.is_candidate()}
        self.update_model({name: keyword.pruned(self.add_run(report)) for name, keyword in candidates.items()})
        if report is not None:
            assert report.counts.pruned == len(candidates)
            before = self.without_runs()
            assert run(self.keywords, RULES, grace_days).counts.pruned == 0
            assert self.without_runs() == before

    @precondition(lambda self: self.model)
    @rule(data=st.data(), max_writes=max_writes)
    def prune_one(self, data: st.DataObject, max_writes: float) -> None:
        self.prune_by_name(data.draw(st.sampled_from(sorted(self.model))), max_writes)

    def prune_by_name(self, name: str, max_writes: float) -> None:
        prune = partial(pruner(self.keywords).prune_one, self.keywords.id_of(name), by="test", deadline=soon())
        report = self.process.run(max_writes, prune)
        keyword = self.model[name]
        self.update_model({name: keyword.pruned(self.add_run(report)) if keyword.active else keyword})

    @precondition(lambda self: self.model)
    @rule(data=st.data(), max_writes=max_writes)
    def restore_one(self, data: st.DataObject, max_writes: float) -> None:
        self.restore_by_name(data.draw(st.sampled_from(sorted(self.model))), max_writes)

    def restore_by_name(self, name: str, max_writes: float) -> None:
        keyword_id = self.keywords.id_of(name)
        restored = self.process.run(max_writes, lambda: pruner(self.keywords).restore_one(keyword_id, deadline=soon()))
        assert restored in (None, self.model[name].run is not None)
        self.update_model({name: self.model[name].restored()})

    @precondition(lambda self: self.runs)
    @rule(data=st.data(), max_writes=max_writes)
    def restore_run(self, data: st.DataObject, max_writes: float) -> None:
        run_id = data.draw(st.sampled_from(self.runs))
        count = self.process.run(max_writes, lambda: pruner(self.keywords).restore_run(run_id, deadline=soon()))
        keywords = {name: keyword.restored() for name, keyword in self.model.items() if keyword.run == run_id}
        assert count in (None, len(keywords))
        self.update_model(keywords)

    @rule()
    def finish(self) -> None:
        run(self.keywords, NO_RULES)
        items = self.keywords.items()
        assert not [item for item in items if is_unfinished(item)]
        self.check(items)

    @invariant()
    def store_matches_model(self) -> None:
        self.check(self.keywords.items())
        for kb_id in KB_IDS:
            names = {name for name, keyword in self.model.items() if keyword.active and kb_id in keyword.kb_ids}
            assert set(self.keywords.find(EVERY_TEXT, kb_id)) == names

    def check(self, items: Items) -> None:
        """Check what must hold of keywords and their items at any time."""
        heads = {item["keyword_text"]: item for item in heads_of(items)}
        words = words_of(items)
        linked = [*associations_of(items), *(item for item in items if item["sk"].startswith("U#"))]
        assert heads.keys() == self.model.keys()
        for name, head in heads.items():
            assert matches(head, self.model[name])
            associations = [item for item in linked if item["keyword_id"] == head["keyword_id"]]
            assert len(associations) == head["usage_count"]
            if is_unfinished(head):
                assert head["status"] == "pruned"
                continue
            check_words(head, words)
            check_newest(head, [item for item in associations if item["sk"].startswith("A#")])
            if head["status"] == "pruned":
                assert {item["status"] for item in associations} == {"archived"}
            elif "pruned_run_id" not in head:
                assert {item["status"] for item in associations} == {"active"}
            result_ids = {item.get("perplexity_result_id") for item in associations if item["status"] == "active"}
            for answer in items:
                if answer["sk"] == "ANSWER":
                    is_referenced = head["keyword_id"] in answer.get("keyword_ids", ())
                    is_restoring = head["status"] == "active" and "pruned_run_id" in head
                    is_active = answer["result_id"] in result_ids
                    assert is_referenced == is_active or (is_referenced and is_restoring)

    def update_model(self, after: Model) -> None:
        """Update the model. After a crash, each keyword is either in its new or in its former state."""
        if not self.process.crashed:
            self.model |= after
            return
        heads = {item["keyword_text"]: item for item in self.keywords.heads()}
        for name in after.keys() & heads.keys():
            before = self.model.get(name, after[name])
            # The third state: restoring took several transactions, and not all is restored yet.
            kb_ids = after[name].kb_ids.intersection(heads[name].get("kb_ids", ()))
            states = (before, after[name], replace(after[name], run=before.run, kb_ids=kb_ids))
            [self.model[name], *_] = [state for state in states if matches(heads[name], state)]
            run_id = heads[name].get("pruned_run_id")
            self.model[name] = replace(self.model[name], run=run_id)
            if run_id and run_id not in self.runs:  # a run that crashed
                self.runs.append(run_id)

    def add_run(self, report: PruneReport | None) -> str:
        """Remember the run's id, so that it can be restored, and return it."""
        if report is None:
            return UNKNOWN_RUN
        self.runs.append(report.run_id)
        return report.run_id

    def without_runs(self) -> list[str]:
        """All items but the records of runs, since every run adds one."""
        return sorted(str(item) for item in self.keywords.items() if item["sk"] != "RUN")


class LongMachine(PruningMachine):
    """The same with a keyword that is too large for one transaction."""

    @initialize()
    def learn_the_long_keyword_everywhere(self) -> None:
        for kb_id in KB_IDS_OF_LONG:
            self.learn([LONG], kb_id, True, inf)

    @rule(pruning=st.sampled_from([1, 2, inf]), restoring=st.sampled_from([1, 2, inf]))
    def prune_and_restore_the_long_keyword(self, pruning: float, restoring: float) -> None:
        self.prune_by_name(LONG, pruning)
        self.store_matches_model()
        self.restore_by_name(LONG, restoring)


class FormerMachine(PruningMachine):
    """The same with keywords of the versions before posting lists, which runs move."""

    @initialize()
    def learn_as_before(self) -> None:
        for name in SHORT:
            answer = web_answer(new_id())
            self.keywords.index_by_entries(name, query_id=new_id(), answer=answer)
            self.model[name] = ModelKeyword().learned("default_kb")


class MixedMachine(PruningMachine):
    """The same with keywords of the former form, some of them without claims, and others of the compact one."""

    @initialize()
    def learn_in_the_former_form(self) -> None:
        for name in SHORT[:2]:
            answer = web_answer(new_id())
            self.keywords.index_in_the_former_form(name, query_id=new_id(), answer=answer, with_claims=name != SHORT[0])
            self.model[name] = ModelKeyword().learned("default_kb")
        claim_stems(self.keywords)


def bounded(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.slow
@pytest.mark.parametrize("max_writes", [1, 2])
def test_an_interrupted_restoring_can_be_resumed(max_writes: int) -> None:
    machine = LongMachine()
    try:
        machine.learn_the_long_keyword_everywhere()
        machine.prune_by_name(LONG, inf)
        machine.restore_by_name(LONG, max_writes)
        machine.store_matches_model()
        machine.restore_by_name(LONG, inf)
        machine.store_matches_model()
        assert machine.model[LONG].run is None
    finally:
        machine.teardown()


TestPruning = pytest.mark.slow(PruningMachine.TestCase)
TestPruning.settings = bounded(12, 12)
TestPruningLong = pytest.mark.slow(LongMachine.TestCase)
TestPruningLong.settings = bounded(3, 4)
TestPruningFormer = pytest.mark.slow(FormerMachine.TestCase)
TestPruningFormer.settings = bounded(10, 10)
TestPruningMixed = pytest.mark.slow(MixedMachine.TestCase)
TestPruningMixed.settings = bounded(8, 10)
