"""Finds keywords by the words of a query, and the web answers stored under them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from gleaner import text
from gleaner.runtime.deadline import Deadline
from gleaner.stores import schema
from gleaner.stores._former_entries import MAX_FORMER_STEMS, former_lookups, match_former
from gleaner.stores.dynamodb import Table
from gleaner.stores.keyword_items import MAX_STEMS

# These bound a look-up regardless of the table's size. The first round trip makes at most 43 queries (16 stems,
# 15 pairs, and 12 stems of entries that earlier versions wrote) of 25 entries; the second makes 13 reads (12 keywords
# with their newest 10 associations).
ENTRIES_PER_TERM = 25
MAX_KEYWORDS = 12
ASSOCIATIONS_PER_KEYWORD = 10

UNKNOWN_WEIGHT = 0.7  # weight of a stem whose rarity is unknown
_PREFIX_WEIGHT = 0.6  # weight of a stem that is only a prefix of the keyword's term; an equal stem weighs 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordMatch:
    """A keyword found for a query. `score`, 0 to 1, says how much of the keyword and of the query match."""

    keyword_id: str
    keyword_text: str
    score: float
    usage_count: int
    result_ids: tuple[str, ...]  # its latest stored web answers in this knowledge base, newest first


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupResult:
    """The keywords found for a query, best first, and the rarity weights of the query's stems, 0 to 1."""

    matches: tuple[KeywordMatch, ...]
    weights: dict[str, float]


@dataclass(slots=True)
class _Candidate:
    keyword_text: str
    term_count: int
    match_weights: dict[str, float] = field(default_factory=dict)  # by stem of the query
    former_shares: dict[str, float] = field(default_factory=dict)  # by stem of an entry of an earlier version

    def add(self, weights: Mapping[str, float]) -> None:
        """Note that the keyword matches these stems of the query."""
        for stem, weight in weights.items():
            self.match_weights[stem] = max(weight, self.match_weights.get(stem, 0.0))

    def matching_terms(self) -> float:
        """How many of the keyword's terms match."""
        return sum((self.former_shares or self.match_weights).values())


_Entries = tuple[tuple[str, ...], list[dict[str, Any]]]


class KeywordLookup:
    """Reads the look-up entries of the keywords table, in parallel on `executor`."""

    def __init__(self, table: Table, executor: Executor) -> None:
        self._table = table
        self._executor = executor

    def find(self, kb_id: str, query: str, *, deadline: Deadline) -> list[KeywordMatch]:
        """The matches of `look_up`."""
        return list(self.look_up(kb_id, query, deadline=deadline).matches)

    def look_up(self, kb_id: str, query: str, *, deadline: Deadline) -> LookupResult:
        """Find active keywords that share terms, or prefixes of terms, with `query`.

        Takes two round trips of bounded size. Raises StoreUnavailable or DeadlineExceeded.
        """
        stems = text.stems(query)[:MAX_STEMS]
        former = dict(list(former_lookups(query, stems).items())[:MAX_FORMER_STEMS])
        lookups = [*((stem,) for stem in stems), *pairwise(stems)]
        entries = self._read_entries(kb_id, [*lookups, *((stem,) for stem in former)], deadline)
        present, earlier = entries[: len(lookups)], entries[len(lookups) :]
        weights = {key_stems[0]: _rarity(len(items)) for key_stems, items in present if len(key_stems) == 1}
        ranked = _rank(weights, [*_candidates(present), *_former_candidates(earlier, former, weights)])[:MAX_KEYWORDS]
        matches = self._with_answers(kb_id, ranked, deadline) if ranked else []
        return LookupResult(matches=tuple(matches), weights=weights)

    def _read_entries(self, kb_id: str, lookups: Sequence[tuple[str, ...]], deadline: Deadline) -> list[_Entries]:
        """Entries with the stems they were looked up by: one stem, or two adjacent ones."""

        def read(key_stems: tuple[str, ...]) -> list[dict[str, Any]]:
            partition, begins_with = _entry_range(kb_id, key_stems)
            return self._table.query(
                partition=partition, begins_with=begins_with, limit=ENTRIES_PER_TERM, deadline=deadline
            )

        return list(zip(lookups, self._map_parallel(read, lookups), strict=True))

    def _with_answers(
        self, kb_id: str, ranked: Sequence[tuple[str, _Candidate, float]], deadline: Deadline
    ) -> list[KeywordMatch]:
        def read_associations(keyword_id: str) -> list[dict[str, Any]]:
            return self._table.query(
                partition=schema.keyword_key(keyword_id)["pk"],
                begins_with=schema.association_prefix(kb_id),
                limit=ASSOCIATIONS_PER_KEYWORD,
                newest_first=True,
                deadline=deadline,
            )

        ids = [keyword_id for keyword_id, _, _ in ranked]
        keys = [schema.keyword_key(keyword_id) for keyword_id in ids]
        keywords = self._executor.submit(lambda: self._table.get_many(keys, deadline=deadline))
        associations = dict(zip(ids, self._map_parallel(read_associations, ids), strict=True))
        active = {item["keyword_id"]: item for item in keywords.result() if item["status"] == "active"}
        matches = [
            KeywordMatch(
                keyword_id=keyword_id,
                keyword_text=active[keyword_id]["keyword_text"],
                score=score,
                usage_count=active[keyword_id]["usage_count"],
                result_ids=_result_ids(associations[keyword_id]),
            )
            for keyword_id, _, score in ranked
            if keyword_id in active
        ]
        return sorted(matches, key=lambda match: (-match.score, -match.usage_count, match.keyword_id))

    def _map_parallel(self, read: Callable[[Any], Any], arguments: Iterable[Any]) -> list[Any]:
        return list(self._executor.map(read, arguments))


