"""Reads what a look-up of keywords needs: lists and heads, all in one request each, and by queries what these lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import ASSOCIATIONS_PER_KEYWORD, read_newest
from gleaner.stores.keyword_layout import KeywordLayout
from gleaner.stores.keyword_postings import Posting, has_entries, list_keys, read_list
from gleaner.stores.keyword_stems import is_claim

ENTRIES_PER_TERM = 25  # look-up entries that are read of each; what is read is bounded, whatever the table's size

Item = dict[str, Any]
Term = tuple[str, str]  # a scope, and a stem of the query
Place = tuple[str, str]  # the scope and the id of a keyword


@dataclass(frozen=True, slots=True)
class FoundPostings:
    """The postings of stems that are equal to each term or begin with it."""

    by_term: Mapping[Term, Sequence[Posting]]
    cut: frozenset[Term]  # those that have more look-up entries than were read, or just as many
    answers: Sequence[Item]  # the items that were to be read besides, and exist


class LookupReader:
    """Reads posting lists, look-up entries, and keywords with their newest answers."""

    def __init__(self, table: Table, executor: Executor, layout: KeywordLayout) -> None:
        """`executor` sends the queries, if any."""
        self._table = table
        self._executor = executor
        self._layout = layout

    def read_postings(
        self,
        terms: Sequence[Term],
        find_former_terms: Callable[[], Sequence[Term]],
        answer_keys: Sequence[schema.Key],
        deadline: Deadline,
    ) -> FoundPostings:
        """What is found for each term, and the items under these keys.

        `find_former_terms` is asked for those by which only keywords of earlier versions are found, if any may be left.
        """
        keys = {term: list_keys(*term) for term in terms}
        distinct = {key["pk"]: key for of_term in keys.values() for key in of_term}
        besides = [*answer_keys, *self._layout.keys_to_read()]
        items = self._table.get_many([*distinct.values(), *besides], deadline=deadline)
        by_partition = {item["pk"]: item for item in items}
        self._layout.note(by_partition.get(schema.LAYOUT_KEY["pk"]))
        lists = {term: [by_partition.get(key["pk"], {}) for key in of_term] for term, of_term in keys.items()}
        # A list of stems that are shorter than what names it holds only equal ones.
        found = {
            term: list(dict.fromkeys(one for item in items for one in read_list(item) if one.stem.startswith(term[1])))
            for term, items in lists.items()
        }
        if self._layout.has_former_entries:
            unread = [*terms, *find_former_terms()]
        else:
            unread = [term for term, items in lists.items() if has_entries(items[-1])]
        entries = dict(zip(unread, self._query_entries(map(_range, unread), deadline), strict=True))
        return FoundPostings(
            by_term=found | {term: list(dict.fromkeys([*found.get(term, ()), *entries[term]])) for term in unread},
            cut=frozenset(term for term in unread if len(entries[term]) >= ENTRIES_PER_TERM),
            answers=[by_partition[key["pk"]] for key in answer_keys if key["pk"] in by_partition],
        )

    def read_pairs(self, pairs: Sequence[tuple[str, str, str]], deadline: Deadline) -> list[list[Posting]]:
        """The first look-up entries of each scope and pair of adjacent stems."""
        return self._query_entries(((schema.pair_partition(*pair), "") for pair in pairs), deadline)

    def read_keywords(self, places: Sequence[Place], deadline: Deadline) -> tuple[list[Item], list[list[Item]]]:
        """The keywords that exist, and for each place what leads to the newest answers."""
        keys = {keyword_id: schema.keyword_key(keyword_id) for _, keyword_id in places}
        found = self._table.get_many(list(keys.values()), deadline=deadline)
        heads = [item for item in found if not is_claim(item)]
        by_id = {head["keyword_id"]: head for head in heads}
        named = [read_newest(by_id.get(keyword_id, {"newest_answers": ()}), scope) for scope, keyword_id in places]
        unnamed = [place for place, answers in zip(places, named, strict=True) if answers is None]
        queried = iter(self._map_parallel(lambda place: self._query_associations(place, deadline), unnamed))
        return heads, [next(queried) if answers is None else answers for answers in named]

    def _query_entries(self, ranges: Iterable[tuple[str, str]], deadline: Deadline) -> list[list[Posting]]:
        """The first look-up entries of partitions whose sort keys begin so, ordered by sort key."""

        def query(one: tuple[str, str]) -> list[Posting]:
            partition, begins_with = one
            entries = self._table.query(
                partition=partition, begins_with=begins_with, limit=ENTRIES_PER_TERM, deadline=deadline
            )
            return [Posting.of_entry(entry) for entry in entries]

        return self._map_parallel(query, ranges)

    def _query_associations(self, place: Place, deadline: Deadline) -> list[Item]:
        scope, keyword_id = place
        return self._table.query(
            partition=schema.association_partition(keyword_id),
            begins_with=schema.association_prefix(scope),
            limit=ASSOCIATIONS_PER_KEYWORD,
            newest_first=True,
            deadline=deadline,
        )

    def _map_parallel(self, read: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        return list(self._executor.map(read, arguments))


def _range(term: Term) -> tuple[str, str]:
    """The partition to query, and the prefix of its sort keys."""
    scope, stem = term
    # Equal stems sort before longer ones because the separator sorts before letters and digits. A stem shorter
    # than the partition's prefix matches only itself: its extensions are in other partitions.
    exact = schema.KEY_SEPARATOR if len(stem) < schema.PREFIX_LENGTH else ""
    return schema.term_partition(scope, stem), stem + exact
