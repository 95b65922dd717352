"""Posting lists: which keywords have stems that begin with the same letters, in one item.

So the lists of all words of a query are read in one request. A list holds so many postings that a keyword more costs no
more than a few write units. What the full list of three letters does not take goes into that of six, by which stems of
six letters and more are found, and into a look-up entry of its own, as every stem had before there were lists. A list
that did not take all says so: then, and only for those stems that read no longer list, the entries are queried, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gleaner import text
from gleaner.stores import schema
from gleaner.stores.dynamodb import ConditionFailed, Table

Action = dict[str, Any]
Head = Mapping[str, Any]  # the item of a keyword

# Stems of a keyword or a query that are indexed or looked up. A keyword of 50 Chinese characters has three times as
# many, and all of a keyword's words must fit into one transaction.
MAX_STEMS = 16
MAX_POSTINGS = 48  # of a list, 2 KB; more only by what one transaction adds at once
_ID_LENGTH = len(schema.keyword_id(""))
_FORMER_ID_LENGTH = len(schema.former_keyword_id(""))
_COUNT_LENGTH = 2
_MARK = "SET #has_entries = :yes"  # that a list did not take all


@dataclass(frozen=True, slots=True)
class Posting:
    """That a keyword, which has so many terms, has this stem."""

    stem: str
    term_count: int
    keyword_id: str

    def encode(self) -> str:
        """As a list holds it."""
        return f"{self.keyword_id}{self.term_count:0{_COUNT_LENGTH}d}{self.stem}"

    @classmethod
    def decode(cls, value: str) -> Posting:
        """The posting that `encode` returned as `value`."""
        id_length = _ID_LENGTH if schema.is_of_stems(value) else _FORMER_ID_LENGTH
        count_end = id_length + _COUNT_LENGTH
        return cls(value[count_end:], int(value[id_length:count_end]), value[:id_length])

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any]) -> Posting:
        """The posting that a look-up entry stands for. That of two adjacent terms has no stem."""
        stem, term_count, keyword_id = entry["sk"].rsplit(schema.KEY_SEPARATOR, 2)
        return cls(stem, int(term_count), keyword_id)


def list_keys(kb_id: str, stem: str) -> list[schema.Key]:
    """Keys of the lists that may hold a stem, the first one first."""
    letters = [schema.PREFIX_LENGTH]
    if len(stem) >= schema.LONG_PREFIX_LENGTH:
        letters.append(schema.LONG_PREFIX_LENGTH)
    return [schema.postings_key(kb_id, stem, letters=number) for number in letters]


def read_list(item: Mapping[str, Any]) -> list[Posting]:
    """The postings of a list, in order of stems, of those with fewer terms first."""
    postings = map(Posting.decode, item.get("postings", ()))
    return sorted(postings, key=lambda posting: (posting.stem, posting.term_count, posting.keyword_id))


def has_entries(item: Mapping[str, Any]) -> bool:
    """Whether a list did not take all, or whether a keyword has look-up entries besides its postings."""
    return "has_entries" in item


def find_unlisted(head: Head) -> list[str]:
    """The knowledge bases in which an earlier version made a keyword findable: by look-up entries only."""
    return sorted(set(head.get("kb_ids", ())).difference(head.get("listed_in", ())))


class PostingPlanner:
    """Plans the writes that make keywords findable, by what is known of full lists."""

    def __init__(self, table: Table, full: Mapping[str, bool]) -> None:
        """`full` has the partitions of full lists, and whether each says that it did not take all."""
        self._table = table
        self._full = full

    def additions(self, kb_id: str, texts: Mapping[str, str]) -> list[Action]:
        """The actions that make keywords, texts by id, findable in a knowledge base. Repeated, they change nothing."""
        lists: defaultdict[str, set[str]] = defaultdict(set)
        entries: list[Action] = []
        marks: dict[str, Action] = {}
        for keyword_id, keyword_text in texts.items():
            stems = _stems(keyword_text)
            left = set()
            for stem in stems:
                for key in list_keys(kb_id, stem):
                    if key["pk"] not in self._full:
                        lists[key["pk"]].add(Posting(stem, len(stems), keyword_id).encode())
                        break
                    left.add(stem)
                    if not self._full[key["pk"]]:
                        marks[key["pk"]] = self._mark(key)
            entries += [
                self._put_entry(key, keyword_id, keyword_text) for key in _entries(kb_id, keyword_id, stems, left)
            ]
        return [*(self._add(pk, values) for pk, values in lists.items()), *marks.values(), *entries]

    def overflows(self, kb_id: str, keyword_text: str) -> bool:
        """Whether `additions` would write look-up entries for a keyword."""
        return any(schema.postings_key(kb_id, stem)["pk"] in self._full for stem in _stems(keyword_text))

    def _add(self, partition: str, values: set[str]) -> Action:
        return self._table.update(
            {"pk": partition, "sk": schema.POSTINGS},
            expression="ADD #postings :new",
            condition="attribute_not_exists(#postings) OR size(#postings) < :max",
            values={":new": values, ":max": MAX_POSTINGS},
            return_existing=True,
        )

    def _mark(self, key: schema.Key) -> Action:
        # No condition: it is never taken back, so that no reader misses an entry.
        return self._table.update(key, expression=_MARK, condition="", values={":yes": True})

    def _put_entry(self, key: schema.Key, keyword_id: str, keyword_text: str) -> Action:
        # An entry depends on the keyword only, so rewriting it changes nothing. The condition fails only if another
        # keyword has an entry under this key, which would be an id collision.
        return self._table.update(
            key,
            expression="SET #keyword_id = :id, #keyword_text = if_not_exists(#keyword_text, :text)",
            condition="attribute_not_exists(#pk) OR #keyword_id = :id",
            values={":id": keyword_id, ":text": keyword_text},
        )


class FullLists:
    """Remembers which posting lists are full, for all threads."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._full: dict[str, bool] = {}

    def planner(self) -> PostingPlanner:
        """A planner by what is known now: what it says of a keyword must not change while that is written."""
        return PostingPlanner(self._table, dict(self._full))

    def note_full_lists(self, additions: Sequence[Action], error: ConditionFailed, *, first: int) -> bool:
        """Remember the lists that refused these actions, which began at the position `first` of a transaction.

        Returns whether there are any.
        """
        refused = {
            _partition(action): has_entries(error.existing_items[position])
            for position, action in enumerate(additions, first)
            if "postings" in error.existing_items.get(position, {})
        }
        self._full |= refused
        return bool(refused)

    def note_written(self, additions: Iterable[Action]) -> None:
        """Remember the lists that say after these actions that they did not take all."""
        for action in additions:
            if action.get("Update", {}).get("UpdateExpression") == _MARK:
                self._full[_partition(action)] = True


