"""The association that the head of a new keyword holds: what sees it, what makes an item of it, and interruptions."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from gleaner.model import Citation, new_id
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.answer_forgetting import AnswerForgetting
from gleaner.stores.items import to_item
from gleaner.stores.keyword_catalog import KeywordCatalog
from gleaner.stores.learned_deletion import LearnedCounts, LearnedDeletion
from tests.keyword_fixtures import Keywords, web_answer
from tests.pruning.test_run import pruner

WRITERS = 32
WRITES = ("TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem", "BatchWriteItem")


def soon() -> Deadline:
    return Deadline.after(30)


def teach(keywords: Keywords, *names: str, number: int = 1, caller: str = "ann", **use: Any) -> None:
    """Teach keywords and the answer R<number> in the query Q<number>."""
    page = Citation(url=f"https://site{number}.example/a", title="Page")
    answer = web_answer(f"R{number:02d}", kb_id=use.get("kb_id", "default_kb"), citations=(page,))
    values = {"session_id": f"S-{caller}", "caller": caller, "answer": answer} | use
    keywords.index(*names, query_id=f"Q{number:02d}", **values)


def forget(keywords: Keywords, number: int) -> None:
    AnswerForgetting(keywords.table).forget(f"R{number:02d}", by="key:admin", deadline=soon())


def erase(keywords: Keywords, caller: str) -> None:
    LearnedDeletion(keywords.table).delete(caller, LearnedCounts(), session_id=None, with_shared=True, deadline=soon())


def prune(keywords: Keywords, name: str = "ferry ticket") -> None:
    pruner(keywords).prune_one(keywords.id_of(name), by="test", deadline=soon())


def restore(keywords: Keywords, name: str = "ferry ticket") -> None:
    pruner(keywords).restore_one(keywords.id_of(name), deadline=soon())


def results(keywords: Keywords, query: str = "ferry ticket", kb_id: str = "default_kb") -> tuple[str, ...]:
    matches = keywords.lookup.find(kb_id, query, deadline=soon())
    return tuple(result_id for match in matches for result_id in match.result_ids)


def answers(keywords: Keywords) -> set[str]:
    """The answers that associations lead to."""
    return {item["perplexity_result_id"] for item in keywords.associations()}


def held(keywords: Keywords) -> int:
    """How many heads hold an association."""
    return sum("first_use" in head for head in keywords.heads())


def test_a_new_keyword_is_one_item_of_one_kilobyte(keywords: Keywords) -> None:
    caller = schema.caller_hash("cognito:" + "0" * 36)
    keywords.index(
        "kubernetes horizontal pod autoscaler limits",
        query_id=new_id(),
        session_id=new_id(),
        caller=caller,
        is_private=True,
        answer=web_answer(f"resp_{'0' * 36}"),
        groups=("finance-department",),
    )
    [item] = [item for item in keywords.items() if item["pk"].startswith(("KW#", "ST#"))]
    assert size_of(item) < 1024
    [association] = keywords.associations()
    assert (association["caller"], association["created_at"]) == (caller, item["created_at"])


def size_of(item: dict[str, Any]) -> int:
    """The size of an item as DynamoDB counts it, or a little more."""

    def size(value: Any) -> int:
        [(kind, content)] = value.items()
        if kind == "M":
            return 3 + sum(len(name) + 1 + size(inner) for name, inner in content.items())
        if kind == "L":
            return 3 + sum(1 + size(inner) for inner in content)
        return sum(map(len, content)) if kind == "SS" else len(str(content))

    return sum(len(name) + size(value) for name, value in to_item(item).items())


def test_people_see_it_as_the_oldest_association_and_only_what_they_may(keywords: Keywords) -> None:
    teach(keywords, "ferry ticket")
    teach(keywords, "ferry tickets", number=2, caller="bob")
    catalog = KeywordCatalog(keywords.table, keywords.executor)

    def see(viewer: str | None) -> list[tuple[str | None, str | None, str]]:
        details = catalog.get(keywords.id_of("ferry ticket"), viewer=viewer, deadline=soon())
        return [(item.query_id, item.session_id, item.status) for item in details.associations]

    everything = [("Q02", "S-bob", "active"), ("Q01", "S-ann", "active")]
    assert (see(None), see("ann"), see("bob")) == (everything, everything[1:], everything[:1])
    assert held(keywords) == 1
    before = see(None)
    prune(keywords)
    restore(keywords)
    assert (see(None), held(keywords)) == (before, 0)


@pytest.mark.parametrize(
    "change", [prune, lambda keywords: forget(keywords, 2), lambda keywords: erase(keywords, "bob")]
)
def test_it_is_an_item_before_the_head_names_no_answers(keywords: Keywords, change: Callable[[Keywords], None]) -> None:
    teach(keywords, "ferry ticket")
    teach(keywords, "ferry ticket", number=2, caller="bob")
    change(keywords)
    assert held(keywords) == 0
    restore(keywords)
    assert results(keywords) == (("R02", "R01") if change is prune else ("R01",))


def test_it_goes_with_its_answer_and_with_its_caller(keywords: Keywords) -> None:
    teach(keywords, "ferry ticket", "harbour library")
    teach(keywords, "ferry ticket", number=2, caller="bob")
    teach(keywords, "harbour library", number=2, caller="bob")
    forget(keywords, 1)
    assert (answers(keywords), results(keywords)) == ({"R02"}, ("R02",))
    teach(keywords, "lighthouse", number=3)
    teach(keywords, "lighthouse", number=4, caller="bob")
    erase(keywords, "ann")
    assert (answers(keywords), results(keywords, "lighthouse")) == ({"R02", "R04"}, ("R04",))


@pytest.mark.parametrize("number_here", [1, 5])
def test_it_is_found_where_a_head_cannot_name_all_answers(keywords: Keywords, number_here: int) -> None:
    for number in range(number_here):
        teach(keywords, "ferry ticket", number=number)
    for number in range(10, 30):
        teach(keywords, "ferry ticket", number=number, kb_id="other")
    assert results(keywords) == tuple(f"R{number:02d}" for number in reversed(range(number_here)))
    assert results(keywords, kb_id="other") == tuple(f"R{number}" for number in reversed(range(20, 30)))
    forget(keywords, 29)
    assert results(keywords, kb_id="other") == tuple(f"R{number}" for number in reversed(range(19, 29)))
    assert results(keywords)[-1] == "R00"
    assert (held(keywords), len(keywords.associations())) == (0, number_here + 19)


def test_a_repeated_call_finds_it_in_the_head_and_as_an_item(keywords: Keywords) -> None:
    def learn() -> list[tuple[str, bool]]:
        indexed = keywords.index("ferry ticket", "harbour library", answer=web_answer(), caller="ann")
        return sorted((item.keyword_text, item.existed) for item in indexed)

    first = learn()
    before = sorted(map(str, keywords.items()))
    assert (learn(), sorted(map(str, keywords.items()))) == (first, before)
    for name in ("ferry ticket", "harbour library"):
        prune(keywords, name)
        restore(keywords, name)
    assert (learn(), held(keywords)) == (first, 0)
    assert {head["usage_count"] for head in keywords.heads()} == {1}


def test_a_query_with_another_answer_is_another_use(keywords: Keywords) -> None:
    for _ in range(2):
        for result_id in ("R1", "R2", None):
            keywords.index("ferry ticket", answer=web_answer(result_id) if result_id else None)
    [head] = keywords.heads()
    assert head["usage_count"] == len(keywords.associations()) == 3


def replan(keywords: Keywords, meanwhile: Callable[[], None]) -> None:
    """Do something before the second transaction from now on, which writes a plan for a keyword that exists."""
    count = 0

    def interfere(**_: Any) -> None:
        nonlocal count
        count += 1
        if count == 2:
            meanwhile()

    keywords.client.meta.events.register("before-parameter-build.dynamodb.TransactWriteItems", interfere)


def test_a_call_that_is_repeated_after_its_keyword_was_deleted_counts_once(keywords: Keywords) -> None:
    def learn_anew() -> None:
        erase(keywords, "bob")
        teach(keywords, "ferry ticket", number=2)

    teach(keywords, "ferry ticket", caller="bob")
    replan(keywords, learn_anew)
    teach(keywords, "ferry ticket", number=2)
    [head] = keywords.heads()
    assert head["usage_count"] == len(keywords.associations()) == 1


def test_a_keyword_that_was_learned_anew_is_not_taken_for_one_with_many_answers(keywords: Keywords) -> None:
    def learn_anew() -> None:
        erase(keywords, "bob")
        teach(keywords, "ferry ticket", number=50, kb_id="other")

    for number in range(14):
        kb_id = "default_kb" if number < 5 else "other"
        teach(keywords, "ferry ticket", number=number, kb_id=kb_id, caller="bob")
    replan(keywords, learn_anew)
    teach(keywords, "ferry ticket", number=30, kb_id="other")
    assert (results(keywords), results(keywords, kb_id="other")) == ((), ("R50", "R30"))


def kill_before(keywords: Keywords, write: int, operation: Callable[[], None]) -> bool:
    """Run an operation, and die before its write of this number. Returns whether it had so many."""
    left = write

    def die(model: Any, **_: Any) -> None:
        nonlocal left
        if model.name in WRITES:
            left -= 1
            if left < 0:
                raise KeyboardInterrupt

    events = keywords.client.meta.events
    events.register("before-parameter-build.dynamodb", die, unique_id="die")
    try:
        with suppress(KeyboardInterrupt):
            operation()
            return False
    finally:
        events.unregister("before-parameter-build.dynamodb", unique_id="die")
    return True


@pytest.mark.parametrize("kind", ["forget", "erase", "prune"])
def test_an_interruption_at_any_write_loses_nothing(keywords: Keywords, kind: str) -> None:
    change: Callable[[], None] = {
        "forget": lambda: forget(keywords, 2),
        "erase": lambda: erase(keywords, "bob"),
        "prune": lambda: prune(keywords),
    }[kind]
    for write in range(20):
        teach(keywords, "ferry ticket", number=1)
        teach(keywords, "ferry ticket", number=2, caller="bob")
        was_killed = kill_before(keywords, write, change)
        status = {head["status"] for head in keywords.heads()}
        assert results(keywords)[-1:] == (("R01",) if status == {"active"} else ())
        assert "R01" in answers(keywords)
        change()
        restore(keywords)
        assert results(keywords) == (("R02", "R01") if kind == "prune" else ("R01",))
        clear(keywords)
        if not was_killed:
            assert write > 1
            return
    pytest.fail("no end")


def clear(keywords: Keywords) -> None:
    items = [item for item in keywords.items() if item["pk"] != schema.LAYOUT_KEY["pk"]]
    keywords.table.delete_many([{"pk": item["pk"], "sk": item["sk"]} for item in items], deadline=soon())


def test_concurrent_learning_of_many_answers_keeps_all(keywords: Keywords) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(lambda number: teach(keywords, "ferry ticket", number=number), range(40)))
    assert results(keywords) == tuple(f"R{number}" for number in reversed(range(30, 40)))
    [head] = keywords.heads()
    assert head["usage_count"] == len(keywords.associations()) == 40


def test_concurrent_learning_forgetting_and_pruning_agree(keywords: Keywords) -> None:
    names = [f"topic w{number}" for number in range(4)]
    teach(keywords, *names, number=0)

    def learn(number: int) -> None:
        teach(keywords, *names, number=number)

    def shake(name: str) -> None:
        prune(keywords, name)
        restore(keywords, name)

    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(learn, number) for number in range(1, 9)]
        futures += [pool.submit(shake, name) for name in names]
        futures += [pool.submit(forget, keywords, 0)]
        for future in futures:
            future.result()
    for name in names:
        restore(keywords, name)
        assert set(results(keywords, name.split()[-1])) == {f"R{number:02d}" for number in range(1, 9)}
    assert answers(keywords) == {f"R{number:02d}" for number in range(1, 9)}
    assert len(keywords.associations()) == 4 * 8
