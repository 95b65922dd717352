"""The list of callers that are limited to some knowledge bases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gleaner.errors import InvalidInput
from gleaner.runtime.deadline import Deadline
from gleaner.stores.access import MAX_KNOWLEDGE_BASES, AccessStore
from tests.conftest import open_access

MARY = "key:mary"


def soon() -> Deadline:
    return Deadline.after(20)


@pytest.fixture
def store(settings: dict[str, str]) -> AccessStore:
    return open_access(settings)


def kb_ids(store: AccessStore, subject: str = MARY) -> set[str] | None:
    """What a subject may use; None if it is not listed."""
    grants = store.find([subject], deadline=soon())
    return set(grants[0].kb_ids) if grants else None


def test_knowledge_bases_are_added_and_taken(store: AccessStore) -> None:
    assert store.allow(MARY, frozenset({"a"}), deadline=soon())
    assert not store.allow(MARY, frozenset({"a", "b"}), deadline=soon())
    assert kb_ids(store) == {"a", "b"}
    assert store.revoke(MARY, frozenset({"a", "c"}), deadline=soon())
    assert kb_ids(store) == {"b"}


def test_who_loses_the_last_one_stays_listed(store: AccessStore) -> None:
    store.allow(MARY, frozenset({"a"}), deadline=soon())
    store.revoke(MARY, frozenset({"a"}), deadline=soon())
    assert kb_ids(store) == set()
    assert not store.allow(MARY, frozenset({"b"}), deadline=soon())
    assert kb_ids(store) == {"b"}


def test_everything_may_be_taken_from_anybody(store: AccessStore) -> None:
    assert store.revoke_all(MARY, deadline=soon())
    assert kb_ids(store) == set()
    assert not store.revoke_all(MARY, deadline=soon())
    store.allow(MARY, frozenset({"a"}), deadline=soon())
    assert not store.revoke_all(MARY, deadline=soon())
    assert kb_ids(store) == set()


def test_taking_from_a_caller_that_is_not_listed_changes_nothing(store: AccessStore) -> None:
    assert not store.revoke(MARY, frozenset({"a"}), deadline=soon())
    assert not store.unlist(MARY, deadline=soon())
    assert kb_ids(store) is None


def test_a_caller_is_unlisted(store: AccessStore) -> None:
    store.allow(MARY, frozenset({"a"}), deadline=soon())
    assert store.unlist(MARY, deadline=soon())
    assert kb_ids(store) is None


def test_the_list_is_read_as_a_whole(store: AccessStore) -> None:
    for number in range(30):
        store.allow(f"key:{number:02d}", frozenset({"kb" * 20}), deadline=soon())
    assert [grant.subject for grant in store.list(deadline=soon())] == [f"key:{number:02d}" for number in range(30)]


def test_a_caller_has_no_more_than_fits_an_item(store: AccessStore) -> None:
    many = frozenset(f"kb{number}" for number in range(MAX_KNOWLEDGE_BASES))
    store.allow(MARY, many, deadline=soon())
    for more in (frozenset({"one"}), many | {"one"}):
        with pytest.raises(InvalidInput, match="key:mary"):
            store.allow(MARY, more, deadline=soon())
    assert kb_ids(store) == many


def test_operators_who_change_a_caller_at_once_lose_nothing(store: AccessStore) -> None:
    with ThreadPoolExecutor(8) as executor:
        for result in [
            executor.submit(store.allow, MARY, frozenset({f"kb{number}"}), deadline=soon()) for number in range(24)
        ]:
            result.result()
    assert kb_ids(store) == {f"kb{number}" for number in range(24)}