def _entry_range(kb_id: str, key_stems: tuple[str, ...]) -> tuple[str, str]:
    """The partition to query, and the prefix of its sort keys."""
    if len(key_stems) > 1:
        return schema.pair_partition(kb_id, *key_stems), ""
    stem = key_stems[0]
    # Equal stems sort before longer ones because the separator sorts before letters and digits. A stem shorter
    # than the partition's prefix matches only itself: its extensions are in other partitions.
    exact = schema.KEY_SEPARATOR if len(stem) < schema.PREFIX_LENGTH else ""
    return schema.term_partition(kb_id, stem), stem + exact


def _candidates(entries: Sequence[_Entries]) -> Iterator[tuple[str, _Candidate]]:
    candidates: dict[str, _Candidate] = {}
    for key_stems, items in entries:
        for item in items:
            entry_stem, term_count, keyword_id = item["sk"].rsplit(schema.KEY_SEPARATOR, 2)
            candidate = candidates.setdefault(keyword_id, _Candidate(item["keyword_text"], int(term_count)))
            is_whole = len(key_stems) > 1 or entry_stem == key_stems[0]
            candidate.add(dict.fromkeys(key_stems, 1.0 if is_whole else _PREFIX_WEIGHT))
    yield from candidates.items()


def _former_candidates(
    entries: Sequence[_Entries], former: Mapping[str, Mapping[str, float]], stems: Collection[str]
) -> Iterator[tuple[str, _Candidate]]:
    candidates: dict[str, _Candidate] = {}
    for (looked_up,), items in entries:
        for item in items:
            entry_stem, term_count, keyword_id = item["sk"].rsplit(schema.KEY_SEPARATOR, 2)
            candidate = candidates.setdefault(keyword_id, _Candidate(item["keyword_text"], int(term_count)))
            match = match_former(entry_stem, looked_up, former[looked_up], stems)
            candidate.add(match.weights)
            candidate.former_shares[entry_stem] = match.share
    yield from candidates.items()


def _rank(
    weights: Mapping[str, float], candidates: Iterable[tuple[str, _Candidate]]
) -> list[tuple[str, _Candidate, float]]:
    """Keyword id, candidate and score, best first; of several candidates of a keyword, the best."""
    scored = sorted(
        ((keyword_id, candidate, _score(candidate, weights)) for keyword_id, candidate in candidates),
        key=lambda item: (-item[2], item[0]),
    )
    best: dict[str, tuple[str, _Candidate, float]] = {}
    for item in scored:
        best.setdefault(item[0], item)
    return list(best.values())


def _rarity(entries: int) -> float:
    """Weight of a stem by the number of its entries: 1 for a term of one keyword, 0.44 at the read limit.

    A stem without entries is either rare or not a keyword's word at all, such as a common verb.
    """
    return 1.0 / (1.0 + 0.4 * math.log(entries)) if entries else UNKNOWN_WEIGHT


def _score(candidate: _Candidate, weights: Mapping[str, float]) -> float:
    """Geometric mean of the shares of the keyword and of the query (weighted by rarity) that match."""
    keyword_share = min(1.0, candidate.matching_terms() / candidate.term_count)
    query_weight = sum(weight * weights[stem] for stem, weight in candidate.match_weights.items())
    return math.sqrt(keyword_share * query_weight / sum(weights.values())) if weights else 0.0


def _result_ids(associations: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            item["perplexity_result_id"]
            for item in associations
            if item["status"] == "active" and "perplexity_result_id" in item
        )
    )