def removals(table: Table, head: Head, kb_ids: Iterable[str]) -> Iterator[Action]:
    """The actions after which a keyword is not found any more in these knowledge bases."""
    for kb_id in sorted(kb_ids):
        may_have_entries = has_entries(head) or not _is_listed(head, kb_id)
        yield from _list_removals(table, head, kb_id, in_all=may_have_entries)
        if may_have_entries:
            # Deleted unconditionally: an entry that is already gone is the goal.
            yield from (table.delete(key) for key in all_entry_keys(head, kb_id))


def all_entry_keys(head: Head, kb_id: str) -> list[schema.Key]:
    """Keys of all look-up entries that a keyword may have in a knowledge base."""
    keyword_id, keyword_text = head["keyword_id"], head["keyword_text"]
    stems = _stems(keyword_text)
    present = list(_entries(kb_id, keyword_id, stems, set(stems)))
    if _is_listed(head, kb_id):
        return present
    former_stems = text.former_stems(keyword_text)
    former = _entries(kb_id, keyword_id, former_stems, set(former_stems))
    return [*present, *(key for key in former if key not in present)]


def _is_listed(head: Head, kb_id: str) -> bool:
    return kb_id in head.get("listed_in", ())


def _list_removals(table: Table, head: Head, kb_id: str, *, in_all: bool) -> Iterator[Action]:
    stems = _stems(head["keyword_text"])
    lists: defaultdict[str, set[str]] = defaultdict(set)
    for stem in stems:
        first, *others = list_keys(kb_id, stem)
        for key in [first, *(others if in_all else ())]:
            lists[key["pk"]].add(Posting(stem, len(stems), head["keyword_id"]).encode())
    for partition, values in lists.items():
        key = {"pk": partition, "sk": schema.POSTINGS}
        # No condition: postings that are already gone are the goal.
        yield table.update(key, expression="DELETE #postings :gone", condition="", values={":gone": values})


def _stems(keyword_text: str) -> list[str]:
    return list(text.stems(keyword_text)[:MAX_STEMS])


def _entries(kb_id: str, keyword_id: str, stems: Sequence[str], left: set[str]) -> Iterator[schema.Key]:
    """Keys of the look-up entries of the stems that are `left`, and of the pairs of adjacent stems with one of them."""
    for stem in stems:
        if stem in left:
            sort_key = schema.entry_sort_key(stem, len(stems), keyword_id)
            yield {"pk": schema.term_partition(kb_id, stem), "sk": sort_key}
    for pair in pairwise(stems):
        if not left.isdisjoint(pair):
            yield {"pk": schema.pair_partition(kb_id, *pair), "sk": schema.entry_sort_key("", len(stems), keyword_id)}


def _partition(action: Action) -> str:
    [request] = action.values()
    partition: str = request["Key"]["pk"]["S"]
    return partition
