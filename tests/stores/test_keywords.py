"""Merging keywords: identity, counting, retries and transaction limits."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gleaner import text
from gleaner.errors import StoreUnavailable
from gleaner.knowledge.learning import check_keywords
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keyword_items import KeywordUse
from tests.doubles.still_clock import StillClock
from tests.examples import examples
from tests.keyword_fixtures import Keywords, web_answer

Error = dict[str, Any]  # as a client reads it


def counts(keywords: Keywords) -> dict[str, int]:
    return {item["keyword_text"]: item["usage_count"] for item in keywords.heads()}


def test_a_new_keyword_is_written_with_its_association_entries_and_answer(keywords: Keywords) -> None:
    [indexed] = keywords.index("Quantum Computing", session_id="S1", answer=web_answer())
    assert not indexed.existed
    [keyword] = keywords.heads()
    assert keyword["keyword_id"] == indexed.keyword_id
    assert (keyword["usage_count"], keyword["status"]) == (1, "active")
    assert keyword["created_at"] == keyword["updated_at"] == keyword["last_used_at"]
    [association] = keywords.associations()
    assert association["keyword_id"] == indexed.keyword_id
    assert (association["query_id"], association["perplexity_result_id"]) == ("Q1", "R1")
    assert (association["session_id"], association["status"]) == ("S1", "active")
    [answer] = keywords.items("ANSWER")
    assert answer["keyword_ids"] == {indexed.keyword_id}
    assert answer["content"] == {
        "answer": "It is used for chemistry. [1]",
        "citations": [{"url": "https://q.example/a", "title": "Quantum", "snippet": "", "date": None}],
    }


def test_spellings_merge_and_the_first_is_displayed(keywords: Keywords) -> None:
    keywords.index("Straße")
    [merged] = keywords.index("STRASSE", query_id="Q2")
    assert merged.existed and merged.keyword_text == "Straße"
    assert counts(keywords) == {"Straße": 2}


def record_requests(keywords: Keywords) -> list[str]:
    """Record the names of DynamoDB operations from now on."""
    operations: list[str] = []
    keywords.client.meta.events.register(
        "before-parameter-build.dynamodb", lambda model, **_: operations.append(model.name), unique_id="requests"
    )
    return operations


def test_new_keywords_take_one_request_and_known_ones_two(keywords: Keywords) -> None:
    store, soon = keywords.store, Deadline.after(20)
    store.index(["first topic"], keywords.use(query_id="Q0"), deadline=soon)  # it knows the layout now
    operations = record_requests(keywords)
    store.index(["one topic", "another topic"], keywords.use(query_id="Q1", answer=web_answer()), deadline=soon)
    assert operations == ["TransactWriteItems"]
    operations.clear()
    use = keywords.use(query_id="Q2", answer=web_answer("R2"))
    indexed = store.index(["One Topic", "a third topic"], use, deadline=soon)
    assert operations == ["TransactWriteItems"] * 2
    assert {item.keyword_text: item.existed for item in indexed} == {"one topic": True, "a third topic": False}


def test_a_keyword_of_another_knowledge_base_becomes_findable_in_this_one(keywords: Keywords) -> None:
    keywords.index("Quantum Computing", kb_id="other_kb")
    assert keywords.find("quantum") == []
    [indexed] = keywords.index("quantum computing", query_id="Q2")
    assert indexed.existed and indexed.keyword_text == "Quantum Computing"
    assert keywords.find("quantum") == keywords.find("quantum", "other_kb") == ["Quantum Computing"]


def test_a_repeated_call_reports_the_same_merges_as_the_first(keywords: Keywords) -> None:
    keywords.index("known topic", query_id="Q0")
    first, again = ({i.keyword_text: i.existed for i in keywords.index("known topic", "new topic")} for _ in range(2))
    keywords.index("new topic", query_id="Q2")  # a use in between does not change what the first call reported
    later = {item.keyword_text: item.existed for item in keywords.index("known topic", "new topic")}
    assert first == again == later == {"known topic": True, "new topic": False}


def test_a_repeated_call_changes_nothing(keywords: Keywords) -> None:
    keywords.index("one topic", "another topic", answer=web_answer())
    before = sorted(map(str, keywords.items()))
    again = keywords.index("one topic", "another topic", answer=web_answer())
    assert {item.keyword_text for item in again} == {"one topic", "another topic"}
    assert sorted(map(str, keywords.items())) == before


def test_a_repeated_call_with_more_keywords_adds_only_the_new_ones(keywords: Keywords) -> None:
    keywords.index("one topic", answer=web_answer())
    keywords.index("one topic", "another topic", answer=web_answer())
    assert counts(keywords) == {"one topic": 1, "another topic": 1}
    [answer] = keywords.items("ANSWER")
    assert len(answer["keyword_ids"]) == 2


def test_a_call_writes_all_or_nothing(keywords: Keywords) -> None:
    keywords.index("kept", answer=web_answer(kb_id="other_kb"), kb_id="other_kb")
    before = sorted(map(str, keywords.items()))
    with pytest.raises(StoreUnavailable):  # the answer belongs to another knowledge base
        keywords.index("not kept", "neither", answer=web_answer())
    assert sorted(map(str, keywords.items())) == before


def test_a_pruned_keyword_keeps_its_history_when_it_is_learned_again(keywords: Keywords) -> None:
    [indexed] = keywords.index("Quantum Computing")
    [created] = [item["created_at"] for item in keywords.heads()]
    keywords.client.update_item(
        TableName=keywords.table_name,
        Key={"pk": {"S": f"KW#{indexed.keyword_id}"}, "sk": {"S": "KEYWORD"}},
        UpdateExpression="SET #s = :p REMOVE #q, kb_ids",
        ExpressionAttributeNames={"#s": "status", "#q": "queue"},
        ExpressionAttributeValues={":p": {"S": "pruned"}},
    )
    [again] = keywords.index("quantum computing", query_id="Q2")
    [keyword] = keywords.heads()
    assert again.existed
    assert (keyword["status"], keyword["usage_count"], keyword["created_at"]) == ("active", 2, created)
    assert keyword["queue"].startswith("ACTIVE#2#")


def test_the_maximum_of_keywords_and_terms_is_written_in_valid_transactions(keywords: Keywords) -> None:
    sizes: list[int] = []
    keywords.client.meta.events.register(
        "provide-client-params.dynamodb.TransactWriteItems",
        lambda params, **_: sizes.append(len(params["TransactItems"])),
    )
    long = [" ".join(f"{chr(97 + n)}{chr(97 + i)}" for i in range(16)) for n in range(20)]
    keywords.index(*long, answer=web_answer())
    assert len(sizes) > 1 and max(sizes) <= 100
    assert counts(keywords) == dict.fromkeys(long, 1)


def test_a_retry_completes_what_a_crash_between_two_transactions_left(keywords: Keywords) -> None:
    long = [" ".join(f"{chr(97 + n)}{chr(97 + i)}" for i in range(16)) for n in range(20)]
    request_count = 0

    def crash(**_: Any) -> None:
        nonlocal request_count
        request_count += 1
        if request_count == 2:
            raise KeyboardInterrupt

    keywords.client.meta.events.register("before-call.dynamodb.TransactWriteItems", crash)
    with pytest.raises(KeyboardInterrupt):
        keywords.index(*long, answer=web_answer())
    assert 0 < len(counts(keywords)) < 20
    keywords.index(*long, answer=web_answer())
    assert counts(keywords) == dict.fromkeys(long, 1)


def fail_transactions(
    keywords: Keywords, error: Error, times: int, then: Callable[[], None] = lambda: None
) -> list[int]:
    """Make DynamoDB answer the next transactions with an error. The list has one element for each attempt."""
    attempts: list[int] = []

    def answer(**_: Any) -> tuple[Any, dict[str, Any]] | None:
        attempts.append(1)
        then()
        return None if len(attempts) > times else (SimpleNamespace(status_code=400), error)

    keywords.client.meta.events.register_first("before-call.dynamodb.TransactWriteItems", answer)
    return attempts


def canceled(*codes: str) -> Error:
    return {
        "Error": {"Code": "TransactionCanceledException"},
        "CancellationReasons": [{"Code": code} for code in codes],
    }


CONFLICT = canceled("None", "TransactionConflict")
CONFLICT_AND_CONDITION = canceled("TransactionConflict", "ConditionalCheckFailed", "None")
THROTTLED: Error = {"Error": {"Code": "ThrottlingException"}}
REFUSED: Error = {"Error": {"Code": "AccessDeniedException"}}


def test_a_conflict_on_a_known_keyword_is_retried(keywords: Keywords) -> None:
    keywords.index("Quantum Computing", query_id="Q0")
    keywords.index("quantum computing")
    attempts = fail_transactions(keywords, CONFLICT_AND_CONDITION, times=1)
    [again] = keywords.index("quantum computing")
    assert len(attempts) == 3  # the conflict, the keyword that exists, the association that exists
    assert again.existed and again.keyword_text == "Quantum Computing"
    assert counts(keywords) == {"Quantum Computing": 2}


@pytest.mark.parametrize("error", [CONFLICT, THROTTLED])
def test_conflicts_and_throttling_are_retried(keywords: Keywords, error: Error) -> None:
    attempts = fail_transactions(keywords, error, times=3)
    keywords.index("Quantum Computing")
    assert len(attempts) == 4
    assert counts(keywords) == {"Quantum Computing": 1}


def test_a_permanent_error_is_not_retried(keywords: Keywords) -> None:
    attempts = fail_transactions(keywords, REFUSED, times=100)
    with pytest.raises(StoreUnavailable, match="AccessDenied"):
        keywords.index("Quantum Computing")
    assert len(attempts) == 1


def test_retries_of_conflicts_end_at_the_deadline(keywords: Keywords, still_clock: StillClock) -> None:
    attempts = fail_transactions(keywords, CONFLICT, times=10_000, then=lambda: still_clock.move(0.05))
    use = KeywordUse(kb_id="default_kb", query_id="Q1", session_id=None, answer=None)
    with pytest.raises(StoreUnavailable):
        keywords.store.index(["Quantum Computing"], use, deadline=Deadline.after(0.3))
    assert 1 < len(attempts) <= 7


@pytest.mark.parametrize(
    "keyword",
    [
        "SELECT",
        "\u0000NUL\u0007",
        "\ud800half",
        "\u202egnp.exe",
        "👩‍👩‍👧‍👦" * 7,
        "日本語",
        "name",
        "a#b",
        "#status",
        ":x y",
    ],
)
def test_unusual_keywords_are_either_stored_or_rejected_without_an_error(keywords: Keywords, keyword: str) -> None:
    valid, rejected = check_keywords([keyword])
    assert len(valid) + len(rejected) == 1
    if valid:
        keywords.index(*valid)
        assert list(counts(keywords)) == valid
        assert keywords.find(valid[0]) == valid


@hypothesis_settings(max_examples=examples(8, 25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),  # query
            st.lists(st.sampled_from(["Quantum", "quantum", "Straße", "STRASSE", "Go lang", "k8s"]), min_size=1),
        ),
        max_size=8,
    )
)
def test_usage_counts_equal_associations_after_any_repetitions(
    keywords: Keywords, history: list[tuple[int, list[str]]]
) -> None:
    for item in keywords.items():
        keywords.client.delete_item(
            TableName=keywords.table_name, Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}}
        )
    expected: dict[str, set[int]] = {}
    for query, proposed in history:
        valid, _ = check_keywords(proposed)
        keywords.index(*valid, query_id=f"Q{query}")
        for keyword in valid:
            expected.setdefault(text.fold(keyword), set()).add(query)
    stored = {text.fold(item["keyword_text"]): item["usage_count"] for item in keywords.heads()}
    assert stored == {fold: len(queries) for fold, queries in expected.items()}
    assert len(keywords.associations()) == sum(stored.values())
