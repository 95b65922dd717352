"""Concurrent writers, request tokens and failed conditions, against a strict DynamoDB."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from gleaner.runtime.deadline import Deadline
from gleaner.stores.dynamodb import ConditionFailed
from tests.keyword_fixtures import Keywords, web_answer

WRITERS = 16
CALLS = 12
POOL = [f"topic {letter}" for letter in "abcdefgh"]


def test_concurrent_writers_neither_lose_nor_duplicate_uses(keywords: Keywords) -> None:
    expected: Counter[str] = Counter()
    plans = [
        (f"Q{writer}-{call}", [POOL[(writer + call + step) % len(POOL)] for step in range(3)])
        for writer in range(WRITERS)
        for call in range(CALLS)
    ]
    for _, chosen in plans:
        expected.update(chosen)
    with ThreadPoolExecutor(WRITERS) as pool:
        futures = [pool.submit(keywords.index, *chosen, query_id=query) for query, chosen in plans]
        for future in futures:
            future.result()
    stored = {item["keyword_text"]: item["usage_count"] for item in keywords.heads()}
    assert stored == expected
    assert len(keywords.associations()) == sum(expected.values())


def test_identical_concurrent_calls_count_once(keywords: Keywords) -> None:
    answer = web_answer()
    with ThreadPoolExecutor(WRITERS) as pool:
        calls = [pool.submit(keywords.index, *POOL, answer=answer) for _ in range(WRITERS)]
        for call in calls:
            call.result()
    assert [item["usage_count"] for item in keywords.heads()] == [1] * len(POOL)
    assert len(keywords.associations()) == len(POOL)


def test_a_failed_condition_names_its_action(keywords: Keywords) -> None:
    table = keywords.table
    item = {"pk": "X", "sk": "1"}
    assert table.put_new(item, deadline=Deadline.after(20))
    assert not table.put_new(item, deadline=Deadline.after(20))
    with pytest.raises(ConditionFailed) as failure:
        table.transact([table.new_item({"pk": "X", "sk": "2"}), table.new_item(item)], deadline=Deadline.after(20))
    assert failure.value.positions == (1,)
    assert [stored["sk"] for stored in keywords.items()] == ["1"]


def test_the_store_honours_a_request_token(keywords: Keywords) -> None:
    """The tests above rely on a store that distinguishes a retried transaction from a second one."""
    add = {
        "Update": {
            "TableName": keywords.table_name,
            "Key": {"pk": {"S": "N"}, "sk": {"S": "N"}},
            "UpdateExpression": "ADD n :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
    }
    for _ in range(2):
        keywords.client.transact_write_items(TransactItems=[add], ClientRequestToken="token-1")
    assert [item["n"] for item in keywords.items()] == [1]
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        add["Update"]["UpdateExpression"] = "ADD m :one"
        keywords.client.transact_write_items(TransactItems=[add], ClientRequestToken="token-1")
