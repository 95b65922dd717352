"""Pruning and restoring keywords."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gleaner.clients.answer_index import AnswerIndex
from gleaner.errors import UnknownKeyword, UnknownRun
from gleaner.pruning.rules import PruneReport, PruneRules
from gleaner.pruning.run import Pruner
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.items import to_item
from gleaner.stores.keyword_items import KeywordUse
from gleaner.stores.keyword_pruning import is_unfinished
from gleaner_local.aws import ministack
from tests.doubles.still_clock import StillClock
from tests.keyword_fixtures import Keywords, web_answer

RULES = PruneRules(max_age_days=90, min_usage=3, hard_max_age_days=365)


def pruner(keywords: Keywords, grace_days: float = 7, answer_index: AnswerIndex | None = None) -> Pruner:
    connect = (lambda: answer_index) if answer_index else None
    return Pruner(keywords.table, keywords.executor, answer_grace=timedelta(days=grace_days), connect_index=connect)


def run(
    keywords: Keywords, rules: PruneRules = RULES, *, answer_index: AnswerIndex | None = None, **options: Any
) -> PruneReport:
    defaults: dict[str, Any] = {"by": "test", "dry_run": False, "deadline": Deadline.after(20)}
    return pruner(keywords, answer_index=answer_index).run(rules, **defaults | options)


def head(keywords: Keywords, text: str) -> dict[str, Any]:
    [item] = [item for item in keywords.heads() if item["keyword_text"] == text]
    return item


def change(keywords: Keywords, text: str, **values: Any) -> None:
    """Overwrite attributes of a keyword."""
    key = schema.keyword_key(keywords.id_of(text))
    names = {f"#{name}": name for name in values}
    keywords.client.update_item(
        TableName=keywords.table_name,
        Key=to_item(key),
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=to_item({f":{name}": value for name, value in values.items()}),
    )


def age(keywords: Keywords, text: str, days: float) -> None:
    change(keywords, text, last_used_at=datetime.now(UTC) - timedelta(days=days))


def use(keywords: Keywords, text: str, times: int) -> None:
    for number in range(times):
        keyword_use = KeywordUse(kb_id="default_kb", query_id=f"U{number}", session_id=None, answer=None)
        keyword_id = keywords.id_of(text)
        keywords.store.count_uses([keyword_id], keyword_use, deadline=Deadline.after(20))


def test_only_old_and_rarely_used_or_very_old_keywords_are_pruned(keywords: Keywords) -> None:
    keywords.index("old rare", "old popular", "fresh rare", "ancient popular", answer=web_answer())
    for text in ("old popular", "ancient popular"):
        use(keywords, text, 4)
    for text, days in (("old rare", 91), ("old popular", 91), ("ancient popular", 366)):
        age(keywords, text, days)
    report = run(keywords)
    assert report.counts.pruned == 2 and report.finished
    statuses = {item["keyword_text"]: item["status"] for item in keywords.heads()}
    assert statuses == {
        "old rare": "pruned",
        "old popular": "active",
        "fresh rare": "active",
        "ancient popular": "pruned",
    }


def test_a_pruned_keyword_is_not_found_and_its_associations_are_archived(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    age(keywords, "quantum computing", 100)
    report = run(keywords)
    assert keywords.find("quantum computing") == []
    assert keywords.words() == []
    [association] = keywords.associations()
    assert (association["status"], association["pruned_run_id"]) == ("archived", report.run_id)
    assert "queue" not in head(keywords, "quantum computing")
    record = pruner(keywords).get_run(report.run_id, deadline=Deadline.after(20))
    assert (record["pruned"], record["by"], record["max_age_days"], record["finished"]) == (1, "test", 90, True)


def test_a_second_run_changes_nothing(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    age(keywords, "quantum computing", 100)
    run(keywords)
    before = [item for item in sorted(map(str, keywords.items())) if "'RUN'" not in item]
    assert run(keywords).counts.pruned == 0
    assert [item for item in sorted(map(str, keywords.items())) if "'RUN'" not in item] == before


def test_a_dry_run_lists_candidates_and_writes_nothing(keywords: Keywords) -> None:
    keywords.index("quantum computing", "fresh one")
    age(keywords, "quantum computing", 100)
    before = sorted(map(str, keywords.items()))
    report = run(keywords, dry_run=True)
    assert (report.counts.candidates, report.counts.pruned) == (1, 0)
    [candidate] = report.counts.first_candidates
    assert candidate.keyword_text == "quantum computing" and "100 days" in candidate.reason
    assert sorted(map(str, keywords.items())) == before


def test_a_keyword_used_between_reading_and_writing_is_kept(keywords: Keywords) -> None:
    keywords.index("quantum computing")
    age(keywords, "quantum computing", 100)
    calls: list[int] = []

    def use_once(**_: Any) -> None:
        if not calls:
            calls.append(1)
            use(keywords, "quantum computing", 1)

    keywords.client.meta.events.register("before-call.dynamodb.TransactWriteItems", use_once)
    report = run(keywords)
    assert (report.counts.pruned, report.counts.kept) == (0, 1)
    assert keywords.find("quantum") == ["quantum computing"]


@pytest.mark.parametrize(
    "values",
    [
        {"last_used_at": "0001"},
        {"last_used_at": "2020-13-45T00:00:00"},
        {"last_used_at": "2020-01-01T00:00:00", "usage_count": "many"},
    ],
)
def test_a_malformed_keyword_is_skipped_and_counted(keywords: Keywords, values: dict[str, Any]) -> None:
    keywords.index("broken one", "old one")
    age(keywords, "old one", 100)
    change(keywords, "broken one", **values)
    report = run(keywords)
    assert (report.counts.broken, report.counts.pruned) == (1, 1)
    assert head(keywords, "broken one")["status"] == "active"


def test_a_timestamp_without_time_zone_is_utc(keywords: Keywords) -> None:
    keywords.index("naive one")
    old = datetime.now(UTC) - timedelta(days=90, minutes=5)
    change(keywords, "naive one", last_used_at=old.replace(tzinfo=None).isoformat())
    assert run(keywords).counts.pruned == 1


def test_a_run_stops_at_its_deadline_and_the_next_run_continues(keywords: Keywords, still_clock: StillClock) -> None:
    names = [f"topic w{number}" for number in range(20)]
    keywords.index(*names)
    for name in names:
        age(keywords, name, 100)
    events = keywords.client.meta.events
    events.register("before-call.dynamodb.TransactWriteItems", lambda **_: still_clock.move(0.01))
    report = run(keywords, deadline=Deadline.after(1.05))  # a second is reserved for the record of the run
    assert not report.finished and report.counts.pruned < 20
    assert report.counts.pruned + run(keywords).counts.pruned == 20


def test_a_restored_keyword_is_found_again_with_its_answers(keywords: Keywords) -> None:
    keywords.index("quantum computing", answer=web_answer())
    age(keywords, "quantum computing", 100)
    before = keywords.words(), keywords.associations()
    run(keywords)
    keyword_id = head(keywords, "quantum computing")["keyword_id"]
    assert pruner(keywords).restore_one(keyword_id, deadline=Deadline.after(20))
    assert not pruner(keywords).restore_one(keyword_id, deadline=Deadline.after(20))
    assert (keywords.words(), keywords.associations()) == before
    [match] = keywords.lookup.find("default_kb", "quantum", deadline=Deadline.after(20))
    assert match.result_ids == ("R1",)
    assert run(keywords).counts.pruned == 0


def test_restoring_a_run_restores_all_its_keywords(keywords: Keywords) -> None:
    names = [f"topic w{number}" for number in range(5)]
    keywords.index(*names, "pruned by hand")
    for name in names:
        age(keywords, name, 100)
    report = run(keywords)
    by_hand = pruner(keywords).prune_one(
        head(keywords, "pruned by hand")["keyword_id"], by="test", deadline=Deadline.after(20)
    )
    assert by_hand.counts.pruned == 1
    assert pruner(keywords).restore_run(report.run_id, deadline=Deadline.after(30)) == 5
    assert pruner(keywords).restore_run(report.run_id, deadline=Deadline.after(30)) == 0
    statuses = {item["keyword_text"]: item["status"] for item in keywords.heads()}
    assert statuses == dict.fromkeys(names, "active") | {"pruned by hand": "pruned"}


def test_unknown_runs_and_keywords_raise(keywords: Keywords) -> None:
    with pytest.raises(UnknownRun):
        pruner(keywords).restore_run("R", deadline=Deadline.after(20))
    with pytest.raises(UnknownKeyword):
        pruner(keywords).prune_one("0" * 32, by="t", deadline=Deadline.after(20))


def test_answers_without_active_keywords_are_deleted_after_the_grace_period(keywords: Keywords) -> None:
    keywords.index("alpha topic", "beta topic", answer=web_answer("R1"))
    keywords.index("alpha topic", query_id="Q2", answer=web_answer("R2"))
    age(keywords, "alpha topic", 100)
    run(keywords)
    lenient, strict = pruner(keywords, grace_days=1), pruner(keywords, grace_days=0)
    options: dict[str, Any] = {"by": "t", "dry_run": False, "deadline": Deadline.after(20)}
    assert lenient.run(RULES, **options).counts.answers_deleted == 0
    assert strict.run(RULES, **options).counts.answers_deleted == 1
    assert [item["result_id"] for item in keywords.items("ANSWER")] == ["R1"]
    assert strict.run(RULES, **options).counts.answers_deleted == 0


def test_an_answer_whose_keyword_was_restored_is_kept(keywords: Keywords) -> None:
    keywords.index("alpha topic", answer=web_answer("R1"))
    age(keywords, "alpha topic", 100)
    run(keywords)
    pruner(keywords).restore_one(head(keywords, "alpha topic")["keyword_id"], deadline=Deadline.after(20))
    report = pruner(keywords, grace_days=0).run(RULES, by="t", dry_run=False, deadline=Deadline.after(20))
    assert report.counts.answers_deleted == 0
    assert len(keywords.items("ANSWER")) == 1


def interrupt_after(keywords: Keywords, writes: int) -> Callable[[], None]:
    """Simulate a crash after some writes. The returned function ends the simulation."""
    writes_left = [writes]

    def crash(**_: Any) -> None:
        if writes_left[0] == 0:
            raise KeyboardInterrupt
        writes_left[0] -= 1

    events = keywords.client.meta.events
    events.register("before-call.dynamodb.TransactWriteItems", crash, "crash")
    return lambda: events.unregister("before-call.dynamodb.TransactWriteItems", crash, "crash")


@pytest.mark.slow
@pytest.mark.parametrize("writes", range(5))
def test_an_interrupted_pruning_of_a_large_keyword_is_completed(keywords: Keywords, writes: int) -> None:
    for number in range(130):
        keywords.index("popular topic", query_id=f"Q{number:03d}", answer=web_answer(f"R{number % 20}"))
    age(keywords, "popular topic", 400)
    keyword = head(keywords, "popular topic")
    stop_interrupting = interrupt_after(keywords, writes)
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            pruner(keywords)._prune_writer.prune(keyword, "RUN1", deadline=Deadline.after(20))
            raise KeyboardInterrupt
    stop_interrupting()
    results = keywords.find("popular")
    assert (results == ["popular topic"]) == (head(keywords, "popular topic")["status"] == "active")
    run(keywords)
    assert keywords.find("popular") == []
    assert {item["status"] for item in keywords.associations()} == {"archived"}
    assert "queue" not in head(keywords, "popular topic")
    assert pruner(keywords).restore_one(keyword["keyword_id"], deadline=Deadline.after(20))
    assert {item["status"] for item in keywords.associations()} == {"active"}
    assert keywords.find("popular") == ["popular topic"]


def test_an_answer_learned_during_an_unfinished_pruning_is_found_afterwards(keywords: Keywords) -> None:
    for number in range(130):
        keywords.index("popular topic", query_id=f"Q{number:03d}", answer=web_answer(f"R{number % 20}"))
    keyword = head(keywords, "popular topic")
    stop_interrupting = interrupt_after(keywords, 1)
    with pytest.raises(KeyboardInterrupt):
        pruner(keywords)._prune_writer.prune(keyword, "RUN1", deadline=Deadline.after(20))
    stop_interrupting()
    keywords.index("popular topic", query_id="R-new", answer=web_answer("R-new"))
    run(keywords)
    assert keywords.find("popular") == ["popular topic"]
    [match] = keywords.lookup.find("default_kb", "popular", deadline=Deadline.after(20))
    assert match.result_ids == ("R-new",)


def delete_an_answer_after_its_read(keywords: Keywords) -> list[str]:
    """Let another process delete a web answer right after the next batch read. The list will hold its partition key."""
    other_table = Table(ministack.admin_client(keywords.client.meta.endpoint_url), keywords.table_name)
    answer_keys: list[str] = []

    def delete(parsed: dict[str, Any], **_: Any) -> None:
        for item in parsed["Responses"][keywords.table_name]:
            if not answer_keys and item["pk"]["S"].startswith("W#"):
                answer_keys.append(item["pk"]["S"])
                other_table.delete_many([{"pk": answer_keys[0], "sk": "ANSWER"}], deadline=Deadline.after(20))

    keywords.client.meta.events.register("after-call.dynamodb.BatchGetItem", delete)
    return answer_keys


@pytest.mark.parametrize(
    "operation",
    ["learn", pytest.param("restore", marks=pytest.mark.slow), pytest.param("prune", marks=pytest.mark.slow)],
)
def test_an_answer_deleted_between_read_and_write_does_not_fail_the_write(keywords: Keywords, operation: str) -> None:
    for number in range(130):
        keywords.index("popular topic", query_id=f"Q{number:03d}", answer=web_answer(f"R{number % 20}"))
    keyword = head(keywords, "popular topic")["keyword_id"]
    if operation != "prune":
        stop_interrupting = interrupt_after(keywords, 1)
        with pytest.raises(KeyboardInterrupt):
            pruner(keywords).prune_one(keyword, by="t", deadline=Deadline.after(20))
        stop_interrupting()
    deleted_answers = delete_an_answer_after_its_read(keywords)
    if operation == "learn":
        keywords.index("popular topic", query_id="R-new", answer=web_answer("R-new"))
    elif operation == "restore":
        assert pruner(keywords).restore_one(keyword, deadline=Deadline.after(20))
    else:
        pruner(keywords).prune_one(keyword, by="t", deadline=Deadline.after(20))
    assert deleted_answers
    assert keywords.find("popular") == ([] if operation == "prune" else ["popular topic"])
    assert not is_unfinished(head(keywords, "popular topic"))


def test_a_run_reads_only_candidates(keywords: Keywords) -> None:
    names = [f"old w{number}" for number in range(24)]
    for start in range(0, 24, 8):
        keywords.index(*names[start : start + 8], query_id=f"Q{start}")
        keywords.index(*[f"fresh w{number}" for number in range(start, start + 8)], query_id=f"F{start}")
    for name in names[:16]:
        age(keywords, name, 100)
    for name in names[16:]:  # old but used often: a run reads them once
        use(keywords, name, 5)
        age(keywords, name, 100)
    report = run(keywords)
    assert (report.counts.pruned, report.counts.examined) == (16, 24)
    report = run(keywords)
    assert (report.counts.pruned, report.counts.examined) == (0, 0)


def test_concurrent_runs_prune_each_keyword_once(keywords: Keywords) -> None:
    names = [f"topic w{number}" for number in range(40)]
    for start in range(0, 40, 20):
        keywords.index(*names[start : start + 20], query_id=f"Q{start}", answer=web_answer())
    for name in names:
        age(keywords, name, 100)
    with ThreadPoolExecutor(8) as inner, ThreadPoolExecutor(3) as outer:

        def prune(_: int) -> PruneReport:
            table = Table(keywords.client, keywords.table_name)
            concurrent_pruner = Pruner(table, inner, answer_grace=timedelta(days=7))
            return concurrent_pruner.run(RULES, by="t", dry_run=False, deadline=Deadline.after(60))

        reports = list(outer.map(prune, range(3)))
    assert sum(report.counts.pruned for report in reports) == 40
    records = keywords.items("K#")
    assert len({item["keyword_id"] for item in records}) == len(records) == 40
    assert {item["status"] for item in keywords.associations()} == {"archived"}


@pytest.mark.parametrize("keyword", ["港口图书馆", "Öffnungszeiten", "पुस्तकालय"])
def test_entries_of_an_earlier_version_are_pruned(keywords: Keywords, keyword: str) -> None:
    keywords.index_by_the_former_rules(keyword)
    age(keywords, keyword, days=100)
    run(keywords)
    assert keywords.words() == []
